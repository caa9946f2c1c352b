"""JSON bodies of HTTP calls: written with every digit and always alike, read back strictly, compared by value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from itemledger.apis.attribute_json import JsonValue, json_loads_exact
from itemledger.apis.attribute_values import AttributeValueError
from itemledger.core.reconcile import shape_of
from itemledger.errors import LedgerInvariantError, ManifestError


def json_body(value: object, where: str, position: int | None = None) -> bytes:
    """The value as one line of JSON, the same bytes at every attempt: members sorted, no blanks.

    Numbers keep the spelling that they came with, because a receiver may tell 1 from 1.0. Raises ManifestError, which
    names ``where``, for what JSON has no exact form for.
    """
    try:
        # What is left unencodable are lone surrogates; in JSON they can stand as escapes.
        return _written(value).encode("utf-8", "backslashreplace")
    except _NotJsonError as error:
        problem = str(error)
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError:  # CPython writes no whole number of more than 4,300 digits
        problem = "holds a whole number with too many digits; send it as text"
    raise ManifestError(f"{where} {problem}", positions=() if position is None else (position,))


def read_json(body: object, what: str) -> JsonValue:
    """The parsed body of an answer; LedgerInvariantError for what is not one whole, unambiguous JSON text."""
    if not isinstance(body, bytes):
        raise LedgerInvariantError(f"{what} has no body of bytes; keep the answer and check what served it")
    try:
        return json_loads_exact(body)
    except AttributeValueError:  # its text may quote a name from the body
        raise LedgerInvariantError(
            f"{what} of {len(body)} bytes is not one whole JSON text; keep the answer and check what served it"
        ) from None


def read_object(body: object, what: str) -> dict[str, JsonValue]:
    """The same for a body that must be one JSON object."""
    value = read_json(body, what)
    if not isinstance(value, dict):
        raise LedgerInvariantError(f"{what} is no JSON object; keep the answer and check what served it")
    return value


def read_member(record: Mapping[str, Any], name: str, *types: type) -> Any:
    """A member of exactly these types; LedgerInvariantError for one that is missing or of another type."""
    value = record.get(name)
    if type(value) not in types:
        raise LedgerInvariantError(
            f"the response has no {name} where its structure needs one; keep the answer and check what served it",
            structure=shape_of(record),
        )
    return value


def same_json(one: object, other: object) -> bool:
    """Equality by value: 1 and 1.0 are one number, true is not 1, the order of members does not matter."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


class _NotJsonError(ValueError):
    """A value without an exact form in JSON; the text is the end of a sentence."""


def _written(value: object) -> str:
    # json.dumps cannot write a Decimal as a number with all its digits, hence a writer of our own.
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise _NotJsonError("holds NaN or Infinity, which JSON does not have; leave it out or send text")
        return str(value)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise _NotJsonError("has a member whose name is no text; JSON takes text only")
        return f"{{{','.join(f'{_written(name)}:{_written(value[name])}' for name in sorted(value))}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, float):
        raise _NotJsonError("holds a float, whose digits are not exact; give a decimal.Decimal or an int")
    raise _NotJsonError(f"holds a {type(value).__name__}, which JSON does not have; send it as text")
