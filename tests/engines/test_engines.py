"""The engines behave as the suite relies on, seen through plain boto3: an upgrade that loses this is noticed here."""

from __future__ import annotations

import contextlib
import os
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tests.conftest import MakeTable
from tests.engines import launch
from tests.engines.launch import Engine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import BatchGetItemOutputTypeDef

LARGE_ITEMS = 60
LARGE_ITEM_BYTES = 390_000

# What fits into one answer: DynamoDB stops at 16 MB, which moto does too; dynalite stops far earlier.
FITS = {"dynalite": {3}, "moto": {42, 43}}


def write(client: DynamoDBClient, table: str, items: list[dict[str, Any]], per_request: int = 25) -> None:
    for start in range(0, len(items), per_request):
        chunk = items[start : start + per_request]
        answer = client.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": item}} for item in chunk]})
        assert {} == answer["UnprocessedItems"]


def large_table(client: DynamoDBClient, make_table: MakeTable) -> str:
    table = make_table(client)
    body = "x" * LARGE_ITEM_BYTES
    items = [{"pk": {"S": f"k{n:02d}"}, "body": {"S": body}, "secret": {"S": "s"}} for n in range(LARGE_ITEMS)]
    write(client, table, items, per_request=10)
    return table


def read(client: DynamoDBClient, table: str, keys: list[str], **options: Any) -> BatchGetItemOutputTypeDef:
    request: Any = {"Keys": [{"pk": {"S": key}} for key in keys], **options}
    return client.batch_get_item(RequestItems={table: request}, ReturnConsumedCapacity="TOTAL")


def keys_of(rows: list[Any]) -> Counter[str]:
    return Counter(row["pk"]["S"] for row in rows)


@pytest.fixture
def client(engine: Engine) -> DynamoDBClient:
    return engine.client()


def test_an_answer_full_of_large_items_leaves_keys_unprocessed(
    engine: Engine, client: DynamoDBClient, make_table: MakeTable
) -> None:
    table = large_table(client, make_table)
    asked = [f"k{n:02d}" for n in range(LARGE_ITEMS)]

    answer = read(client, table, asked)

    rows, leftovers = answer["Responses"][table], answer["UnprocessedKeys"][table]["Keys"]
    assert Counter(asked) == keys_of(rows) + keys_of(leftovers)
    assert len(rows) in FITS[engine.name]


def test_leftovers_forget_the_projection_that_was_asked_for(
    engine: Engine, client: DynamoDBClient, make_table: MakeTable
) -> None:
    table = large_table(client, make_table)
    settings = {"ProjectionExpression": "pk, body", "ConsistentRead": True}

    answer = read(client, table, [f"k{n:02d}" for n in range(LARGE_ITEMS)], **settings)

    assert all({"pk", "body"} == set(row) for row in answer["Responses"][table])
    kept = {"dynalite": {"Keys", "ConsistentRead"}, "moto": {"Keys"}}
    assert kept[engine.name] == set(answer["UnprocessedKeys"][table])


def test_a_key_that_is_not_there_is_simply_left_out(client: DynamoDBClient, make_table: MakeTable) -> None:
    table = make_table(client)
    write(client, table, [{"pk": {"S": "a"}}])

    answer = read(client, table, ["a", "absent"])

    assert Counter(["a"]) == keys_of(answer["Responses"][table])
    assert {} == answer["UnprocessedKeys"]


def test_the_same_key_twice_is_refused(client: DynamoDBClient, make_table: MakeTable) -> None:
    table = make_table(client)

    with pytest.raises(ClientError, match="Provided list of item keys contains duplicates"):
        read(client, table, ["a", "a"])


def test_more_than_a_hundred_keys_are_refused(client: DynamoDBClient, make_table: MakeTable) -> None:
    table = make_table(client)

    with pytest.raises(ClientError) as refusal:
        read(client, table, [f"k{n}" for n in range(101)])

    assert "ValidationException" == refusal.value.response["Error"]["Code"]


def test_a_table_with_a_sort_key_tells_its_schema(client: DynamoDBClient, make_table: MakeTable) -> None:
    table = make_table(client, key=[("customer", "S"), ("placed", "N")])

    description = client.describe_table(TableName=table)["Table"]

    assert [("customer", "HASH"), ("placed", "RANGE")] == [
        (part["AttributeName"], part["KeyType"]) for part in description["KeySchema"]
    ]


def test_dynalite_answers_in_another_order_than_it_was_asked(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(client)
    asked = [f"k{n:02d}" for n in range(40)]
    write(client, table, [{"pk": {"S": key}} for key in asked])

    rows = read(client, table, asked)["Responses"][table]

    assert Counter(asked) == keys_of(rows)
    assert asked != [row["pk"]["S"] for row in rows]


@pytest.mark.parametrize(("consistent", "units"), [(False, 3.0), (True, 6.0)])
def test_dynalite_charges_an_absent_key_as_dynamodb_does(
    dynalite: Engine, make_table: MakeTable, consistent: bool, units: float
) -> None:
    client = dynalite.client()
    table = make_table(client)
    write(client, table, [{"pk": {"S": f"k{n}"}} for n in range(5)])

    answer = read(client, table, [*(f"k{n}" for n in range(5)), "absent"], ConsistentRead=consistent)

    assert units == answer["ConsumedCapacity"][0]["CapacityUnits"]


def test_moto_capacity_is_the_number_of_keys_and_proves_nothing(moto: Engine, make_table: MakeTable) -> None:
    client = moto.client()
    table = make_table(client)

    answer = read(client, table, ["a", "b", "c"])

    assert 3.0 == answer["ConsumedCapacity"][0]["CapacityUnits"]


@pytest.mark.parametrize("start", [launch.dynalite, launch.moto], ids=["dynalite", "moto"])
def test_an_engine_that_was_ended_leaves_neither_process_nor_port(start: Any, request: pytest.FixtureRequest) -> None:
    if start is launch.dynalite:
        request.getfixturevalue("dynalite")
    with start() as engine:
        client = engine.client()
        assert [] == client.list_tables()["TableNames"]
        os.killpg(engine.process_group, 0)

    with pytest.raises(ProcessLookupError):
        os.killpg(engine.process_group, 0)
    with pytest.raises(EndpointConnectionError):
        engine.client().list_tables()


def test_an_engine_listens_on_loopback_only(engine: Engine) -> None:
    address = urlsplit(engine.endpoint_url)
    assert "127.0.0.1" == address.hostname
    with contextlib.closing(socket.socket()) as other, pytest.raises(ConnectionRefusedError):
        # Another address of the loopback range: it answers where a server listens on all addresses.
        other.connect(("127.0.0.2", address.port))


@pytest.mark.aio
@pytest.mark.asyncio
async def test_aiobotocore_reads_the_same_leftovers(engine: Engine, make_table: MakeTable) -> None:
    from aiobotocore.session import get_session

    table = large_table(engine.client(), make_table)
    async with get_session().create_client(
        "dynamodb", endpoint_url=engine.endpoint_url, region_name=launch.REGION
    ) as client:
        keys: list[Any] = [{"pk": {"S": f"k{n:02d}"}} for n in range(LARGE_ITEMS)]
        answer = await client.batch_get_item(RequestItems={table: {"Keys": keys}})

    assert len(answer["Responses"][table]) in FITS[engine.name]
    assert LARGE_ITEMS == len(answer["Responses"][table]) + len(answer["UnprocessedKeys"][table]["Keys"])
