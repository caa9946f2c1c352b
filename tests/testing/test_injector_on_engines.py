"""The fault injector in front of real engines: what it says was done was done, and nothing else."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, ReadTimeoutError

from itemledger.testing import (
    CutBody,
    DropMember,
    DropRow,
    DuplicateRow,
    Fault,
    FaultInjector,
    ForeignRow,
    LeaveUnprocessed,
    ResetAfter,
    ResetBefore,
    Throttle,
    batch_get_response,
    error,
    instant_retries,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.conftest import MakeTable
    from tests.engines.launch import Engine

# Checks each answer's CRC for us: in this mode the SDK raises ChecksumError when it does not fit.
CHECKING = Config(retries={"mode": "legacy", "total_max_attempts": 1})


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def ask(client: DynamoDBClient, table: str, names: str, **settings: Any) -> dict[str, Any]:
    asked: Any = {"Keys": [key(name) for name in names], **settings}
    return dict(client.batch_get_item(RequestItems={table: asked}))


def names(rows: list[dict[str, Any]]) -> str:
    return "".join(sorted(row["pk"]["S"] for row in rows))


@pytest.fixture
def client(engine: Engine) -> DynamoDBClient:
    return engine.client(CHECKING)


@pytest.fixture
def table(engine: Engine, make_table: MakeTable) -> str:
    """A to D are there, Z is not."""
    name = make_table(engine)
    puts: Any = [{"PutRequest": {"Item": {**key(pk), "total": {"N": "1"}}}} for pk in "ABCD"]
    assert {} == engine.client().batch_write_item(RequestItems={name: puts})["UnprocessedItems"]
    return name


def stored(engine: Engine, table: str) -> str:
    return names(list(engine.client().scan(TableName=table, ConsistentRead=True)["Items"]))


def test_leftovers_of_a_read_are_really_not_read_and_the_rest_is(client: DynamoDBClient, table: str) -> None:
    with FaultInjector(client, [LeaveUnprocessed(every_nth=2)]):
        response = ask(client, table, "ABCDZ", ConsistentRead=True)
    assert "AC" == names(response["Responses"][table])
    assert {table: {"ConsistentRead": True, "Keys": [key("B"), key("D")]}} == response["UnprocessedKeys"]
    assert "LeaveUnprocessed" == response["ResponseMetadata"]["HTTPHeaders"]["x-itemledger-fault"]


def test_other_hooks_see_the_whole_request_when_a_reduced_one_is_sent(client: DynamoDBClient, table: str) -> None:
    seen: list[tuple[str, int]] = []

    def watch(request: Any, **_: object) -> None:
        asked = json.loads(request.body)["RequestItems"][table]["Keys"]
        seen.append((names(asked), len(request.body) - int(request.headers["Content-Length"])))

    client.meta.events.register_last("before-send.dynamodb", watch)
    with FaultInjector(client, [LeaveUnprocessed(keep=1)]):
        assert "A" == names(ask(client, table, "ABC")["Responses"][table])
    assert [("ABC", 0)] == seen


def test_leftovers_of_several_tables_stay_with_their_table(
    client: DynamoDBClient, engine: Engine, make_table: MakeTable
) -> None:
    first, second = make_table(engine), make_table(engine)
    request: Any = {name: {"Keys": [key("A"), key("B")]} for name in (first, second)}
    with FaultInjector(client, [LeaveUnprocessed(keep=3), LeaveUnprocessed(keep=2)]):
        one_left = client.batch_get_item(RequestItems=request)
        table_left = client.batch_get_item(RequestItems=request)
    assert {second: {"Keys": [key("B")]}} == one_left["UnprocessedKeys"]
    assert {second: {"Keys": [key("A"), key("B")]}} == table_left["UnprocessedKeys"]
    assert {first: []} == table_left["Responses"]


def test_leftovers_the_engine_makes_by_size_join_those_of_the_fault(dynalite: Engine, make_table: MakeTable) -> None:
    name, client = make_table(dynalite), dynalite.client(CHECKING)
    for pk in "ABCDE":
        client.put_item(TableName=name, Item={**key(pk), "load": {"S": "x" * 390_000}})
    with FaultInjector(client, [None, LeaveUnprocessed(keep=4)]):
        by_size = ask(client, name, "ABCDE")
        by_both = ask(client, name, "ABCDE")
    assert 3 == len(by_size["Responses"][name])
    assert 3 == len(by_both["Responses"][name])
    left = names(by_both["UnprocessedKeys"][name]["Keys"])
    assert "E" in left
    assert "ABCDE" == "".join(sorted(left + names(by_both["Responses"][name])))


def test_leftovers_of_a_write_are_really_not_written(client: DynamoDBClient, engine: Engine, table: str) -> None:
    writes: Any = [{"PutRequest": {"Item": key("Z")}}, {"DeleteRequest": {"Key": key("A")}}]
    with FaultInjector(client, [LeaveUnprocessed(keep=1)]):
        response = client.batch_write_item(RequestItems={table: writes})
    assert {table: [{"DeleteRequest": {"Key": key("A")}}]} == response["UnprocessedItems"]
    assert "ABCDZ" == stored(engine, table)


@pytest.mark.parametrize("error_class", [ReadTimeoutError, ConnectionClosedError])
def test_a_reset_after_loses_the_answer_of_a_write_that_happened(
    client: DynamoDBClient, engine: Engine, table: str, error_class: Any
) -> None:
    with FaultInjector(client, [ResetAfter(error_class)]), pytest.raises(error_class):
        client.put_item(TableName=table, Item=key("Z"))
    assert "ABCDZ" == stored(engine, table)


@pytest.mark.parametrize("fault", [ResetBefore(), ResetBefore(ConnectionClosedError), Throttle()], ids=str)
def test_a_reset_before_and_a_refusal_keep_a_write_from_happening(
    client: DynamoDBClient, engine: Engine, table: str, fault: Fault
) -> None:
    with (
        FaultInjector(client, [fault]),
        pytest.raises((EndpointConnectionError, ConnectionClosedError, ClientError)),
    ):
        client.put_item(TableName=table, Item=key("Z"))
    assert "ABCD" == stored(engine, table)


def test_a_conditional_put_the_sdk_retries_fails_on_its_own_first_attempt(engine: Engine, table: str) -> None:
    client = engine.client(Config(retries={"mode": "standard", "total_max_attempts": 2}))
    with (
        instant_retries(client),
        FaultInjector(client, [ResetAfter()]),
        pytest.raises(ClientError, match="ConditionalCheckFailedException"),
    ):
        client.put_item(TableName=table, Item=key("Z"), ConditionExpression="attribute_not_exists(pk)")
    assert "ABCDZ" == stored(engine, table)


def test_a_cut_answer_of_a_write_is_an_empty_success_although_a_part_was_left(engine: Engine, table: str) -> None:
    client = engine.client()
    with FaultInjector(client, [CutBody(at=0)]):
        response: Any = client.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": key("Z")}}]})
    assert {"ResponseMetadata"} == set(response)
    assert "ABCDZ" == stored(engine, table)


@pytest.mark.parametrize(
    ("fault", "returned"),
    [
        (DropRow(0), 3),
        (DuplicateRow(0), 5),
        (ForeignRow({"pk": {"S": "Q"}}), 5),
        (DropMember("UnprocessedKeys"), 4),
    ],
    ids=str,
)
def test_an_edited_answer_of_an_engine_is_intact(
    client: DynamoDBClient, table: str, fault: Fault, returned: int
) -> None:
    with FaultInjector(client, [fault]):
        response = ask(client, table, "ABCDZ")
    assert returned == len(response["Responses"][table])
    assert ("UnprocessedKeys" in response) is (fault != DropMember("UnprocessedKeys"))
    assert response["ResponseMetadata"]["RequestId"]


def test_an_attempt_without_a_fault_is_the_engines_own(client: DynamoDBClient, table: str) -> None:
    bodies: list[object] = []
    client.meta.events.register("after-call.dynamodb", lambda http_response, **_: bodies.append(http_response.raw))
    with FaultInjector(client, [None]) as injector:
        response = ask(client, table, "AZ")
    assert "x-itemledger-fault" not in response["ResponseMetadata"]["HTTPHeaders"]
    assert ["urllib3.response"] == [type(body).__module__ for body in bodies]
    assert (1, []) == (injector.attempts, injector.fired)


def test_faults_of_many_threads_do_not_mix(client: DynamoDBClient, table: str) -> None:
    def one(name: str) -> tuple[str, str]:
        response = ask(client, table, name + "Z")
        return names(response["Responses"][table]), names(response["UnprocessedKeys"].get(table, {"Keys": []})["Keys"])

    with (
        FaultInjector(client, lambda attempt: LeaveUnprocessed(keep=1) if attempt.number % 2 else None) as injector,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = "ABCD" * 10
        seen = list(pool.map(one, asked))
    assert list(asked) == [returned for returned, _ in seen]
    assert 20 == sum(left == "Z" for _, left in seen) == len(injector.fired)


def test_scripted_answers_have_the_shape_of_real_ones(client: DynamoDBClient, table: str) -> None:
    real: Any = ask(client, table, "AZ")
    scripted: Any = batch_get_response([{**key("A"), "total": {"N": "1"}}], table=table)
    real_metadata, scripted_metadata = real.pop("ResponseMetadata"), scripted.pop("ResponseMetadata")
    real.pop("ConsumedCapacity", None)  # moto sends it unasked
    assert real == scripted
    assert set(scripted_metadata) <= set(real_metadata)
    assert {name: type(value) for name, value in scripted_metadata.items()} == {
        name: type(real_metadata[name]) for name in scripted_metadata
    }


def test_a_scripted_error_has_the_shape_of_a_real_one(client: DynamoDBClient) -> None:
    with pytest.raises(ClientError) as refused:
        ask(client, "no-such-table", "A")
    real: Any = refused.value
    scripted = error("ResourceNotFoundException", real.response["Error"]["Message"])
    assert str(scripted) == str(real)
    assert scripted.operation_name == real.operation_name
    assert scripted.response["Error"] == real.response["Error"]
    assert set(scripted.response["ResponseMetadata"]) <= set(real.response["ResponseMetadata"])
