"""KEYS_ONLY, INCLUDE and ALL for one access pattern: what each costs, and which one to take."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from itemledger.apis.item_size import item_size
from itemledger.errors import ManifestError
from itemledger.tables.index_entry import Projected
from itemledger.tables.index_sizes import reported_sizes
from itemledger.tables.prices import UnitPrice
from itemledger.tables.projections import AccessPattern, ProjectionCost, Projections, projections_for
from itemledger.tables.recommendation import recommend
from itemledger.tables.units import Size, Units

KEY, TABLE_KEY = ("state", "due"), ("id",)


def tasks() -> list[dict[str, dict[str, Any]]]:
    """40 tasks, of which half are in the index; those have 2,029 bytes, 32 of them in keys."""
    made: list[dict[str, dict[str, Any]]] = []
    for number in range(40):
        item: dict[str, dict[str, Any]] = {
            "id": {"S": f"task-{number:03}"},
            "due": {"S": "2026-12-01"},
            "title": {"S": "t" * 50},
            "text": {"S": "x" * 1_938},
        }
        made.append({**item, "state": {"S": "open"}} if number % 2 else item)
    return made


def pattern(**given: Any) -> AccessPattern:
    return AccessPattern(**{"needs": ("title",), "entries_per_read": 100, **given})


def projections(**given: Any) -> Projections:
    return projections_for(pattern(**given), tasks(), KEY, TABLE_KEY, item_size)


def by_kind(found: Projections) -> dict[Projected, ProjectionCost]:
    return {cost.index.projected: cost for cost in found.costs}


def exactly(units: str) -> Units:
    return Units.exactly(Decimal(units))


def test_bytes_of_an_entry_are_its_keys_what_is_projected_and_a_hundred_more() -> None:
    found = by_kind(projections())
    keys = len("idtask-000due2026-12-01stateopen")
    assert keys + 100 == found[Projected.KEYS_ONLY].bytes_per_entry
    assert keys + len("title") + 50 + 100 == found[Projected.INCLUDE].bytes_per_entry
    assert keys + len("title") + 50 + len("text") + 1_938 + 100 == found[Projected.ALL].bytes_per_entry
    assert {20} == {cost.entries for cost in found.values()}
    assert Size(20 * (keys + 100)) == found[Projected.KEYS_ONLY].stored


def test_a_read_is_the_index_page_and_a_second_read_where_the_index_lacks_something() -> None:
    found = by_kind(projections())
    keys_only, include, everything = (found[kind] for kind in Projected)
    assert [False, True, True] == [keys_only.covers, include.covers, everything.covers]
    # 100 entries of 32, of 87 and of 2,029 bytes; 100 items of 2,029 bytes one by one
    assert [exactly("0.5"), exactly("1.5"), exactly("25")] == [
        keys_only.index_read,
        include.index_read,
        everything.index_read,
    ]
    assert [exactly("50"), exactly("0"), exactly("0")] == [
        keys_only.second_read,
        include.second_read,
        everything.second_read,
    ]
    assert exactly("50.5") == keys_only.read


@pytest.mark.parametrize(
    ("changes", "keys_only", "include", "everything"),
    [
        ((), "0", "0", "0"),
        (("text",), "0", "0", "2"),
        (("title",), "0", "1", "2"),
        (("due",), "2", "2", "4"),
        (("state", "text"), "2", "2", "4"),
    ],
)
def test_an_update_writes_to_the_index_only_what_the_index_has(
    changes: tuple[str, ...], keys_only: str, include: str, everything: str
) -> None:
    found = by_kind(projections(changes=changes))
    assert [exactly(keys_only), exactly(include), exactly(everything)] == [found[kind].update for kind in Projected]


def test_needs_that_the_keys_have_leave_nothing_to_include() -> None:
    found = projections(needs=("due", "id"))
    assert [Projected.KEYS_ONLY, Projected.ALL] == [cost.index.projected for cost in found.costs]
    assert all(cost.covers for cost in found.costs)


def test_whoever_needs_everything_is_served_by_all_alone() -> None:
    found = by_kind(projections(needs=None))
    assert [Projected.KEYS_ONLY, Projected.ALL] == list(found)
    assert (False, True) == (found[Projected.KEYS_ONLY].covers, found[Projected.ALL].covers)


def test_more_attributes_than_an_index_may_include_are_not_proposed() -> None:
    assert Projected.INCLUDE in by_kind(projections(needs=tuple(f"a{n}" for n in range(100))))
    assert Projected.INCLUDE not in by_kind(projections(needs=tuple(f"a{n}" for n in range(101))))


def test_a_sample_without_one_entry_is_refused() -> None:
    with pytest.raises(ManifestError, match="none of the 40 items of the sample has the index's key missing"):
        projections_for(pattern(), tasks(), ("missing",), TABLE_KEY, item_size)


@pytest.mark.parametrize("bad", [{"entries_per_read": 0}, {"reads": Decimal(-1)}, {"updates": 1.5}])
def test_a_pattern_has_sensible_numbers(bad: dict[str, Any]) -> None:
    with pytest.raises(ManifestError, match=next(iter(bad))):
        pattern(**bad)


def test_sums_are_for_the_patterns_span_of_time() -> None:
    found = projections(reads=Decimal(10), updates=Decimal(3), changes=("title",))
    include = by_kind(found)[Projected.INCLUDE]
    assert (exactly("15"), exactly("3")) == (found.reads_of(include), found.writes_of(include))


# -------------------------------------------------------------------------------------------------- recommendations


def test_without_updates_that_touch_it_a_covering_index_is_recommended() -> None:
    chosen = recommend(projections(changes=("text",), updates=Decimal(100)))
    assert chosen.cost is not None
    assert Projected.INCLUDE is chosen.cost.index.projected
    assert "INCLUDE (title) takes no more than any other: the index alone has what is needed" == chosen.reason


def test_without_reads_the_smallest_is_recommended() -> None:
    chosen = recommend(projections(reads=Decimal(0), changes=("title",), updates=Decimal(100)))
    assert chosen.cost is not None
    assert Projected.KEYS_ONLY is chosen.cost.index.projected


def test_among_equals_the_one_that_stores_least_is_recommended() -> None:
    chosen = recommend(projections(needs=("due",), entries_per_read=1))
    assert chosen.cost is not None
    assert Projected.KEYS_ONLY is chosen.cost.index.projected


def test_where_it_depends_on_prices_the_reason_says_on_which() -> None:
    found = projections(changes=("title",), updates=Decimal(100))
    chosen = recommend(found)
    assert chosen.cost is None
    assert (
        "it depends on prices: INCLUDE (title) saves 49 read units and adds 100 write units to KEYS_ONLY, so it is "
        "cheaper while a write unit costs less than 0.49 read units" == chosen.reason
    )
    # and so it is, on either side of that relation
    for write, kind in ((Decimal("0.48"), Projected.INCLUDE), (Decimal("0.50"), Projected.KEYS_ONLY)):
        priced = recommend(found, UnitPrice(Decimal(1)), UnitPrice(write))
        assert priced.cost is not None
        assert kind is priced.cost.index.projected


def test_with_prices_the_reason_compares_all_of_them() -> None:
    chosen = recommend(
        projections(changes=("title",), updates=Decimal(100)), UnitPrice(Decimal("0.25")), UnitPrice(Decimal("1.25"))
    )
    assert (
        "KEYS_ONLY is the cheapest (KEYS_ONLY 0.000012625, INCLUDE (title) 0.000125375, ALL 0.00025625): a second read "
        "of 50 units costs no more than keeping copies in the index up to date" == chosen.reason
    )


# ------------------------------------------------------------------------------------------- a live table's own figures

DESCRIBED = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "ItemCount": 40,
    "TableSizeBytes": 80_980,
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_state",
            "KeySchema": [{"AttributeName": "state"}, {"AttributeName": "due"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
            "ItemCount": 20,
            "IndexSizeBytes": 1_740,
        },
        {
            "IndexName": "coming",
            "KeySchema": [{"AttributeName": "title"}],
            "Projection": {"ProjectionType": "ALL"},
            "IndexStatus": "CREATING",
        },
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "id"}, {"AttributeName": "due"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
            "ItemCount": 0,
            "IndexSizeBytes": 0,
        }
    ],
}


def test_a_live_table_tells_its_indexes_with_their_keys_and_projections() -> None:
    table, by_state, coming, local = reported_sizes(DESCRIBED)
    assert (None, 40, 80_980) == (table.index, table.items, table.size_bytes)
    assert by_state.index is not None
    assert (KEY, TABLE_KEY, ("title",)) == (by_state.index.key, by_state.index.table_key, by_state.index.include)
    assert 87.0 == by_state.bytes_per_item
    assert (None, None, None) == (coming.items, coming.size_bytes, coming.bytes_per_item)
    assert (0, None) == (local.items, local.bytes_per_item)
    assert 1 == len(reported_sizes({"KeySchema": []}))


def test_reported_sizes_stand_beside_the_arithmetic_as_the_estimates_they_are() -> None:
    include = by_kind(projections())[Projected.INCLUDE]
    _, by_state, coming, local = reported_sizes(DESCRIBED)
    assert (
        "computed 87 bytes an entry, 187 as stored; reported 87: 1,740 bytes in 20 entries, an estimate made about "
        "every six hours" == by_state.beside(include)
    )
    assert "computed 87 bytes an entry, 187 as stored; reported: unknown" == coming.beside(include)
    assert "no entries as of the last estimate" in local.beside(include)
