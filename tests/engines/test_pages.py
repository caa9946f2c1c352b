"""Query and Scan on engines that page, filter, index and split for real."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, Key

import itemledger as il
from itemledger.tables.page_result import PageStop
from tests.conftest import MakeTable
from tests.engines.launch import Engine
from tests.engines.tables import KeySchema

KEY: KeySchema = (("pk", "S"), ("n", "N"))


@pytest.fixture
def table(engine: Engine, make_table: MakeTable) -> str:
    """Three partitions of 40 items, one of ten of a kind."""
    name = make_table(engine, KEY)
    rows = [{"pk": f"p{n % 3}", "n": n, "kind": f"k{n % 10}", "pad": "x" * 50} for n in range(120)]
    fill(engine, name, rows)
    return name


def fill(engine: Engine, name: str, rows: list[dict[str, Any]]) -> None:
    with il.batch_writer(engine.client(), name, key={"pk": "S", "n": "N"}) as batch:
        for row in rows:
            batch.put_item(Item=row)


def test_a_query_in_small_pages_brings_each_item_once_in_order(engine: Engine, table: str) -> None:
    pages = il.query_pages(engine.client(), TableName=table, KeyConditionExpression=Key("pk").eq("p1"), Limit=7)
    numbers = [int(item["n"]) for item in pages.items()]
    result = pages.result
    assert [n for n in range(120) if n % 3 == 1] == numbers
    assert (40, 40, True) == (result.totals.examined, result.totals.returned, result.complete)


def test_the_first_matching_items_and_the_rest_after_them(engine: Engine, table: str) -> None:
    ask: dict[str, Any] = {
        "TableName": table,
        "KeyConditionExpression": Key("pk").eq("p0"),
        "FilterExpression": Attr("kind").eq("k0"),
    }
    first = il.query_pages(engine.client(), max_items=3, **ask)
    some = [int(item["n"]) for item in first.items()]
    rest = il.query_pages(engine.client(), ExclusiveStartKey=first.result.last_key, **ask)
    assert ([0, 30, 60], PageStop.MAX_ITEMS) == (some, first.result.stop_reason)
    assert [90] == [int(item["n"]) for item in rest.items()]


def test_what_is_only_counted_is_counted_over_all_pages(engine: Engine, table: str) -> None:
    pages = il.scan_pages(engine.client(), TableName=table, Select="COUNT", Limit=50, FilterExpression=Attr("n").lt(10))
    assert [()] * 3 == [page.items for page in pages]
    assert (120, 10) == (pages.result.totals.examined, pages.result.totals.returned)


def test_a_filter_with_a_limit_is_told_of_where_pages_come_back_empty(engine: Engine, table: str) -> None:
    pages = il.scan_pages(engine.client(), TableName=table, FilterExpression=Attr("kind").eq("none"), Limit=50)
    assert 0 == len(list(pages.items()))
    assert "page 1 read 50 items, returned 0, and there is more to come" in str(pages.result.finding)


@pytest.mark.parametrize("segments", [1, 5])
def test_all_segments_together_are_the_table(engine: Engine, table: str, segments: int) -> None:
    pages = il.scan_pages(engine.client(), TableName=table, segments=segments, Limit=9)
    seen = Counter((str(item["pk"]), int(item["n"])) for item in pages.items())
    assert {(f"p{n % 3}", n): 1 for n in range(120)} == dict(seen)
    assert segments == len(pages.result.segments)
    assert pages.result.complete


def test_an_index_of_keys_only_pages_by_the_services_own_key(moto: Engine) -> None:
    """FC-26."""
    client, name = moto.client(), "by-kind-orders"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
            {"AttributeName": "kind", "AttributeType": "S"},
        ],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-kind",
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    try:
        fill(moto, name, [{"pk": "p", "n": n, "kind": "k", "pad": "x"} for n in range(20)])
        ask: dict[str, Any] = {
            "TableName": name,
            "IndexName": "by-kind",
            "KeyConditionExpression": Key("kind").eq("k"),
            "Limit": 6,
        }
        pages = il.query_pages(client, **ask)
        one = next(pages)
        pages.close()
        assert {"pk", "n", "kind"} == set(one.last_key or {})
        after_three = one.key_after(2)
        rest = list(il.query_pages(client, ExclusiveStartKey=after_three, **ask).items())
        assert {item["n"] for item in one.items[3:]} < {item["n"] for item in rest}
        assert 17 == len(rest)
    finally:
        client.delete_table(TableName=name)


def test_pages_of_a_megabyte_end_by_themselves(engine: Engine, make_table: MakeTable) -> None:
    name = make_table(engine, KEY)
    fill(engine, name, [{"pk": "p", "n": n, "pad": "x" * 50_000} for n in range(45)])
    pages = il.query_pages(engine.client(), TableName=name, KeyConditionExpression=Key("pk").eq("p"))
    sizes = [page.returned for page in pages]
    assert 45 == sum(sizes)
    assert 3 <= len(sizes) <= 4
    assert all(19 <= size <= 21 for size in sizes[:2])


def test_a_table_that_is_not_there_is_said_and_nothing_is_taken_for_the_end(engine: Engine) -> None:
    with pytest.raises(il.IncompletePagesError, match="ResourceNotFoundException"):
        list(il.scan_pages(engine.client(), TableName="nowhere"))
