"""Which attributes a read asks for: the caller's paths, compiled into an expression that names only aliases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from itemledger.errors import ManifestError

#: Developer guide, "Expression parameters" and "Nested attribute depth"; service model 2012-08-10, AttributeName.
MAX_EXPRESSION_BYTES = 4096
MAX_PATH_ELEMENTS = 32
MAX_NAME_BYTES = 65_535

Path = tuple[str | int, ...]
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Projection:
    """A ProjectionExpression with its ExpressionAttributeNames; ``added`` are the key attributes only we asked for.

    Every name is an alias, so that no reserved word matters. The same paths always give the same text.
    """

    expression: str
    names: Mapping[str, str]
    added: tuple[str, ...]

    def strip(self, item: Mapping[str, _V]) -> Mapping[str, _V]:
        """The item as the caller asked for it, without the added key attributes."""
        if not self.added:
            return item
        return {name: value for name, value in item.items() if name not in self.added}


def compile_projection(paths: Sequence[str | Path] | None, key_names: Iterable[str]) -> Projection | None:
    """The projection for these paths and the table's key; ``None`` reads whole items.

    A text is a path as in AWS's expressions (``"a.b[2].c"``); a tuple is one whose names are taken as they are
    (``("a.b", 2, "c")``). Raises ManifestError for what the service would refuse the whole call for.
    """
    if paths is None:
        return None
    if isinstance(paths, str):
        raise ManifestError(f"projection={paths!r} is one text; give a list of paths, such as [{paths!r}]")
    if not paths:
        raise ManifestError("projection is empty; leave it out to read whole items, or name at least one attribute")
    labelled: dict[Path, str] = {}
    for position, path in enumerate(paths):
        elements = _elements(path)
        label = f"{path!r} at position {position}"
        if elements in labelled:
            raise ManifestError(f"projection has {label} a second time, after {labelled[elements]}; leave one out")
        labelled[elements] = label
    added = tuple(name for name in key_names if (name,) not in labelled)
    labelled |= {(name,): f"the key attribute {name!r}, which every read asks for" for name in added}
    _refuse_clashes(labelled)
    return _compiled(labelled, added)


def _elements(path: object) -> Path:
    elements = _parsed(path) if isinstance(path, str) else path
    if not isinstance(elements, tuple) or not elements:
        raise ManifestError(
            f"projection path {path!r} is empty or no path; give a text or a tuple of names and indexes"
        )
    if not isinstance(elements[0], str):
        raise ManifestError(f"projection path {path!r} starts with an index; start with an attribute name")
    if len(elements) > MAX_PATH_ELEMENTS:
        raise ManifestError(
            f"projection path {path!r} has {len(elements)} elements; DynamoDB allows {MAX_PATH_ELEMENTS}"
        )
    for element in elements:
        if isinstance(element, str):
            _check_name(element, path)
        elif isinstance(element, bool) or not isinstance(element, int) or not 0 <= element < 10**9:
            raise ManifestError(f"projection path {path!r}: {element!r} is no name and no index of a list")
    return elements


def _parsed(path: str) -> Path:
    elements: list[str | int] = []
    for segment in path.split("."):
        match = _SEGMENT.fullmatch(segment)
        if match is None or match[1] != match[1].strip():
            raise ManifestError(
                f"projection path {path!r} is malformed at {segment!r}; write it like 'a.b[2].c', each path by "
                "itself, or give a tuple when a name itself has one of . , [ ] # : or a blank at its end"
            )
        elements.append(match[1])
        elements += map(int, _INDEX.findall(match[2]))
    return tuple(elements)


# A comma would be two paths in AWS's own text, "#" and ":" begin a placeholder there: nobody means them as names here.
_SEGMENT = re.compile(r"([^#:,\[\]][^,\[\]]*)((?:\[[0-9]{1,9}\])*)")
_INDEX = re.compile(r"[0-9]+")


def _check_name(name: str, path: object) -> None:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise ManifestError(f"projection path {path!r} is not valid Unicode text (lone surrogate)") from None
    if not 0 < size <= MAX_NAME_BYTES:
        raise ManifestError(f"projection: an attribute name has {size} bytes; DynamoDB allows 1 to {MAX_NAME_BYTES}")


def _refuse_clashes(labelled: Mapping[Path, str]) -> None:
    """Refuses a path inside another, and a place taken for a map by one path and for a list by another."""
    below: dict[Path, Path] = {}
    for path in labelled:
        for length in range(1, len(path)):
            other = below.setdefault(path[:length], path)
            if isinstance(other[length], str) is not isinstance(path[length], str):
                raise ManifestError(
                    f"projection paths {labelled[other]} and {labelled[path]} take one place for a map and for a list, "
                    "and DynamoDB refuses a call with both; leave one out"
                )
    for path in labelled:
        if path in below:
            raise ManifestError(
                f"projection path {labelled[below[path]]} lies inside {labelled[path]}, and DynamoDB refuses a call "
                "with both; leave one out"
            )


def _compiled(paths: Iterable[Path], added: tuple[str, ...]) -> Projection:
    aliases: dict[str, str] = {}
    texts = []
    for path in paths:
        text = ""
        for element in path:
            if isinstance(element, int):
                text += f"[{element}]"
            else:
                text += f"{'.' if text else ''}{aliases.setdefault(element, f'#p{len(aliases)}')}"
        texts.append(text)
    expression = ", ".join(texts)
    if len(expression) > MAX_EXPRESSION_BYTES:
        raise ManifestError(
            f"projection of {len(texts)} paths makes an expression of {len(expression)} bytes; DynamoDB allows "
            f"{MAX_EXPRESSION_BYTES}: name fewer attributes, or leave the projection out"
        )
    return Projection(expression, {alias: name for name, alias in aliases.items()}, added)
