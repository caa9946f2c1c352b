"""Other designs for the same answer, each with its numbers, and all of a request's cost together."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from itemledger.apis.item_size import item_size
from itemledger.core.answer import EvidenceLabel
from itemledger.errors import ManifestError
from itemledger.tables.alternatives import Alternative, Design, alternatives
from itemledger.tables.capacity import Consistency
from itemledger.tables.comparison import Work, compare
from itemledger.tables.cost import Cost
from itemledger.tables.index_entry import Projected
from itemledger.tables.pages_cost import pages_read
from itemledger.tables.prices import UnitPrice
from itemledger.tables.units import Units
from itemledger.tables.waste import Waste, filter_finding
from tests.tables.samples import TypedItem, large_orders, sizes_of

ORDERS = large_orders()
OPEN = [order["step"]["S"] == "open" for order in ORDERS]


def designs(items: list[TypedItem] = ORDERS, **given: Any) -> dict[Design, Alternative]:
    found = alternatives(
        items, OPEN, **{"filtered_by": ("step",), "table_key": ("pk", "sk"), "size_of": item_size, **given}
    )
    return {each.design: each for each in found}


def exactly(units: str) -> Units:
    return Units.exactly(Decimal(units))


def test_a_key_condition_reads_the_wanted_items_and_stores_nothing() -> None:
    found = designs()[Design.KEY_CONDITION]
    assert (exactly("1.5"), 0, 0) == (found.read, found.stored.size_bytes, found.kept)
    assert exactly("3") == designs(consistency=Consistency.STRONG)[Design.KEY_CONDITION].read


def test_a_sparse_index_keeps_the_wanted_items_and_a_full_one_all_of_them() -> None:
    found = designs()
    sparse, full = found[Design.SPARSE_INDEX], found[Design.PROJECTED_INDEX]
    assert (10, 10 * (1_042 + 100)) == (sparse.kept, sparse.stored.size_bytes)
    assert (1_000, 1_000 * (1_042 + 100)) == (full.kept, full.stored.size_bytes)
    assert exactly("1.5") == sparse.read == full.read
    assert exactly("2") == sparse.entry_write == full.entry_write  # 1,042 bytes are two blocks of 1 KB


def test_the_projection_is_the_smallest_that_has_what_is_needed() -> None:
    for needs, projected, read in [
        (None, Projected.ALL, "1.5"),
        (("pk", "step"), Projected.KEYS_ONLY, "0.5"),
        (("pk", "pad"), Projected.INCLUDE, "1.5"),
    ]:
        found = designs(needs=needs)[Design.SPARSE_INDEX]
        assert found.index is not None
        assert (projected, exactly(read)) == (found.index.projected, found.read)


def test_the_cheapest_to_read_comes_first_and_of_equals_the_one_that_stores_least() -> None:
    assert [Design.KEY_CONDITION, Design.SPARSE_INDEX, Design.PROJECTED_INDEX] == list(designs())
    assert [Design.SPARSE_INDEX, Design.PROJECTED_INDEX, Design.KEY_CONDITION] == list(designs(needs=("pk",)))


@pytest.mark.parametrize("step", [None, {"BOOL": True}, {"SS": ["open"]}])
def test_there_is_no_index_that_a_wanted_item_could_not_be_in(step: Any) -> None:
    items = [dict(order) for order in ORDERS]
    del items[3]["step"]
    if step is not None:
        items[3]["step"] = step
    assert [Design.KEY_CONDITION] == list(designs(items))


def test_items_that_are_not_wanted_may_lack_the_index_key() -> None:
    items = [dict(order) for order in ORDERS]
    del items[500]["step"]
    assert 999 == designs(items)[Design.PROJECTED_INDEX].kept


def test_every_item_is_wanted_or_not() -> None:
    with pytest.raises(ManifestError, match="1,000 items are examined and 999"):
        alternatives(ORDERS, OPEN[1:], filtered_by=("step",), table_key=("pk", "sk"), size_of=item_size)
    with pytest.raises(ManifestError, match="filtered_by must name"):
        designs(filtered_by=())


# ------------------------------------------------------------------------------------------------- all of it together

PRICE = UnitPrice(Decimal("0.25"))


def cost(reported: float | None, label: EvidenceLabel, **given: Any) -> Cost:
    predicted = pages_read(sizes_of(ORDERS), Consistency.EVENTUAL).units
    comparison = compare("the query", predicted, reported, Work(2, 1_000), label=label, reporter="moto")
    waste = Waste(1_000, 10, None if reported is None else Decimal(reported))
    return Cost(waste, comparison, **given)


def test_a_cost_says_what_was_examined_wasted_and_charged_and_what_would_do_instead() -> None:
    found = cost(2.0, EvidenceLabel.SYNTHETIC, unit_price=PRICE, alternatives=tuple(designs(needs=("pk",)).values()))
    assert [
        "examined : returned : consumed = 1,000 : 10 : 2",
        "990 of 1,000 items were read, charged and discarded: 100 read for each one returned",
        "the query: predicted 127.5, reported 2: it counts calls, whatever they read or wrote; moto does not model "
        "capacity, and its figure is not believed",
        "a million such calls: 31.875",
        "instead: a sparse index, whose key only these items have, KEYS_ONLY: 0.5 units, eventual; 10 entries, 1,310 "
        "bytes in all with overhead; writing one, or removing it, takes 1; a million calls: 0.125",
        "instead: a global index keyed by what the filter compares, KEYS_ONLY: 0.5 units, eventual; 1,000 entries, "
        "131,000 bytes in all with overhead; writing one, or removing it, takes 1; a million calls: 0.125",
        "instead: a key condition that finds just these items: 1.5 units, and nothing more to store; a million calls: "
        "0.375",
    ] == found.lines()


def test_the_price_goes_by_what_aws_reports_and_by_the_prediction_elsewhere() -> None:
    observed = cost(128.5, EvidenceLabel.OBSERVED, unit_price=PRICE)
    assert "32.125" == str(observed.per_million_calls)
    for reported in (128.5, None):
        assert "31.875" == str(cost(reported, EvidenceLabel.SYNTHETIC, unit_price=PRICE).per_million_calls)


def test_without_a_price_or_units_there_is_no_price() -> None:
    assert cost(127.5, EvidenceLabel.SYNTHETIC).per_million_calls is None
    unknown = Cost(Waste(None, 3, None), compare("a scan", None, None, Work()), unit_price=PRICE)
    assert unknown.per_million_calls is None
    assert [
        "examined : returned : consumed = unknown : 3 : unknown",
        "how many items were examined is unknown, and so is what was read for nothing",
        "a scan: predicted unknown, reported unknown",
    ] == unknown.lines()


def test_the_trap_of_a_filter_behind_a_limit_is_one_of_the_lines() -> None:
    finding = filter_finding(zip(sizes_of(ORDERS), reversed(OPEN), strict=True), 50, Consistency.EVENTUAL)
    assert finding is not None
    assert 19 == finding.pages
    assert str(finding) in cost(None, EvidenceLabel.SYNTHETIC, finding=finding).lines()
