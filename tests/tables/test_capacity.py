"""Capacity of single operations, by the developer guide's own examples."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from itemledger.errors import ManifestError
from itemledger.tables.capacity import (
    Change,
    Consistency,
    condition_failed,
    consistency_of,
    fetching_page_read,
    item_read,
    item_written,
    items_read,
    items_written,
    page_read,
)
from itemledger.tables.units import Size, Units

EVENTUAL, STRONG, TRANSACTIONAL = Consistency.EVENTUAL, Consistency.STRONG, Consistency.TRANSACTIONAL


def kb(number: str) -> Size:
    return Size(int(Decimal(number) * 1024))


def exactly(units: str) -> Units:
    return Units.exactly(Decimal(units))


# ------------------------------------------------------------------------------ developer guide, "read operations"


@pytest.mark.parametrize(
    ("consistency", "small", "ten_kb"), [(EVENTUAL, "0.5", "1.5"), (STRONG, "1", "3"), (TRANSACTIONAL, "2", "6")]
)
def test_an_item_is_rounded_up_to_4_kb(consistency: Consistency, small: str, ten_kb: str) -> None:
    assert exactly(small) == item_read(Size(3_500), consistency)
    assert exactly(small) == item_read(kb("3.5"), consistency)
    assert exactly(ten_kb) == item_read(kb("10"), consistency)  # counts as 12 KB


@pytest.mark.parametrize(("consistency", "units"), [(EVENTUAL, "0.5"), (STRONG, "1"), (TRANSACTIONAL, "2")])
def test_an_item_that_is_not_there_takes_as_much_as_a_small_one(consistency: Consistency, units: str) -> None:
    assert exactly(units) == item_read(None, consistency)


def test_a_batch_rounds_each_item_and_a_page_rounds_once() -> None:
    sizes = [kb("1.5"), kb("6.5")]
    assert (exactly("3"), exactly("1.5")) == (items_read(sizes, STRONG), items_read(sizes, EVENTUAL))
    assert (exactly("2"), exactly("1")) == (page_read(sizes, STRONG), page_read(sizes, EVENTUAL))


def test_a_query_adds_up_before_it_rounds() -> None:
    assert exactly("11") == page_read([kb("4.08")] * 10, STRONG)  # 40.8 KB count as 44 KB
    assert exactly("24") == page_read([Size(64)] * 1_500, STRONG)  # 96 KB, which is 93.75 KB rounded up


def test_80_kb_read_eventually_take_ten_units() -> None:
    assert exactly("10") == page_read([kb("80")], EVENTUAL)


def test_three_small_items_in_a_transaction_take_six_units_to_read_and_six_to_write() -> None:
    assert exactly("6") == items_read([Size(500)] * 3, TRANSACTIONAL)
    assert exactly("6") == items_written([Change(after=Size(500))] * 3, transactional=True)


def test_attribute_names_may_push_a_batch_over_its_boundaries() -> None:
    """Recorded on AWS: 64 KB and 16 KB of value, and a few bytes of names and keys, read strongly."""
    assert exactly("22") == items_read([Size(65_536 + 12), Size(16_384 + 12)], STRONG)


def test_missing_keys_of_a_batch_count_like_small_items() -> None:
    assert exactly("5") == items_read([Size(50)] * 4 + [None], STRONG)
    assert exactly("1.5") == items_read([Size(50), None, None], EVENTUAL)


def test_an_empty_page_takes_the_least_there_is() -> None:
    assert (exactly("0.5"), exactly("1")) == (page_read([], EVENTUAL), page_read([], STRONG))


def test_entries_of_a_global_index_are_added_up_like_items() -> None:
    assert exactly("2") == page_read([Size(2_000)] * 8, EVENTUAL)


def test_a_local_index_that_fetches_pays_for_each_whole_item() -> None:
    """The guide's example: 4 entries of 200 bytes count as 4 KB, and 4 items of 300 bytes as 16 KB."""
    assert exactly("5") == fetching_page_read([Size(200)] * 4, [Size(300)] * 4, STRONG)


def test_a_page_is_no_part_of_a_transaction() -> None:
    with pytest.raises(ManifestError, match="cannot be part of a transaction"):
        page_read([], TRANSACTIONAL)


@pytest.mark.parametrize(
    ("request_", "consistency"),
    [({}, EVENTUAL), ({"ConsistentRead": False}, EVENTUAL), ({"ConsistentRead": True}, STRONG)],
)
def test_a_request_says_how_it_reads(request_: dict[str, Any], consistency: Consistency) -> None:
    assert consistency is consistency_of(request_)


# ----------------------------------------------------------------------------- developer guide, "write operations"


def test_a_batch_of_writes_rounds_each_item_up_to_1_kb() -> None:
    assert exactly("5") == items_written([Change(after=Size(500)), Change(after=kb("3.5"))])


@pytest.mark.parametrize(
    ("change", "units"),
    [
        (Change(after=kb("1.6")), "2"),
        (Change(kb("1.6")), "2"),
        (Change(kb("3"), kb("1")), "3"),
        (Change(kb("1"), kb("3")), "3"),
        (Change(), "1"),
    ],
)
def test_the_larger_of_before_and_after_is_charged(change: Change, units: str) -> None:
    assert exactly(units) == item_written(change)
    assert exactly(units).times(2) == item_written(change, transactional=True)


def test_which_of_two_sizes_is_the_larger_may_itself_be_open() -> None:
    units = item_written(Change(Size(1_020, 8), Size(1_024)))
    assert Units(Decimal(1), Decimal(1), Decimal(2)) == units
    assert exactly("2") == item_written(Change(Size(1_020, 8), Size(1_030)))


def test_a_false_condition_is_charged_by_the_item_there_or_as_one_unit() -> None:
    assert exactly("1") == condition_failed(Change(after=kb("9")))
    assert exactly("2") == condition_failed(Change(kb("2")))
    assert exactly("2") == condition_failed(Change(kb("2"), kb("2")))
    assert Units(Decimal(2), Decimal(1), Decimal(2)) == condition_failed(Change(kb("2"), kb("1")))
