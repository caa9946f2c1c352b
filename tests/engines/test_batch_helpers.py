"""The batch helpers and ``hydrate`` with real clients, on real engines and sockets, with faults on the wire."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ConnectionClosedError

import itemledger as il
from itemledger import batch_writing_async, hydrating_async, pages_async
from itemledger.apis import (
    BatchExecuteStatement,
    BatchWriteItem,
    Bulk,
    DeleteObjects,
    HttpRequest,
    PutRecords,
    SendMessageBatch,
)
from itemledger.batch_reading import batch_reader
from itemledger.batch_writing import batch_writer
from itemledger.batching import with_backoff
from itemledger.errors import IncompleteBatchError
from itemledger.http_sender import HttpSender
from itemledger.hydrating import HydratedPage, hydrate
from itemledger.ledger import Policy
from itemledger.pages import query_pages
from itemledger.tables.page import Page
from itemledger.testing import CutBody, FakeClock, FaultInjector, LeaveUnprocessed, ResetAfter, ResetBefore, Throttle
from tests.apis.search_server import SearchServer
from tests.conftest import MakeTable
from tests.drivers.both import every_thread_ends
from tests.drivers.scenarios import highest
from tests.engines.launch import REGION, Engine
from tests.local_http import Reply, Request, raw_server, serving

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

COUNT = 60
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with every_thread_ends():
        yield


def patient(clock: FakeClock) -> Any:
    return {"clock": clock, "sleep": clock.sleep, "jitter": highest}


def names(client: DynamoDBClient, table: str) -> list[str]:
    return sorted(item["pk"]["S"] for item in client.scan(TableName=table, ConsistentRead=True)["Items"])


# ----------------------------------------------------------------------------------------------------- batch writer

FAULTS = [
    pytest.param([], id="no fault"),
    pytest.param([LeaveUnprocessed(keep=20), LeaveUnprocessed(keep=3)], id="leftovers"),
    pytest.param([Throttle(), Throttle("ThrottlingException")], id="throttles"),
    pytest.param([CutBody(0.5)], id="an answer that is cut"),
    pytest.param(
        [ResetAfter(ConnectionClosedError), LeaveUnprocessed(keep=7)], id="a connection lost after the effect"
    ),
    pytest.param([ResetBefore()], id="no connection"),
]


@pytest.mark.parametrize("faults", FAULTS)
def test_a_block_of_puts_and_deletes_is_written_whole_whatever_the_wire_does(
    engine: Engine, make_table: MakeTable, faults: list[Any]
) -> None:
    table, clock = make_table(engine), FakeClock()
    client = engine.client(il.client_config())
    client.put_item(TableName=table, Item={"pk": {"S": "old"}})

    with FaultInjector(client, iter([*faults, *[None] * 50])):  # noqa: SIM117  # the block is the subject
        with batch_writer(client, table, key={"pk": "S"}, **patient(clock)) as batch:
            for number in range(COUNT):
                batch.put_item(Item={"pk": f"k{number:02d}", "n": number})
            batch.delete_item(Key={"pk": "old"})

    assert (COUNT + 1, True) == (batch.report.written, batch.report.complete)
    assert [f"k{number:02d}" for number in range(COUNT)] == names(client, table)


def test_a_client_as_boto3_makes_it_will_do(engine: Engine, make_table: MakeTable) -> None:
    table = make_table(engine, (("pk", "S"), ("sk", "N")))

    with batch_writer(engine.client(), table, overwrite_by_pkeys=["pk", "sk"]) as batch:
        for number in (1, 2, 2, 3):
            batch.put_item(Item={"pk": "A", "sk": number})

    assert (3, 1) == (batch.report.written, batch.report.replaced)


def test_a_missing_table_leaves_everything_over(engine: Engine) -> None:
    client = engine.client(il.client_config())

    with (
        pytest.raises(IncompleteBatchError, match="ResourceNotFoundException"),
        batch_writer(client, "nowhere", key={"pk": "S"}) as batch,
    ):
        batch.put_item(Item={"pk": "A"})

    assert ["A"] == [item.item["pk"] for item in batch.report.leftover]  # type: ignore[index]


def test_what_the_table_refuses_is_found_in_its_batch(engine: Engine, make_table: MakeTable) -> None:
    """The table has a sort key of which the caller's key says nothing, and one item has none."""
    table = make_table(engine, (("pk", "S"), ("sk", "S")))
    client = engine.client(il.client_config())
    items = [{"pk": f"k{number}", **({} if number == 4 else {"sk": "x"})} for number in range(9)]

    report = with_backoff(client, BatchWriteItem(table_name=table, key={"pk": "S"}), items)

    assert (8, [4]) == (report.written, [item.position for item in report.refused])
    assert "ValidationException" == report.refused[0].error_code
    assert 8 == len(names(client, table))


def test_a_reader_reads_what_a_writer_wrote(engine: Engine, make_table: MakeTable) -> None:
    table = make_table(engine)
    client = engine.client(il.client_config())
    with batch_writer(client, table) as writer:
        for number in range(120):
            writer.put_item(Item={"pk": f"k{number}", "n": number})

    with batch_reader(client, table, consistent_read=True) as reader:
        for number in (*range(120), 0, 999):
            reader.get_item(Key={"pk": f"k{number}"})

    found = [None if each.item is None else each.item["n"] for each in reader.result.outcomes]
    assert [*range(120), 0, None] == found


@pytest.mark.aio
def test_the_asyncio_writer_and_hydrate_do_the_same(engine: Engine, table_with_index: str) -> None:
    async def body() -> tuple[Any, list[HydratedPage]]:
        session = pytest.importorskip("aiobotocore.session").get_session()
        async with session.create_client(
            "dynamodb", endpoint_url=engine.endpoint_url, region_name=REGION, config=il.client_config()
        ) as client:
            async with batch_writing_async.batch_writer(client, table_with_index) as batch:
                for number in range(COUNT):
                    await batch.put_item(Item={"pk": f"k{number:02d}", "state": "open", "n": number})
            pages = pages_async.query_pages(client, **open_ones(table_with_index))
            return batch.report, [each async for each in hydrating_async.hydrate(client, pages, table_with_index, "pk")]

    report, got = asyncio.run(body())

    assert COUNT == report.written
    assert list(range(COUNT)) == sorted(item["n"] for page in got for item in page.items)


# --------------------------------------------------------------------------------------------------------- hydrate


@pytest.fixture
def table_with_index(engine: Engine) -> Iterator[str]:
    """A table with an index of keys only, by state."""
    client, name = engine.client(), f"indexed-{next(_numbers)}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "state")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-state",
                "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    yield name
    client.delete_table(TableName=name)


def open_ones(table: str) -> dict[str, Any]:
    return {
        "TableName": table,
        "IndexName": "by-state",
        "KeyConditionExpression": "#s = :open",
        "ExpressionAttributeNames": {"#s": "state"},
        "ExpressionAttributeValues": {":open": "open"},
        "Limit": 20,
    }


def test_entries_that_the_table_has_left_behind_are_labelled(engine: Engine, table_with_index: str) -> None:
    """Between the page and its read one item is closed, one deleted, and one changed beside its key."""
    client = engine.client()
    with batch_writer(client, table_with_index) as batch:
        for number in range(50):
            batch.put_item(Item={"pk": f"k{number:02d}", "state": "open", "n": number})

    closed, gone = [], []

    def changed_after_each_page() -> Iterator[Page]:
        for page in query_pages(client, **open_ones(table_with_index)):
            keys = [row["pk"] for row in page.rows]
            if len(keys) > 2:
                write(client, table_with_index, keys[0], "closed", 0)
                client.delete_item(TableName=table_with_index, Key={"pk": keys[1]})
                write(client, table_with_index, keys[2], "open", 77)
                closed.append(keys[0]["S"])
                gone.append(keys[1]["S"])
            yield page

    got = list(hydrate(client, changed_after_each_page(), table_with_index, "pk", consistent_read=True))

    entries = [each for page in got for each in page.entries]
    assert closed == [each.entry["pk"] for each in entries if each.state == "stale"]
    assert gone == [each.entry["pk"] for each in entries if each.state == "gone"]
    assert 3 == len(closed)
    assert {"current": 44, "stale": 3, "gone": 3} == Counter(str(each.state) for each in entries)
    for page in got:
        assert [row["pk"]["S"] for row in page.page.rows] == [each.entry["pk"] for each in page.entries]
    assert 3 == sum(item["n"] == 77 for page in got for item in page.items)


def write(client: DynamoDBClient, table: str, key: Any, state: str, n: int) -> None:
    client.put_item(TableName=table, Item={"pk": key, "state": {"S": state}, "n": {"N": str(n)}})


def test_what_the_read_leaves_over_is_unresolved_and_comes_with_another_pass(
    engine: Engine, table_with_index: str
) -> None:
    client, clock = engine.client(), FakeClock()
    with batch_writer(client, table_with_index) as batch:
        for number in range(10):
            batch.put_item(Item={"pk": f"k{number}", "state": "open"})
    pages = list(query_pages(client, **open_ones(table_with_index)))

    faults = [LeaveUnprocessed(keep=6), LeaveUnprocessed(keep=0), LeaveUnprocessed(keep=0), None]
    with FaultInjector(client, faults):
        (short,) = hydrate(client, pages, table_with_index, "pk", max_passes=2, **patient(clock))
        (whole,) = hydrate(client, pages, table_with_index, "pk", max_passes=2, **patient(clock))

    assert (False, 4) == (short.complete, sum(each.state == "unresolved" for each in short.entries))
    assert (True, 10) == (whole.complete, len(whole.items))


# ------------------------------------------------------------------------------------------------------- other APIs


def aws(service: str, engine: Engine) -> Any:
    make: Any = boto3.client
    return make(service, endpoint_url=engine.endpoint_url, region_name=REGION, config=il.client_config())


def test_statements_are_executed_and_one_over_its_limit_is_refused(moto: Engine, make_table: MakeTable) -> None:
    table = make_table(moto)
    client = moto.client(il.client_config())
    statements = [{"Statement": f"INSERT INTO \"{table}\" value {{'pk': 'k{number}'}}"} for number in range(30)]
    statements[7]["Statement"] += " " * 8_192

    report = with_backoff(client, BatchExecuteStatement(), statements)

    assert (29, [7]) == (report.written, [item.position for item in report.refused])
    assert sorted(f"k{number}" for number in range(30) if number != 7) == names(client, table)


def test_messages_and_objects_and_records_on_an_engine(moto: Engine) -> None:
    sqs, s3, kinesis = (aws(name, moto) for name in ("sqs", "s3", "kinesis"))
    url = sqs.create_queue(QueueName=f"batch-{next(_numbers)}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    bodies = [{"MessageBody": "tick", "MessageGroupId": str(number % 3)} for number in range(25)]
    assert 25 == with_backoff(sqs, SendMessageBatch(queue_url=url), bodies).written
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    assert "25" == told["Attributes"]["ApproximateNumberOfMessages"]
    sqs.delete_queue(QueueUrl=url)

    s3.create_bucket(Bucket="batch")
    s3.put_object(Bucket="batch", Key="a")
    assert 2 == with_backoff(s3, DeleteObjects(bucket="batch"), [{"Key": "a"}, {"Key": "never-there"}]).written
    assert "Contents" not in s3.list_objects_v2(Bucket="batch")
    s3.delete_bucket(Bucket="batch")

    kinesis.create_stream(StreamName="batch", ShardCount=1)
    records = [{"Data": "eA==", "PartitionKey": str(number)} for number in range(30)]
    assert 30 == with_backoff(kinesis, PutRecords(stream_name="batch"), records).written
    kinesis.delete_stream(StreamName="batch")


def test_documents_of_a_search_engine_go_in_bulk_and_the_refused_is_named() -> None:
    engine = SearchServer(fails={"b": 400})
    documents = [{"Op": "index", "_id": each, "_source": {"n": 1}} for each in "abc"]
    with serving(engine) as url, HttpSender(timeout_s=5) as sender:
        report = with_backoff(sender, Bulk(url=url, index="orders"), documents)

    assert (2, ["b"]) == (report.written, [item.item["_id"] for item in report.refused])  # type: ignore[index]


def test_requests_go_out_under_keys_of_their_own_and_those_refused_for_load_again() -> None:
    seen: list[tuple[str, str]] = []

    def answer(request: Request) -> Reply:
        seen.append((json.loads(request.body)["n"], request.headers["idempotency-key"]))
        return Reply(429) if len(seen) == 1 else Reply(201)

    clock = FakeClock()
    with serving(answer) as url, HttpSender(timeout_s=5) as sender:
        api = HttpRequest(url=f"{url}/refunds")
        first = with_backoff(sender, api, [{"Body": {"n": "1"}}, {"Body": {"n": "2"}}], concurrency=1, **patient(clock))
        second = with_backoff(sender, api, [{"Body": {"n": "1"}}], concurrency=1, **patient(clock))

    assert (2, 1) == (first.written, second.written)
    keys = {number: {key for n, key in seen if n == number} for number in "12"}
    assert (2, 1) == (len(keys["1"]), len(keys["2"]))  # a second run is another refund; a second attempt is not


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"Unproc', id="cut in the middle"),
        pytest.param(b"", id="closed without one"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", id="without what it must name"),
    ],
)
def test_an_answer_that_a_socket_cuts_off_is_unknown_and_never_failed_or_done(answer: bytes) -> None:
    clock = FakeClock()
    policy = Policy(max_look_ups=1)
    with raw_server(answer, reset=True) as server:
        client = boto3.client("dynamodb", endpoint_url=server.url, region_name=REGION, config=il.client_config())
        api = BatchWriteItem(table_name="T", key={"pk": "S"})
        report = with_backoff(client, api, [{"pk": "A"}, {"pk": "B"}], policy=policy, timeout_s=600, **patient(clock))
        client.close()

    assert (0, 0, 0, 2) == (report.written, len(report.leftover), len(report.refused), len(report.unknown))
    assert b"PutRequest" in server.requests[0]
    assert 1 == sum(b"PutRequest" in request for request in server.requests)
