"""How many bytes of an item DynamoDB counts, for limits and capacity; numbers are good to one byte each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from itemledger.apis.attribute_values import AttributeValueError, TypedItem, item_to_native, number_of
from itemledger.core.keys import MAX_KEY_BYTES

#: The most that an item may have, names and values together (developer guide, "Item size").
ITEM_LIMIT_BYTES = 409_600
PARTITION_KEY_LIMIT_BYTES, SORT_KEY_LIMIT_BYTES = MAX_KEY_BYTES


def item_size(item: TypedItem) -> int:
    """The item's bytes by the developer guide's rules; raises AttributeValueError for what cannot be measured.

    The guide gives numbers "approximately", so every number may be one byte off: no result near a multiple of 4 KB says
    for sure how many capacity units a read takes.
    """
    try:
        return _named(item, 0)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        item_to_native(item)  # says what is wrong, and where
        raise AttributeValueError("cannot be measured") from None


def _named(values: Mapping[str, Mapping[str, Any]], each: int) -> int:
    size = 0
    for name, av in values.items():
        [tag] = av
        size += each + _text(name) + _SIZES[tag](av[tag])
    return size


def _text(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode())


def _number(text: str) -> int:
    """Two digits a byte and a byte for the exponent, after a finer rule that was read in dynalite's source.

    Digits pair up from the decimal point, so an even count of them that starts in the middle of a pair takes one more.
    """
    number = number_of(text)
    if not number:
        return 1
    digits = len(text.lower().partition("e")[0].lstrip("+-").replace(".", "").strip("0"))
    split = digits % 2 == 0 and number.adjusted() % 2 == 0
    return 1 + (digits + 1) // 2 + split + number.is_signed()


def _list(values: list[Mapping[str, Any]]) -> int:
    size = 3
    for av in values:
        [tag] = av
        size += 1 + _SIZES[tag](av[tag])
    return size


_SIZES: dict[str, Callable[[Any], int]] = {
    "S": _text,
    "N": _number,
    "B": len,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "SS": lambda values: sum(map(_text, values)),
    "NS": lambda values: sum(map(_number, values)),
    "BS": lambda values: sum(map(len, values)),
    "L": _list,
    "M": lambda values: 3 + _named(values, 1),
}
