"""Keys by value: what callers and services spell in many ways becomes one plain Python value.

A canonical key is ``str``, ``Decimal``, ``bytes``, or a tuple of two of them. Python's own equality and hash are then
DynamoDB's: ``Decimal("1") == Decimal("1.0")``, while ``"1"``, ``Decimal(1)`` and ``b"1"`` are three keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias, TypeGuard

from itemledger.core.numbers import number_text, parse_number
from itemledger.errors import ManifestError

KeyPart: TypeAlias = str | Decimal | bytes
Key: TypeAlias = KeyPart | tuple[KeyPart, KeyPart]

#: Longest key values in bytes (developer guide, "Primary keys"); the partition key's first, then the sort key's.
MAX_KEY_BYTES = (2048, 1024)

_PLACEHOLDERS = ("partition key", "sort key")


class KeyType(StrEnum):
    """The three attribute types a key may have."""

    S = "S"
    N = "N"
    B = "B"


@dataclass(frozen=True, slots=True)
class KeySchema:
    """A table's key attributes, partition key first; a type is ``None`` until a value or DescribeTable tells it."""

    names: tuple[str, ...]
    types: tuple[KeyType | None, ...]
    known: bool = True
    """False while the table could not be looked at; the names are then placeholders, or the caller's own."""

    @classmethod
    def of(cls, key: Sequence[str] | Mapping[str, str] | str) -> KeySchema:
        """From ``("pk", "sk")``, ``"pk"`` or ``{"pk": "S", "sk": "N"}``; raises ManifestError for anything else."""
        if isinstance(key, str):
            key = (key,)
        given: object = key  # a set has no order, bytes are numbers to Python: nothing but what the types say
        names = tuple(key) if isinstance(given, Sequence | Mapping) else ()
        if len(names) not in (1, 2) or len(set(names)) != len(names) or not all(n and type(n) is str for n in names):
            raise ManifestError(f"key={key!r}: name one partition key attribute, or a partition and a sort attribute")
        try:
            types = tuple(KeyType(key[n]) for n in names) if isinstance(key, Mapping) else (None,) * len(names)
        except ValueError:
            raise ManifestError(f"key={key!r}: a key attribute's type is S, N or B") from None
        return cls(names, types)

    @classmethod
    def unknown(cls, example: object) -> KeySchema:
        """A stand-in when DescribeTable failed, shaped like one of the caller's keys; nothing may be sent with it."""
        if isinstance(example, Mapping):
            names = tuple(map(str, example))[:2]
        else:
            names = _PLACEHOLDERS[: len(example) if isinstance(example, tuple | list) else 1]
        return cls(names, (None,) * len(names), known=False)

    @property
    def guessed(self) -> bool:
        """Whether the names are the caller's own, in his order, which need not be partition key first."""
        return not self.known and self.names != _PLACEHOLDERS[: len(self.names)]

    def typed_as(self, key: Key) -> KeySchema:
        """This schema with the types that are still open taken from one of its keys."""
        parts = key if isinstance(key, tuple) else (key,)
        types = tuple(t or part_type(p) for t, p in zip(self.types, parts, strict=True))
        return KeySchema(self.names, types, self.known)

    def canonical(self, key: object, position: int) -> Key:
        """The caller's spelling of a key as its canonical value; ManifestError names the position and the attribute."""
        parts: list[object]
        if isinstance(key, str | int | Decimal | bytes):  # first, since an abstract class takes long to say no
            parts = [key]
        elif isinstance(key, tuple | list):
            parts = self._parts_of_sequence(key, position)
        else:
            parts = self._parts_of_mapping(key, position) if isinstance(key, Mapping) else [key]
        if len(self.names) == 1:
            return self._part(parts[0], 0, position)
        if len(parts) == 1:
            raise ManifestError(
                f"key at position {position} is a single {type(key).__name__}, but the table's key has two attributes "
                f"({', '.join(self.names)}); give a tuple or a mapping",
                positions=(position,),
            )
        return self._part(parts[0], 0, position), self._part(parts[1], 1, position)

    def typed(self, key: Key) -> dict[str, dict[str, Any]]:
        """The key as AttributeValues, boto3's shape: ``{"pk": {"S": "a"}, "sk": {"N": "1"}}``."""
        if not isinstance(key, tuple):
            (name,) = self.names
            return {name: typed_part(key)}
        return {name: typed_part(part) for name, part in zip(self.names, key, strict=True)}

    def key_in(self, row: Mapping[str, Any]) -> Key | None:
        """The canonical key that a row carries in its key attributes; ``None`` when it carries no readable one."""
        partition = read_part(row.get(self.names[0]))
        if partition is None or len(self.names) == 1:
            return partition
        sort = read_part(row.get(self.names[1]))
        return None if sort is None else (partition, sort)

    def _parts_of_mapping(self, key: Mapping[Any, Any], position: int) -> list[object]:
        for name in self.names:
            if name not in key:
                raise ManifestError(f"key at position {position} lacks the attribute {name!r}", positions=(position,))
        if len(key) != len(self.names):
            extra = sorted(str(n) for n in key if n not in self.names)
            raise ManifestError(
                f"key at position {position} has {', '.join(map(repr, extra))} beside the table's key attributes "
                f"({', '.join(self.names)}); leave only those",
                positions=(position,),
            )
        return [self._untyped(key[name], name, position) for name in self.names]

    def _parts_of_sequence(self, key: Sequence[Any], position: int) -> list[object]:
        if self.guessed and len(self.names) > 1:
            raise ManifestError(
                f"key at position {position} is a {type(key).__name__} beside mappings, and DescribeTable did not tell "
                "which attribute comes first; spell all keys as mappings, or give key=",
                positions=(position,),
            )
        if len(key) != len(self.names):
            raise ManifestError(
                f"key at position {position} has {len(key)} parts, but the table's key has {len(self.names)} "
                f"({', '.join(self.names)})",
                positions=(position,),
            )
        return list(key)

    def _untyped(self, value: object, name: str, position: int) -> object:
        """The value inside ``{"S": "a"}``; a plain value as it is."""
        if not isinstance(value, Mapping):
            return value
        part = read_part(value)
        if part is None:
            raise ManifestError(
                f"key at position {position}: attribute {name!r} is no AttributeValue of one tag S, N or B",
                positions=(position,),
            )
        return part

    def _part(self, value: object, index: int, position: int) -> KeyPart:
        try:
            part = canonical_part(value)
            if not isinstance(part, Decimal):
                _check_length(part, MAX_KEY_BYTES[index])
            expected = self.types[index]
            if expected is not None and part_type(part) is not expected:
                raise ValueError(f"has type {part_type(part)}, but the key needs {expected}")
        except ValueError as exc:
            where = f"key at position {position}: attribute {self.names[index]!r}"
            raise ManifestError(f"{where} {exc}", positions=(position,)) from None
        return part


def _check_length(part: str | bytes, most: int) -> None:
    if isinstance(part, bytes) or part.isascii():
        size = len(part)
    else:
        try:
            size = len(part.encode())
        except UnicodeEncodeError:
            raise ValueError("is not valid Unicode text (lone surrogate)") from None
    if size == 0:
        raise ValueError("is empty, which DynamoDB refuses in keys")
    if size > most:
        raise ValueError(f"has {size} bytes; DynamoDB allows {most}")


def canonical_part(value: object) -> KeyPart:
    """One key attribute's value as ``str``, ``Decimal`` or ``bytes``; ValueError says what is wrong with it."""
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)  # an enum's own str() is its name, not its value
    if isinstance(value, bool):
        raise ValueError("is a bool; a key is a string, a number or binary")
    if isinstance(value, int | Decimal):
        try:
            return parse_number(value)
        except ValueError as exc:
            raise ValueError(f"is not a DynamoDB number: {exc}") from None
    if isinstance(value, float):
        raise ValueError("is a float, which cannot hold every DynamoDB number; use int or Decimal")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    inner = getattr(value, "value", None)  # boto3.dynamodb.types.Binary, without importing boto3 here
    if isinstance(inner, bytes | bytearray) and type(value).__name__ == "Binary":
        return bytes(inner)
    raise ValueError(f"is a {type(value).__name__}; a key is str, int, Decimal or bytes")


def part_type(part: KeyPart) -> KeyType:
    """S, N or B of a canonical part."""
    if isinstance(part, str):
        return KeyType.S
    return KeyType.N if isinstance(part, Decimal) else KeyType.B


def typed_part(part: KeyPart) -> dict[str, Any]:
    """A canonical part as an AttributeValue; a number in the service's own spelling."""
    if isinstance(part, str):
        return {"S": part}
    if isinstance(part, Decimal):
        return {"N": number_text(part)}
    return {"B": part}


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a mapping; a dict, as the SDK makes them, without the long way round an abstract class."""
    return type(value) is dict or isinstance(value, Mapping)


def read_part(value: object) -> KeyPart | None:
    """The canonical part inside an AttributeValue; ``None`` when it is no well-formed S, N or B."""
    if not is_mapping(value) or len(value) != 1:
        return None
    ((tag, inner),) = value.items()
    if tag == "S":
        return inner if isinstance(inner, str) else None
    if tag == "N" and isinstance(inner, str):
        try:
            return parse_number(inner)
        except ValueError:
            return None
    if tag == "B" and isinstance(inner, bytes | bytearray | memoryview):
        return bytes(inner)
    return None
