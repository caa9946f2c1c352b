"""Positions written short: ``[0, [2, 5], 9]`` is 0, 2, 3, 4, 5, 9, in JSON's own types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def to_ranges(positions: Iterable[int]) -> list[Any]:
    """Runs of ascending neighbours become ``[first, last]``; the order is kept."""
    ranges: list[Any] = []
    first = last = None
    for position in positions:
        if last is not None and position == last + 1:
            last = position
            continue
        _close(ranges, first, last)
        first = last = position
    _close(ranges, first, last)
    return ranges


def from_ranges(ranges: object) -> Iterator[int]:
    """The positions again; ValueError when it is no list of numbers and ``[first, last]`` pairs."""
    if not isinstance(ranges, list):
        raise ValueError("positions are not a list")
    for entry in ranges:
        if _is_position(entry):
            yield entry
        elif isinstance(entry, list) and len(entry) == 2 and all(map(_is_position, entry)) and entry[0] < entry[1]:
            yield from range(entry[0], entry[1] + 1)
        else:
            raise ValueError("a position is neither a number nor a pair [first, last]")


def _close(ranges: list[Any], first: int | None, last: int | None) -> None:
    if first is not None:
        ranges.append(first if first == last else [first, last])


def _is_position(value: object) -> bool:
    return type(value) is int and value >= 0
