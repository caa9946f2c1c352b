"""Sizes and capacity units, each with how far the truth may lie from it: numbers are good to one byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MAX_PREC,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    Inexact,
    InvalidOperation,
)
from typing import Any, TypeAlias

from itemledger.errors import ManifestError
from itemledger.tables.page import Row

#: How many bytes an item has; ``itemledger.apis.item_size.item_size`` is the one there is.
SizeOf: TypeAlias = Callable[[Row], int]

#: Nothing is rounded unsaid, and the caller's decimal context has no say.
EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[InvalidOperation, Inexact])
CENTS = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of an item or of several, as computed; the service may count up to ``slack_bytes`` fewer or more."""

    size_bytes: int
    slack_bytes: int = 0

    def __post_init__(self) -> None:
        for name in ("size_bytes", "slack_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ManifestError(f"{name} must be a whole number, 0 or more; got {value!r}")

    @property
    def least_bytes(self) -> int:
        return max(0, self.size_bytes - self.slack_bytes)

    @property
    def most_bytes(self) -> int:
        return self.size_bytes + self.slack_bytes

    def plus(self, other: Size) -> Size:
        return Size(self.size_bytes + other.size_bytes, self.slack_bytes + other.slack_bytes)


def total_size(sizes: Iterable[Size]) -> Size:
    size_bytes = slack_bytes = 0
    for size in sizes:
        size_bytes += size.size_bytes
        slack_bytes += size.slack_bytes
    return Size(size_bytes, slack_bytes)


def measured(item: Row, size_of: SizeOf) -> Size:
    """A typed item's size: to the byte, but for its numbers, whose bytes the developer guide gives "approximately"."""
    return Size(size_of(item), _numbers(item.values()))


def _numbers(values: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    for value in values:
        [(tag, content)] = value.items()
        match tag:
            case "N":
                count += 1
            case "NS":
                count += len(content)
            case "L":
                count += _numbers(content)
            case "M":
                count += _numbers(content.values())
    return count


@dataclass(frozen=True, slots=True)
class Units:
    """Capacity units for sizes as computed; what the rules allow lies between ``least_units`` and ``most_units``.

    The three differ only where a byte more or less, or a page that ends an item sooner, would take another unit.
    """

    units: Decimal
    least_units: Decimal
    most_units: Decimal

    def __post_init__(self) -> None:
        assert 0 <= self.least_units <= self.units <= self.most_units, self

    @classmethod
    def exactly(cls, units: Decimal | int) -> Units:
        return cls(Decimal(units), Decimal(units), Decimal(units))

    @property
    def certain(self) -> bool:
        return self.least_units == self.most_units

    def admits(self, reported: Decimal) -> bool:
        """Whether the rules allow what was reported."""
        return self.least_units <= reported <= self.most_units

    def plus(self, other: Units) -> Units:
        return Units(
            EXACT.add(self.units, other.units),
            EXACT.add(self.least_units, other.least_units),
            EXACT.add(self.most_units, other.most_units),
        )

    def times(self, count: Decimal | int) -> Units:
        return Units(
            EXACT.multiply(self.units, count),
            EXACT.multiply(self.least_units, count),
            EXACT.multiply(self.most_units, count),
        )

    def mean(self, count: int) -> Units:
        """The share of one among ``count``, in cents of a unit; the bounds are rounded outwards."""
        return Units(
            _share(self.units, count, ROUND_HALF_EVEN),
            _share(self.least_units, count, ROUND_FLOOR),
            _share(self.most_units, count, ROUND_CEILING),
        )

    def __str__(self) -> str:
        if self.certain:
            return figure(self.units)
        return f"{figure(self.units)} ({figure(self.least_units)} to {figure(self.most_units)})"


NO_UNITS = Units.exactly(0)


def total_units(units: Iterable[Units]) -> Units:
    total = NO_UNITS
    for each in units:
        total = total.plus(each)
    return total


def units_for(size: Size, block_bytes: int, units_per_block: Decimal) -> Units:
    """Blocks begun, one at least, times what a block takes."""
    return Units(
        *(
            EXACT.multiply(units_per_block, blocks_of(size_bytes, block_bytes))
            for size_bytes in (size.size_bytes, size.least_bytes, size.most_bytes)
        )
    )


def blocks_of(size_bytes: int, block_bytes: int) -> int:
    return max(1, -(-size_bytes // block_bytes))


def figure(number: Decimal) -> str:
    """A number for people: thousands apart, no zeros behind the point."""
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _share(units: Decimal, count: int, rounding: str) -> Decimal:
    return Context(prec=60, rounding=rounding).divide(units, Decimal(count)).quantize(CENTS, rounding=rounding)
