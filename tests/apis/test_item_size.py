"""Item sizes by the developer guide's rules, and charged alike by an engine that is not ours."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.apis.attribute_values import AttributeValueError
from itemledger.apis.item_size import (
    ITEM_LIMIT_BYTES,
    PARTITION_KEY_LIMIT_BYTES,
    SORT_KEY_LIMIT_BYTES,
    item_size,
)
from tests.conftest import MakeTable
from tests.engines.launch import Engine

UNIT_BYTES = 4096


def number(text: str) -> int:
    return item_size({"n": {"N": text}}) - 1


@pytest.mark.parametrize(
    ("av", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "é☃"}, 2 + 3),
        ({"S": "\U0001f600"}, 4),
        ({"B": b"\x00\xff"}, 2),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bé"]}, 1 + 3),
        ({"NS": ["0", "1"]}, 1 + 2),
        ({"BS": [b"a", b"bc"]}, 1 + 2),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"NULL": True}]}, 3 + (1 + 2) + (1 + 1)),
        ({"M": {}}, 3),
        ({"M": {"é": {"S": "ab"}}}, 3 + (1 + 2 + 2)),
        ({"M": {"l": {"L": [{"M": {"x": {"BOOL": True}}}]}}}, 3 + (1 + 1 + 3 + (1 + 3 + (1 + 1 + 1)))),
    ],
)
def test_each_type_has_its_size(av: dict[str, Any], size: int) -> None:
    assert size == item_size({"": av})


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 1),
        ("-0", 1),
        ("0.000", 1),
        ("1", 2),
        ("-1", 3),
        ("10", 2),
        ("12", 2),
        ("1.2", 3),
        ("123", 3),
        ("1234", 3),
        ("-1234", 4),
        ("12345", 4),
        ("0.0012", 2 + 0),
        ("0.00012", 3),
        ("9" * 38, 20),
        ("1" + "0" * 125, 2),
    ],
)
def test_a_number_takes_a_byte_for_two_digits_and_one_more(text: str, size: int) -> None:
    assert size == number(text)


@pytest.mark.parametrize("same", [("7", "007", "7.0", "+7", "70e-1"), ("1000", "1e3", "1E+3"), ("-1.5", "-1.50")])
def test_the_spelling_of_a_number_does_not_change_its_size(same: tuple[str, ...]) -> None:
    assert len({number(text) for text in same}) == 1


def test_names_count_by_their_utf8_bytes() -> None:
    assert 0 == item_size({})
    assert 2 + 1 + 1 + 3 == item_size({"é": {"S": "a"}, "b": {"S": "abc"}})


NUMBERS = ["0", "1", "-1", "12", "1.2", "123", "-1234", "0.0012", "0.00012", "12.34", "1" + "0" * 41, "9" * 38]


@pytest.mark.parametrize("text", NUMBERS)
def test_an_engine_charges_a_further_unit_where_the_size_says_so(
    dynalite: Engine, make_table: MakeTable, text: str
) -> None:
    """The number rule was read in dynalite's source, so this shows that it was read rightly, not that AWS has it."""
    client = dynalite.client()
    table = make_table(client)
    item: dict[str, Any] = {
        "pk": {"S": "k"},
        "n": {"N": text},
        "m": {"M": {"l": {"L": [{"NS": [text, "5"]}, {"BOOL": True}]}}},
        "pad": {"S": ""},
    }
    for size, units in [(UNIT_BYTES, 1.0), (UNIT_BYTES + 1, 2.0)]:
        item["pad"] = {"S": ""}
        item["pad"] = {"S": "x" * (size - item_size(item))}
        client.put_item(TableName=table, Item=item)
        answer = client.get_item(
            TableName=table, Key={"pk": {"S": "k"}}, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
        )
        assert units == answer["ConsumedCapacity"]["CapacityUnits"]


def test_an_engine_refuses_an_item_one_byte_over_the_limit(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(client)
    item: dict[str, Any] = {"pk": {"S": "k"}, "pad": {"S": ""}}
    item["pad"] = {"S": "x" * (ITEM_LIMIT_BYTES - item_size(item))}
    client.put_item(TableName=table, Item=item)
    item["pad"]["S"] += "x"
    with pytest.raises(client.exceptions.ClientError, match="Item size has exceeded the maximum allowed size"):
        client.put_item(TableName=table, Item=item)


def test_an_engine_refuses_keys_one_byte_over_the_limits(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(client, (("pk", "S"), ("sk", "B")))
    for partition, sort in [(PARTITION_KEY_LIMIT_BYTES, SORT_KEY_LIMIT_BYTES), (1, 1)]:
        client.put_item(TableName=table, Item={"pk": {"S": "x" * partition}, "sk": {"B": b"x" * sort}})
    for partition, sort in [(PARTITION_KEY_LIMIT_BYTES + 1, 1), (1, SORT_KEY_LIMIT_BYTES + 1)]:
        with pytest.raises(client.exceptions.ClientError, match=r"exceeded the (maximum )?size limit"):
            client.put_item(TableName=table, Item={"pk": {"S": "x" * partition}, "sk": {"B": b"x" * sort}})


@pytest.mark.parametrize(
    "av", [{}, {"Q": "x"}, {"S": 5}, {"N": "abc"}, {"N": "NaN"}, {"S": "x", "N": "1"}, {"L": 5}, 7]
)
def test_what_cannot_be_measured_is_refused_with_its_path(av: Any) -> None:
    with pytest.raises(AttributeValueError, match=r"^attribute a\.b "):
        item_size({"a": {"M": {"b": av}}})


def test_text_without_an_encoding_cannot_be_measured() -> None:
    with pytest.raises(AttributeValueError, match=r"^the value cannot be measured"):
        item_size({"a": {"S": "\ud800"}})
