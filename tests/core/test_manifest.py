"""The manifest: unique by value, fixed before the first call, one slot for each key of each table."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest

from itemledger.core.manifest import Manifest, ManifestBuilder, table_of_arn
from itemledger.errors import ManifestError
from tests.core.support import settings

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/T"


def built(*tables: tuple[Any, Iterable[object]], fold: bool = False) -> Manifest:
    builder = ManifestBuilder(fold_duplicates=fold)
    for table, keys in tables:
        builder.add(table, keys)
    return builder.build()


def refused(*tables: tuple[Any, Iterable[object]], fold: bool = False) -> ManifestError:
    with pytest.raises(ManifestError) as caught:
        built(*tables, fold=fold)
    return caught.value


def test_keys_have_slots_in_the_caller_s_order_table_after_table() -> None:
    manifest = built((settings("T1"), ["B", "A"]), (settings("T2"), [2, 1]))
    assert ["B", "A", Decimal(2), Decimal(1)] == [*manifest.keys]
    assert [0, 0, 1, 1] == [*manifest.table_of]
    assert [range(2), range(2, 4)] == [part.slots for part in manifest.parts]
    assert [None, None, 0, 1] == [manifest.parts[1].index_of(slot) for slot in range(4)]


def test_an_empty_manifest_is_legal() -> None:
    manifest = built((settings(), []))
    assert ([], range(0)) == ([*manifest.keys], manifest.parts[0].slots)


def test_keys_are_taken_from_any_iterable_once() -> None:
    assert ["A", "B"] == [*built((settings(), iter("AB"))).keys]


@pytest.mark.parametrize("keys", ["AB", b"AB", {"pk": "A"}], ids=["str", "bytes", "mapping"])
def test_a_single_key_is_no_list_of_keys(keys: Any) -> None:
    assert "give a list of keys" in str(refused((settings(), keys)))


@pytest.mark.parametrize(
    ("keys", "positions"),
    [
        (["A", "B", "A"], (0, 2)),
        ([1, Decimal("1.0")], (0, 1)),
        ([5, 10, Decimal("1E1")], (1, 2)),
        ([b"x", bytearray(b"x")], (0, 1)),
        ([0, Decimal("-0")], (0, 1)),
        (["A", {"pk": "A"}], (0, 1)),
        (["A", {"pk": {"S": "A"}}], (0, 1)),
    ],
    ids=repr,
)
def test_a_duplicate_by_value_is_refused_with_both_positions(keys: list[object], positions: tuple[int, int]) -> None:
    error = refused((settings(), keys))
    assert positions == error.positions
    assert f"positions {positions[0]} and {positions[1]}" in str(error)


def test_the_first_key_fixes_the_type_where_it_is_not_given() -> None:
    error = refused((settings(), ["1", 1]))
    assert (1,) == error.positions
    assert "has type N, but the key needs S" in str(error)


@pytest.mark.parametrize("names", [("pk", "sk"), {"pk": "S", "sk": "N"}], ids=str)
def test_composite_keys_are_equal_only_in_both_parts(names: Any) -> None:
    keys = [("A", 1), ("A", 2), ("B", 1)]
    assert keys == [*built((settings(key=names), keys)).keys]
    assert (0, 3) == refused((settings(key=names), [*keys, {"sk": Decimal("1.0"), "pk": "A"}])).positions


def test_equal_keys_of_two_tables_are_two_keys() -> None:
    assert 2 == len(built((settings("T1"), ["A"]), (settings("T2"), ["A"])).keys)


def test_one_table_read_twice_shares_its_keys_slots_and_refuses_what_was_asked_before() -> None:
    error = refused((settings(), ["A", "B"]), (settings(), ["C", "B"]))
    assert (1,) == error.positions
    assert "already asked for by an earlier read" in str(error)
    manifest = built((settings(), ["A"]), (settings(), ["B"]))
    assert (1, [0, 0]) == (len(manifest.tables), [*manifest.table_of])


@pytest.mark.parametrize(
    "second",
    [settings(consistent_read=True), settings(projection=("n",)), settings(key="other")],
    ids=["consistency", "projection", "key"],
)
def test_one_table_cannot_be_read_in_two_ways_at_once(second: Any) -> None:
    assert "read them apart" in str(refused((settings(), ["A"]), (second, ["B"])))


def test_folded_duplicates_keep_every_position() -> None:
    (part,) = built((settings(), ["B", "A", "B", "C", "A"]), fold=True).parts
    assert part.input_positions is not None
    assert [0, 1, 0, 2, 1] == [*part.input_positions]
    assert [0, 1, 2, None] == [part.index_of(slot) for slot in range(4)]


def test_folding_without_duplicates_keeps_no_list_of_positions() -> None:
    (part,) = built((settings(), ["B", "A"]), fold=True).parts
    assert part.input_positions is None


def test_folding_reaches_over_two_reads_of_one_table() -> None:
    manifest = built((settings(), ["A", "B"]), (settings(), ["C", "B"]), fold=True)
    first, second = manifest.parts
    assert ["A", "B", "C"] == [*manifest.keys]
    assert ([0, 1], [2, 1]) == ([*first.slots], [*second.slots])


def test_a_name_and_an_arn_that_may_be_the_same_are_refused() -> None:
    for tables in ((settings("T"), settings(ARN)), (settings(ARN), settings("T"))):
        assert "may be one table" in str(refused((tables[0], ["A"]), (tables[1], ["B"])))
    assert 2 == len(built((settings("T"), ["A"]), (settings("T2"), ["B"])).tables)


def test_an_arn_told_by_describe_table_joins_both_spellings() -> None:
    builder = ManifestBuilder()
    builder.add(settings("T"), ["A"], arn=ARN)
    builder.add(settings(ARN), ["B"], arn=ARN)
    assert 1 == len(builder.build().tables)
    builder.add(settings(ARN.replace("123456789012", "999999999999")), ["A"])
    assert 2 == len(builder.build().tables)


def test_a_bare_name_is_its_own_table_name() -> None:
    assert ("T", "T", "a/b") == (table_of_arn(ARN), table_of_arn("T"), table_of_arn("a/b"))


@pytest.mark.parametrize(
    "keys",
    [["secret", "secret"], ["secret", 1], ["secret", 1.5], ["secret", ("secret", "x")], ["secret", {"k": "secret"}]],
    ids=["twice", "type", "float", "tuple", "mapping"],
)
def test_no_key_value_stands_in_a_refusal(keys: list[object]) -> None:
    assert "secret" not in str(refused((settings(), keys)))
