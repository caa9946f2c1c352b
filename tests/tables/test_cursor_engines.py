"""Pages of real engines, one request each as a web API reads them: every item exactly once through cursors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from itemledger.errors import CursorError
from itemledger.tables.cursor import Cursors
from itemledger.tables.cursor_query import QueryShape
from tests.engines.launch import Engine
from tests.engines.tables import delete_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Item = dict[str, dict[str, Any]]
FORMS = pytest.mark.parametrize("encrypt", [False, True], ids=["signed", "encrypted"])
_numbers = itertools.count(1)

#: Sort keys of 38 digits that differ in the last one only, and a partition key of bytes that are no text.
ITEMS: list[Item] = [
    {
        "pk": {"B": bytes([0, 255, number])},
        "customer": {"S": f"c-{number % 2}"},
        "placed_at": {"N": f"1234567890123456789012345678901234567{number % 10}"},
    }
    for number in range(14)
]


@pytest.fixture
def client(engine: Engine) -> DynamoDBClient:
    return engine.client()


@pytest.fixture
def table(client: DynamoDBClient) -> Iterator[str]:
    """``ITEMS`` under a binary key, with an index of customers by a number."""
    name = f"cursors-{next(_numbers):04d}"
    client.create_table(
        TableName=name,
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "B"},
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "placed_at", "AttributeType": "N"},
        ],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-customer",
                "KeySchema": [
                    {"AttributeName": "customer", "KeyType": "HASH"},
                    {"AttributeName": "placed_at", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    for item in ITEMS:
        client.put_item(TableName=name, Item=item)
    yield name
    delete_table(client, name)


def of_customer(table: str, **more: Any) -> dict[str, Any]:
    return {
        "TableName": table,
        "IndexName": "by-customer",
        "KeyConditionExpression": "customer = :c",
        "ExpressionAttributeValues": {":c": {"S": "c-1"}},
        **more,
    }


def page(
    client: DynamoDBClient, cursors: Cursors, request: dict[str, Any], cursor: str | None
) -> tuple[list[Item], str | None]:
    """What a handler of a web API does: open, read one page, seal."""
    query = QueryShape.of(request)
    start = cursors.open(cursor, query)
    read: Any = client.query if "KeyConditionExpression" in request else client.scan
    answer = read(**request, **({} if start is None else {"ExclusiveStartKey": start}))
    return answer["Items"], cursors.seal(query, answer.get("LastEvaluatedKey"))


def by_key(items: list[Item]) -> list[bytes]:
    return sorted(item["pk"]["B"] for item in items)


@FORMS
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "backward"])
def test_pages_of_an_index_of_38_digit_numbers_have_every_item_once(
    client: DynamoDBClient, table: str, encrypt: bool, forward: bool
) -> None:
    cursors = Cursors([b"k" * 32], encrypt=encrypt)
    found: list[Item] = []
    cursor: str | None = None
    for limit in itertools.count(1):  # another size for every page
        items, cursor = page(client, cursors, of_customer(table, ScanIndexForward=forward, Limit=limit), cursor)
        found += items
        if cursor is None:
            break
    wanted = [item for item in ITEMS if item["customer"]["S"] == "c-1"]
    assert by_key(wanted) == by_key(found)
    numbers = [int(item["placed_at"]["N"]) for item in found]
    assert sorted(numbers, reverse=not forward) == numbers


@FORMS
def test_pages_of_a_scan_of_binary_keys_have_every_item_once(client: DynamoDBClient, table: str, encrypt: bool) -> None:
    cursors = Cursors([b"k" * 32], encrypt=encrypt)
    items, cursor = page(client, cursors, {"TableName": table, "Limit": 4}, None)
    while cursor is not None:
        more, cursor = page(client, cursors, {"TableName": table, "Limit": 4}, cursor)
        items += more
    assert by_key(ITEMS) == by_key(items)


def test_fc_25_three_pages_forward_and_two_back_is_the_first_page_again(client: DynamoDBClient, table: str) -> None:
    """A cursor can be used again: who keeps the cursors of the pages behind him can go back."""
    cursors = Cursors([b"k" * 32])
    request = of_customer(table, Limit=2)
    read: list[list[Item]] = []
    starts: list[str | None] = [None]
    for _ in range(3):
        items, cursor = page(client, cursors, request, starts[-1])
        read.append(items)
        starts.append(cursor)
    assert read[0] == page(client, cursors, request, starts[0])[0]
    assert read[1] == page(client, cursors, request, starts[1])[0]


def test_t28_a_cursor_of_another_index_never_reaches_the_service(client: DynamoDBClient, table: str) -> None:
    cursors = Cursors([b"k" * 32])
    _, cursor = page(client, cursors, of_customer(table, Limit=2), None)
    for request in (
        {"TableName": table, "Limit": 2},
        of_customer(table, Limit=2, IndexName="by-customer-2"),
        of_customer(table, Limit=2, ExpressionAttributeValues={":c": {"S": "c-0"}}),
    ):
        with pytest.raises(CursorError):
            page(client, cursors, request, cursor)
