"""What a writing API is made for, checked member by member: its target comes from a ledger or a command line."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from itemledger.errors import ManifestError

_NONE: Mapping[str, type] = MappingProxyType({})


def read_target(
    api_name: str, target: Mapping[str, Any], required: Mapping[str, type], optional: Mapping[str, type] = _NONE
) -> dict[str, Any]:
    """The target's members, in the order of these tables; an optional one that is absent or null is left out.

    The types are JSON's as Python has them (``str``, ``int``, ``bool``, ``list``, ``dict``). Raises ManifestError that
    names a member as ``queue_url=`` when it is missing, unknown, empty text or of another type.
    """
    known = {**required, **optional}
    for name in target:
        if name not in known:
            takes = ", ".join(f"{member}=" for member in known) or "no target"
            raise ManifestError(f"{api_name} knows no {name}=; it takes {takes}")
    read: dict[str, Any] = {}
    for name, kind in known.items():
        value = target.get(name)
        if value is None:
            if name in required:
                raise ManifestError(f"{api_name} needs {name}= to know where to send; give it")
            continue
        if type(value) is not kind:
            raise ManifestError(f"{api_name}: {name}= is {_NAMES[type(value)]}; give {_NAMES[kind]}")
        if value == "":
            raise ManifestError(f"{api_name}: {name}= is empty; give {_NAMES[kind]}")
        read[name] = value
    return read


def check_choice(api_name: str, name: str, value: object, choices: Collection[str]) -> None:
    """ManifestError unless the member is one of these."""
    if value not in choices:
        raise ManifestError(f"{api_name}: {name}= is not one of {', '.join(choices)}")


class _TypeNames(dict[type, str]):
    def __missing__(self, kind: type) -> str:
        return f"of type {kind.__name__}"


_NAMES = _TypeNames({str: "text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"})
