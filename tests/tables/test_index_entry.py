"""What an index keeps, and its writes: each case of the developer guide's list."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from itemledger.apis.item_size import item_size
from itemledger.errors import ManifestError
from itemledger.tables.index_entry import Index, Projected, entry_written, write_cost
from itemledger.tables.units import Units

BY_OWNER = Index("by_owner", ("owner", "due"), ("pk",), Projected.INCLUDE, ("title",))


def task(**attributes: Any) -> dict[str, dict[str, Any]]:
    return {"pk": {"S": "a"}, **attributes}


OWNED = task(owner={"S": "ann"}, due={"S": "2026"}, title={"S": "x"}, text={"S": "y" * 3_000})


def exactly(units: int) -> Units:
    return Units.exactly(Decimal(units))


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (Index("i", ("owner",), ("pk",), Projected.KEYS_ONLY), ["pk", "owner"]),
        (BY_OWNER, ["pk", "owner", "due", "title"]),
        (Index("i", ("owner",), ("pk",)), ["pk", "owner", "due", "title", "text"]),
    ],
)
def test_an_entry_has_both_keys_and_what_is_projected(index: Index, names: list[str]) -> None:
    entry = index.entry_of(OWNED)
    assert entry is not None
    assert names == list(entry)


@pytest.mark.parametrize("item", [None, task(), task(owner={"S": "ann"}), task(due={"S": "2026"})])
def test_an_item_without_the_whole_index_key_has_no_entry(item: Any) -> None:
    assert BY_OWNER.entry_of(item) is None


def test_an_index_of_four_and_four_key_attributes_needs_all_of_them() -> None:
    key = tuple("abcdefgh")
    index = Index("many", key, ("pk",), Projected.KEYS_ONLY)
    whole = task(**{name: {"S": "v"} for name in key})
    assert index.entry_of(whole) is not None
    assert index.entry_of({name: value for name, value in whole.items() if name != "h"}) is None


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, OWNED, 1),  # a new item that has the indexed attribute
        (task(), OWNED, 1),  # an item that is given it
        (OWNED, {**OWNED, "owner": {"S": "bob"}}, 2),  # its key changes: one to delete, one to put
        (OWNED, {**OWNED, "due": {"S": "2027"}}, 2),
        (OWNED, task(), 1),  # the attribute is removed
        (OWNED, None, 1),
        (None, task(), 0),  # in the index neither before nor after
        (task(), task(text={"S": "z"}), 0),
        (OWNED, {**OWNED, "title": {"S": "z"}}, 1),  # only a projected attribute changes
        (OWNED, {**OWNED, "text": {"S": "z"}}, 0),  # only one that is not projected
        (OWNED, OWNED, 0),
    ],
)
def test_writes_to_an_index_follow_the_developer_guides_list(before: Any, after: Any, units: int) -> None:
    assert exactly(units) == entry_written(BY_OWNER, before, after, item_size)


def test_large_entries_take_more_units_each_time() -> None:
    everything = Index("all", ("owner",), ("pk",))
    assert exactly(3) == entry_written(everything, None, OWNED, item_size)
    assert exactly(6) == entry_written(everything, OWNED, {**OWNED, "owner": {"S": "bob"}}, item_size)
    assert exactly(3) == entry_written(everything, OWNED, {**OWNED, "text": {"S": "z"}}, item_size)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "1"}, {"N": "1.0"}),
        ({"N": "100"}, {"N": "1e2"}),
        ({"NS": ["1", "20"]}, {"NS": ["2e1", "1.0"]}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"L": [{"N": "1"}]}, {"L": [{"N": "1.0"}]}),
        ({"M": {"N": {"N": "1"}}}, {"M": {"N": {"N": "1.0"}}}),
    ],
)
def test_another_spelling_of_the_same_value_is_no_change(one: Any, other: Any) -> None:
    before, after = {**OWNED, "title": one}, {**OWNED, "title": other}
    assert exactly(0) == entry_written(BY_OWNER, before, after, item_size)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"SS": ["1"]}, {"NS": ["1"]}),
        ({"N": "1"}, {"N": "1.1"}),
    ],
)
def test_another_value_is_a_change(one: Any, other: Any) -> None:
    before, after = {**OWNED, "title": one}, {**OWNED, "title": other}
    assert exactly(1) == entry_written(BY_OWNER, before, after, item_size).times(1)


def test_a_write_costs_the_table_and_each_index_its_part() -> None:
    indexes = [BY_OWNER, Index("all", ("owner",), ("pk",)), Index("other", ("missing",), ("pk",))]
    cost = write_cost(None, OWNED, indexes, item_size)
    assert exactly(3) == cost.table
    assert {"by_owner": exactly(1), "all": exactly(3), "other": exactly(0)} == cost.indexes
    assert exactly(7) == cost.units


def test_a_transaction_doubles_the_tables_part_and_perhaps_the_indexes() -> None:
    cost = write_cost(None, OWNED, [BY_OWNER], item_size, transactional=True)
    assert exactly(6) == cost.table
    assert Units(Decimal(1), Decimal(1), Decimal(2)) == cost.indexes["by_owner"]


@pytest.mark.parametrize(
    ("projected", "include"), [(Projected.INCLUDE, ()), (Projected.ALL, ("a",)), (Projected.KEYS_ONLY, ("a",))]
)
def test_names_go_with_include_alone(projected: Projected, include: tuple[str, ...]) -> None:
    with pytest.raises(ManifestError, match="index i: include= names"):
        Index("i", ("a",), ("pk",), projected, include)


def test_an_index_has_a_key() -> None:
    with pytest.raises(ManifestError, match="needs the attributes of its key"):
        Index("i", (), ("pk",))
