"""Pages are rounded up one by one, and where they end decides: the reference numbers come out of the arithmetic."""

from __future__ import annotations

from decimal import Decimal

import pytest

from itemledger.errors import ManifestError
from itemledger.tables.capacity import Consistency
from itemledger.tables.pages_cost import pages_as_they_came, pages_read, whole_read
from itemledger.tables.units import Size, Units, total_size
from tests.tables.samples import large_orders, sizes_of, small_orders

EVENTUAL, STRONG = Consistency.EVENTUAL, Consistency.STRONG


def exactly(units: str) -> Units:
    return Units.exactly(Decimal(units))


def test_a_scan_for_five_of_a_thousand_takes_3_5_units_and_a_query_0_5() -> None:
    items = small_orders()
    wanted = [item for item in items if item["user"]["S"] == "user-017"]
    assert (1_000, 5) == (len(items), len(wanted))
    assert exactly("3.5") == pages_read(sizes_of(items), EVENTUAL).units
    assert exactly("0.5") == pages_read(sizes_of(wanted), EVENTUAL).units


def test_a_filter_over_a_thousand_orders_takes_127_5_units_and_a_key_condition_1_5() -> None:
    items = large_orders()
    wanted = [item for item in items if item["sk"]["S"].startswith("open#")]
    assert (1_000, 10) == (len(items), len(wanted))
    cost = pages_read(sizes_of(items), EVENTUAL)
    assert ([1_000], exactly("127.5"), True) == ([page.examined for page in cost.pages], cost.units, cost.certain_pages)
    assert exactly("1.5") == pages_read(sizes_of(wanted), EVENTUAL).units


def test_a_second_page_rounds_up_a_second_time() -> None:
    sizes = sizes_of(large_orders())
    came = pages_as_they_came(sizes, [992, 8], EVENTUAL)
    assert [exactly("126.5"), exactly("1.5")] == [page.units for page in came.pages]
    assert exactly("128") == came.units


def test_a_full_page_takes_128_units_or_another_half() -> None:
    """16 KB items fill 1 MB exactly; those of 1,042 bytes cross it, and 128.5 have been published for them."""
    assert exactly("128") == pages_read([Size(16_384)] * 64, EVENTUAL).units
    first, second = pages_read([Size(1_042)] * 1_100, EVENTUAL).pages
    assert (1_007, exactly("128.5"), 93) == (first.examined, first.units, second.examined)


@pytest.mark.parametrize("count", [1_007, 1_008, 2_014])
def test_where_the_item_that_crosses_1_mb_belongs_is_left_open(count: int) -> None:
    cost = pages_read([Size(1_042)] * count, EVENTUAL)
    waits = pages_as_they_came([Size(1_042)] * count, _chunks(count, 1_006), EVENTUAL)
    belongs = pages_as_they_came([Size(1_042)] * count, _chunks(count, 1_007), EVENTUAL)
    assert not cost.certain_pages
    assert belongs.units.units == cost.units.units
    assert cost.units.admits(waits.units.units)


def _chunks(count: int, of: int) -> list[int]:
    return [min(of, count - start) for start in range(0, count, of)]


def test_numbers_alone_can_leave_open_where_a_page_ends() -> None:
    assert pages_read([Size(524_000)] * 2, EVENTUAL).certain_pages
    assert not pages_read([Size(524_280, 20)] * 2, EVENTUAL).certain_pages


def test_a_limit_ends_pages_and_each_is_rounded_up() -> None:
    cost = pages_read([Size(1_000)] * 23, EVENTUAL, limit=10)
    assert [10, 10, 3] == [page.examined for page in cost.pages]
    assert exactly("3.5") == cost.units  # 1.5, 1.5 and 0.5: in one page it were 3


def test_a_full_last_page_is_followed_by_an_empty_one_but_perhaps_not() -> None:
    cost = pages_read([Size(1_000)] * 20, EVENTUAL, limit=10)
    assert [10, 10, 0] == [page.examined for page in cost.pages]
    assert Units(Decimal("3.5"), Decimal(3), Decimal("3.5")) == cost.units
    assert 20 == cost.examined


def test_nothing_to_read_is_one_page() -> None:
    assert [0] == [page.examined for page in pages_read([], STRONG, limit=5).pages]
    assert exactly("1") == pages_read([], STRONG, limit=5).units


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_at_least_one(limit: int) -> None:
    with pytest.raises(ManifestError, match="limit must be at least 1"):
        pages_read([], STRONG, limit)


def test_pages_that_came_must_have_examined_the_items_given() -> None:
    with pytest.raises(ManifestError, match="examined 3 items and 2 sizes"):
        pages_as_they_came([Size(1)] * 2, [1, 2], STRONG)


def test_a_table_known_only_by_its_size_has_a_cost_with_bounds() -> None:
    sizes = [Size(50_000)] * 500
    units = whole_read(total_size(sizes), EVENTUAL)
    assert Decimal("3052") == units.units
    assert not units.certain
    assert units.admits(pages_read(sizes, EVENTUAL).units.units)
    assert units.admits(pages_as_they_came(sizes, _chunks(500, 20), EVENTUAL).units.units)
