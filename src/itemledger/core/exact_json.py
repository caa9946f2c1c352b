"""An exact JSON form of native Python payloads: what is written comes back equal, and of the same types.

Text, whole numbers, true, false, null, lists and objects stand for themselves. An object with one member whose name
begins with ``$`` is a tag: ``{"$N": "1.50"}`` a Decimal, ``{"$B": "AA=="}`` bytes, ``{"$S": [...]}`` a set, and
``{"$M": {...}}`` a mapping that would look like a tag itself.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from itemledger.errors import LedgerError, ManifestError

_NUMBER, _BINARY, _SET, _MAPPING = "$N", "$B", "$S", "$M"


def dumps(value: object) -> bytes:
    """The value as one line of UTF-8. Raises ManifestError for what would not come back as it is.

    That is: floats, NaN, text with lone surrogates, tuples, member names that are no text, sets of anything but text,
    numbers and bytes, and every other type.
    """
    try:
        tagged = _tagged(value)
        return json.dumps(tagged, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except _NotExactError as error:
        problem = str(error)
    except UnicodeEncodeError:
        problem = "text that is not valid Unicode (a lone surrogate)"
    except RecursionError:
        problem = "values that are nested too deeply"
    except ValueError:  # CPython writes no whole number of more than 4,300 digits
        problem = "a whole number with too many digits"
    raise ManifestError(f"an item holds {problem}, which has no exact form in JSON; correct it or take it out")


def loads(data: bytes) -> Any:
    """What ``dumps`` was given, sets as ``set``; LedgerError for bytes that ``dumps`` has not written."""
    try:
        return _plain(json.loads(data, parse_float=_refuse, parse_constant=_refuse, object_pairs_hook=_members))
    except (ValueError, TypeError, RecursionError, InvalidOperation):
        raise LedgerError(
            "a payload stored in the ledger is not in its exact form, so it was changed; plan its item again"
        ) from None


class _NotExactError(ValueError):
    """A value without an exact form; the text is the middle of a sentence."""


def _tagged(value: object) -> object:
    if value is None or isinstance(value, str | int):  # bool is an int
        return value
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise _NotExactError("NaN or Infinity")
        return {_NUMBER: str(value)}
    if isinstance(value, bytes):
        return {_BINARY: b64encode(value).decode()}
    if isinstance(value, Mapping):
        return _tagged_mapping(value)
    if isinstance(value, list):
        return [_tagged(member) for member in value]
    if isinstance(value, set | frozenset):
        return {_SET: sorted((_tagged_member(member) for member in value), key=repr)}
    raise _NotExactError(f"a value of type {type(value).__name__}")


def _tagged_mapping(value: Mapping[Any, object]) -> dict[str, object]:
    for name in value:
        if not isinstance(name, str):
            raise _NotExactError("a member whose name is no text")
    members = {name: _tagged(member) for name, member in value.items()}
    return {_MAPPING: members} if _is_tag(members) else members


def _tagged_member(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal | bytes):
        raise _NotExactError(f"a set with a value of type {type(value).__name__}")
    return _tagged(value)


def _is_tag(members: Mapping[str, object]) -> bool:
    return len(members) == 1 and next(iter(members)).startswith("$")


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if not isinstance(value, dict):
        return value
    if not _is_tag(value):
        return {name: _plain(member) for name, member in value.items()}
    [(tag, told)] = value.items()
    return _TAGS[tag](told) if tag in _TAGS else _refuse(tag)


def _mapping(told: dict[str, Any]) -> dict[str, Any]:
    if not _is_tag(told):
        raise ValueError("escaped without need")
    return {name: _plain(member) for name, member in told.items()}


def _set(told: list[Any]) -> set[Any]:
    members = set(map(_plain, told))
    if len(members) != len(told):
        raise ValueError("a member of a set stands there twice")
    return members


def _number(told: str) -> Decimal:
    number = Decimal(told)
    return number if number.is_finite() and str(number) == told else _refuse(told)


def _binary(told: str) -> bytes:
    data = b64decode(told, validate=True)
    return data if b64encode(data).decode() == told else _refuse(told)


_TAGS: Mapping[str, Callable[[Any], Any]] = {_NUMBER: _number, _BINARY: _binary, _SET: _set, _MAPPING: _mapping}


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands in one object twice")
    return members


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is never written")
