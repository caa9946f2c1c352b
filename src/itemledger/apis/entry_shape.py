"""A caller's item in the SDK's entry shape, checked member by member; an error names the place, never a value."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

from itemledger.errors import ManifestError

#: Takes a member's value as the SDK wants it; raises ValueError with what to give instead.
Reader: TypeAlias = Callable[[object], Any]
_NONE: Mapping[str, Reader] = MappingProxyType({})


def read_entry(
    value: object, position: int, required: Mapping[str, Reader], optional: Mapping[str, Reader] = _NONE
) -> tuple[str, dict[str, Any]]:
    """The item id and the payload. ``Id`` is the caller's own name for the item, else its place in the input counted
    from one; a member that is null counts as left out.

    Raises ManifestError that names the position and the member.
    """
    readers = {**required, **optional}
    if not isinstance(value, Mapping):
        raise _unfit(position, f"is no object; give one with {', '.join(required)}")
    for name in value:
        if name != "Id" and name not in readers:
            raise _unfit(position, f"has a member {name!r}; an item takes {', '.join(readers)} and Id")
    payload: dict[str, Any] = {}
    for name, reader in readers.items():
        given = value.get(name)
        if given is None:
            if name in required:
                raise _unfit(position, f"has no {name}; give it")
            continue
        try:
            payload[name] = reader(given)
        except ValueError as problem:
            raise _unfit(position, f"has a {name} that is {problem}") from None
    return item_id(value, position), payload


def item_id(value: Mapping[str, Any], position: int) -> str:
    """The caller's own ``Id``, else the one-based place in the input."""
    own = value.get("Id")
    if own is None:
        return str(position + 1)
    if not isinstance(own, str) or not own:
        raise _unfit(position, "has an Id that is no text; give text, or leave it out")
    return own


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text; give text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("text that UTF-8 cannot carry; give whole characters") from None
    return value


def filled(value: object) -> str:
    if not text(value):
        raise ValueError("empty; give text")
    return text(value)


def one_of(*values: str) -> Reader:
    def read(value: object) -> str:
        if value not in values:
            raise ValueError(f"none of {', '.join(values)}; give one of them")
        return text(value)

    return read


def whole(least: int, most: int) -> Reader:
    def read(value: object) -> int:
        exact = int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value
        if type(exact) is not int or not least <= exact <= most:
            raise ValueError(f"no whole number from {least} to {most}; give one")
        return exact

    return read


def blob(value: object) -> bytes:
    """Bytes, or base64 text as the AWS CLI takes it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str):
        raise ValueError("neither bytes nor base64 text; give one of them")
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("no base64 text; encode it, as the AWS CLI wants it too") from None


def texts(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        raise ValueError("no list; give a list of texts")
    return [text(member) for member in value]


def attributes(value: object) -> dict[str, dict[str, Any]]:
    """Message attributes of SQS and SNS, each a data type and a value of its kind."""
    if not isinstance(value, Mapping):
        raise ValueError('no object; give {"name": {"DataType": "String", "StringValue": "…"}}')
    read: dict[str, dict[str, Any]] = {}
    for name, given in value.items():
        members = dict(given) if isinstance(given, Mapping) else {}
        kind = members.pop("DataType", None)
        values = {key: member for key, member in members.items() if member is not None}
        binary = isinstance(kind, str) and kind.split(".")[0] == "Binary"
        wanted = "BinaryValue" if binary else "StringValue"
        if not isinstance(kind, str) or not kind or set(values) != {wanted}:
            raise ValueError(f"malformed in one attribute; give each a DataType and a {wanted}")
        read[text(name)] = {"DataType": kind, wanted: blob(values[wanted]) if binary else text(values[wanted])}
    return read


def attributes_bytes(read: Mapping[str, Mapping[str, Any]]) -> int:
    """Names, types and values, each counted in bytes ("Amazon SQS message quotas": all three count)."""
    size = 0
    for name, attribute in read.items():
        size += len(name.encode())
        size += sum(len(member if isinstance(member, bytes) else member.encode()) for member in attribute.values())
    return size


def _unfit(position: int, problem: str) -> ManifestError:
    return ManifestError(f"item at position {position} {problem}", positions=(position,))
