"""Members of parsed JSON, taken only in the types they must have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


def member(record: Mapping[str, Any], name: str, *types: type) -> Any:
    """A member of exactly these types: one that was changed into another type is damage, never another spelling."""
    value = record[name]
    if type(value) not in types:
        raise ValueError(f"{name} is of type {type(value).__name__}")
    return value


def count(record: Mapping[str, Any], name: str, least: int = 0) -> int:
    number: int = member(record, name, int)
    if number < least:
        raise ValueError(f"{name} is less than {least}")
    return number


def texts(values: Collection[object]) -> tuple[str, ...]:
    texts = tuple(value for value in values if isinstance(value, str))
    if len(texts) != len(values):
        raise ValueError("a text is of another type")
    return texts
