"""What one request costs: examined, returned, consumed, its price, what was for nothing, and what would do instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from itemledger.tables.alternatives import Alternative
from itemledger.tables.comparison import Comparison
from itemledger.tables.page_result import FilterFinding
from itemledger.tables.prices import PriceRange, UnitPrice
from itemledger.tables.waste import Waste


@dataclass(frozen=True, slots=True)
class Cost:
    """All that is known of a request's cost; every figure is data, ``lines`` are the same for people."""

    waste: Waste
    comparison: Comparison
    finding: FilterFinding | None = None
    alternatives: Sequence[Alternative] = ()
    unit_price: UnitPrice | None = None

    @property
    def per_million_calls(self) -> PriceRange | None:
        """``None`` without a price, or where the units are unknown."""
        units = self.comparison.believed
        return None if self.unit_price is None or units is None else self.unit_price.of_million_calls(units)

    def lines(self) -> list[str]:
        found = [f"examined : returned : consumed = {self.waste.ratio}", str(self.waste), str(self.comparison)]
        if self.finding is not None:
            found.append(str(self.finding))
        price = self.per_million_calls
        if price is not None:
            found.append(f"a million such calls: {price}")
        for each in self.alternatives:
            text = f"instead: {each}"
            if self.unit_price is not None:
                text += f"; a million calls: {self.unit_price.of_million_calls(each.read)}"
            found.append(text)
        return found
