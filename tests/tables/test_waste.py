"""Waste in words, and the trap of a filter with a Limit."""

from __future__ import annotations

from decimal import Decimal

import pytest

from itemledger.errors import ManifestError
from itemledger.tables.capacity import Consistency
from itemledger.tables.page import Consumed, PageTotals
from itemledger.tables.pages_cost import pages_read
from itemledger.tables.units import Size
from itemledger.tables.waste import Waste, filter_finding, waste_of
from tests.tables.samples import sizes_of, small_orders

EVENTUAL = Consistency.EVENTUAL


def test_examined_returned_and_consumed_stand_side_by_side() -> None:
    consumed = pages_read(sizes_of(small_orders()), EVENTUAL).units.units
    waste = Waste(1_000, 5, consumed)
    assert ("1,000 : 5 : 3.5", 995) == (waste.ratio, waste.discarded)
    assert "995 of 1,000 items were read, charged and discarded: 200 read for each one returned" == str(waste)


@pytest.mark.parametrize(
    ("examined", "returned", "text"),
    [
        (10, 10, "all 10 items that were read were returned"),
        (50, 0, "all 50 items that were read were discarded: what was charged bought nothing"),
        (0, 0, "nothing was there to read; an empty read is charged too"),
        (None, 5, "how many items were examined is unknown, and so is what was read for nothing"),
        (1_000, 3, "997 of 1,000 items were read, charged and discarded: about 333.3 read for each one returned"),
    ],
)
def test_each_kind_of_waste_has_its_words(examined: int | None, returned: int, text: str) -> None:
    assert text == str(Waste(examined, returned, None))


def test_what_was_not_told_is_unknown_in_the_ratio() -> None:
    told = PageTotals(2, 2, 100, 5, Consumed(3.0), untold_calls=1)
    assert Waste(100, 5, None) == waste_of(told)
    assert "100 : 5 : unknown" == waste_of(told).ratio
    assert "unknown : 5 : unknown" == waste_of(PageTotals(1, 1, None, 5, Consumed(3.0), 1)).ratio
    assert waste_of(PageTotals(1, 1, None, 5)).discarded is None


def test_the_sum_of_all_pages_is_the_consumed_figure() -> None:
    """FC-27: three pages of 10, 20 and 30 units."""
    pages = [PageTotals(1, 1, 20, 20, Consumed(units)) for units in (10.0, 20.0, 30.0)]
    totals = pages[0].plus(pages[1]).plus(pages[2])
    assert (Decimal(60), "60 : 60 : 60") == (waste_of(totals).consumed, waste_of(totals).ratio)


def test_a_filter_behind_a_limit_is_found_before_it_happens_with_what_it_costs() -> None:
    items = [(size, index >= 970) for index, size in enumerate(sizes_of(small_orders()))]
    finding = filter_finding(items, 50, EVENTUAL)
    assert finding is not None
    assert (50, 1, 50, 19, 950) == (finding.limit, finding.page, finding.examined, finding.pages, finding.all_examined)
    assert 19 * 0.5 == finding.units
    assert str(finding).startswith("page 1 read 50 items, returned 0, and there is more to come")


def test_an_empty_page_at_the_end_is_no_trap() -> None:
    items = [(Size(20), index < 40) for index in range(45)]
    assert filter_finding(items, 40, EVENTUAL) is None
    assert filter_finding(items, 20, EVENTUAL) is None
    late = filter_finding([*items, *items[40:], *items[40:]], 10, EVENTUAL)
    assert late is not None
    assert (5, 10, 1) == (late.page, late.examined, late.pages)


def test_a_finding_needs_items() -> None:
    with pytest.raises(ManifestError, match="needs the items"):
        filter_finding([], 50, EVENTUAL)
