"""What was examined, returned and consumed, and in words how much of it was for nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from itemledger.errors import ManifestError
from itemledger.tables.capacity import Consistency
from itemledger.tables.page import PageTotals
from itemledger.tables.page_result import FilterFinding
from itemledger.tables.pages_cost import pages_read
from itemledger.tables.units import Size, figure


@dataclass(frozen=True, slots=True)
class Waste:
    """Sums of one request over its pages. ``examined`` and ``consumed`` (units) are ``None`` where they are unknown."""

    examined: int | None
    returned: int
    consumed: Decimal | None

    @property
    def discarded(self) -> int | None:
        """Read, charged, and not returned."""
        return None if self.examined is None else self.examined - self.returned

    @property
    def ratio(self) -> str:
        """examined : returned : consumed."""
        examined = "unknown" if self.examined is None else f"{self.examined:,}"
        consumed = "unknown" if self.consumed is None else figure(self.consumed)
        return f"{examined} : {self.returned:,} : {consumed}"

    def __str__(self) -> str:
        if self.examined is None:
            return "how many items were examined is unknown, and so is what was read for nothing"
        if self.examined == 0:
            return "nothing was there to read; an empty read is charged too"
        if self.discarded == 0:
            return f"all {self.examined:,} items that were read were returned"
        if self.returned == 0:
            return f"all {self.examined:,} items that were read were discarded: what was charged bought nothing"
        each = _about(self.examined, self.returned)
        return (
            f"{self.discarded:,} of {self.examined:,} items were read, charged and discarded: {each} read for each one "
            "returned"
        )


def waste_of(totals: PageTotals) -> Waste:
    """Of a run of pages, by what it reported."""
    return Waste(totals.examined, totals.returned, None if totals.consumed is None else Decimal(totals.consumed.units))


def filter_finding(items: Iterable[tuple[Size, bool]], limit: int, consistency: Consistency) -> FilterFinding | None:
    """Whether a filter with this ``Limit`` will give empty pages before the end, and what they will cost.

    ``items`` are those that the request examines, in its order: the size of each, and whether the filter lets it pass.
    A run of pages reports the same of itself, as ``PagesResult.finding``.
    """
    examined = tuple(items)
    if not examined:
        raise ManifestError("a finding needs the items that the request examines; none are given")
    pages = pages_read((size for size, _ in examined), consistency, limit).pages
    empty = []
    start = 0
    for number, page in enumerate(pages[:-1], start=1):  # after the last one nothing is to come
        if not any(passes for _, passes in examined[start : start + page.examined]):
            empty.append((number, page))
        start += page.examined
    if not empty:
        return None
    number, first = empty[0]
    units = float(sum(page.units.units for _, page in empty))
    return FilterFinding(limit, number, first.examined, len(empty), sum(page.examined for _, page in empty), units)


def _about(of: int, by: int) -> str:
    whole, rest = divmod(of, by)
    return f"{whole:,}" if not rest else f"about {of / by:,.1f}"
