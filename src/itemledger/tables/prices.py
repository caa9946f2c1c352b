"""From capacity units to money: exact, in the caller's currency, by the caller's price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from itemledger.errors import ManifestError
from itemledger.tables.units import EXACT, Units, figure

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """What a million units cost; there is none built in, since it depends on region, mode, table class and contract."""

    per_million_units: Decimal

    def __post_init__(self) -> None:
        price = self.per_million_units
        if not isinstance(price, Decimal):
            raise ManifestError(f"a price must be a Decimal; got a {type(price).__name__}, which may not be exact")
        if not price.is_finite() or price < 0:
            raise ManifestError(f"a price must be a number, 0 or more; got {price}")

    def of(self, units: Decimal) -> Decimal:
        return EXACT.multiply(self.per_million_units, EXACT.scaleb(units, -6))

    def of_million_calls(self, units_per_call: Units) -> PriceRange:
        """A million calls of so many units each."""
        return PriceRange(
            self.of(EXACT.multiply(units_per_call.units, MILLION)),
            self.of(EXACT.multiply(units_per_call.least_units, MILLION)),
            self.of(EXACT.multiply(units_per_call.most_units, MILLION)),
        )


@dataclass(frozen=True, slots=True)
class PriceRange:
    """A price, and the bounds that those of its units give it."""

    price: Decimal
    least: Decimal
    most: Decimal

    def __str__(self) -> str:
        if self.least == self.most:
            return figure(self.price)
        return f"{figure(self.price)} ({figure(self.least)} to {figure(self.most)})"
