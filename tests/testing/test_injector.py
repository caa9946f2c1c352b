"""The fault injector alone: what it puts in goes through the SDK's own parser, checksum, retries and quota."""

from __future__ import annotations

import contextlib
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from itemledger.core.answer import EvidenceLabel
from itemledger.origin import label_of
from itemledger.testing import (
    Answer,
    Attempt,
    DropMember,
    DropRow,
    DuplicateRow,
    Edit,
    ExpiredToken,
    FakeClock,
    Fault,
    FaultInjector,
    Fired,
    ForeignRow,
    Hang,
    LeaveUnprocessed,
    NotJson,
    Raise,
    ResetAfter,
    ResetBefore,
    ScriptError,
    ServerError,
    Slow,
    Throttle,
    instant_retries,
    serve_rows,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.testing.conftest import MakeClient

TABLE = "KnownAnswer"
ROWS = [{"pk": {"S": name}, "total": {"N": str(total)}} for name, total in zip("ABCD", (10, 20, 30, 40), strict=True)]
KNOWN = serve_rows({TABLE: ROWS})


def ask(client: DynamoDBClient, names: str = "ABCDZ", **settings: Any) -> dict[str, Any]:
    asked: Any = {"Keys": [{"pk": {"S": name}} for name in names], **settings}
    return dict(client.batch_get_item(RequestItems={TABLE: asked}))


def names(rows: list[dict[str, Any]]) -> str:
    return "".join(row["pk"]["S"] for row in rows)


# ------------------------------------------------------------------------------------------------ the SDK still works


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_two_throttles_and_an_answer_are_two_sdk_retries(make_client: MakeClient, mode: str) -> None:
    client = make_client(mode, attempts=3)
    # ServerError, as a throttle would start the rate limiter of the adaptive mode, which really waits.
    load: Fault = ServerError() if mode == "adaptive" else Throttle()
    with instant_retries(client), FaultInjector(client, [load, load], upstream=KNOWN) as injector:
        response = ask(client)
    assert response["ResponseMetadata"]["RetryAttempts"] == 2
    assert names(response["Responses"][TABLE]) == "ABCD"
    assert [(1, load.name), (2, load.name)] == [(fired.attempt, fired.fault) for fired in injector.fired]
    assert [1, 2] == [fired.sdk_attempt for fired in injector.fired]
    assert injector.attempts == 3


def test_throttles_without_end_end_at_the_sdks_own_bound(make_client: MakeClient) -> None:
    client = make_client(attempts=3)
    with (
        instant_retries(client),
        FaultInjector(client, itertools.repeat(Throttle("ThrottlingException"))) as injector,
        pytest.raises(ClientError, match=r"ThrottlingException.*reached max retries: 2"),
    ):
        ask(client)
    assert injector.attempts == 3


def test_the_sdks_retry_quota_is_used_up_by_injected_faults(make_client: MakeClient) -> None:
    client = make_client(attempts=10)
    per_call: list[int] = []
    with instant_retries(client), FaultInjector(client, lambda _: ServerError()) as injector:
        for _ in range(16):
            before = injector.attempts
            with contextlib.suppress(ClientError):
                ask(client)
            per_call.append(injector.attempts - before)
    assert per_call[0] == 10
    assert per_call[-1] == 1  # nothing left to retry with


def test_a_validation_error_is_not_retried(make_client: MakeClient) -> None:
    client = make_client(attempts=3)
    body = {"__type": "com.amazon.coral.validate#ValidationException", "message": "no"}
    with FaultInjector(client, [Answer(body, status=400)]) as injector:
        with pytest.raises(ClientError, match="ValidationException"):
            ask(client)
        assert injector.attempts == 1


@pytest.mark.parametrize(
    "error", [ReadTimeoutError, ConnectionClosedError, EndpointConnectionError, ConnectTimeoutError]
)
def test_a_lost_connection_is_retried_once_and_then_answered(make_client: MakeClient, error: Any) -> None:
    client = make_client(attempts=2)
    with instant_retries(client), FaultInjector(client, [ResetBefore(error)], upstream=KNOWN):
        assert ask(client)["ResponseMetadata"]["RetryAttempts"] == 1


def test_an_exception_the_sdk_does_not_know_surfaces_at_once(make_client: MakeClient) -> None:
    client = make_client(attempts=3)
    with FaultInjector(client, [Raise(ZeroDivisionError("odd"))]) as injector:
        with pytest.raises(ZeroDivisionError, match="odd"):
            ask(client)
        assert injector.attempts == 1


# ---------------------------------------------------------------------------------------------- what the faults answer


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        (Throttle(), "ProvisionedThroughputExceededException", 400),
        (Throttle("RequestLimitExceeded"), "RequestLimitExceeded", 400),
        (ServerError(), "InternalServerError", 500),
        (ServerError(503, "ServiceUnavailable"), "ServiceUnavailable", 503),
        (ExpiredToken(), "ExpiredTokenException", 400),
    ],
)
def test_a_refusal_is_the_sdks_error_with_code_status_and_request_id(
    client: DynamoDBClient, fault: Fault, code: str, status: int
) -> None:
    with FaultInjector(client, [fault]), pytest.raises(ClientError) as refused:
        ask(client)
    metadata = refused.value.response["ResponseMetadata"]
    assert (code, status) == (refused.value.response["Error"]["Code"], metadata["HTTPStatusCode"])
    assert metadata["RequestId"] == "SYNTHETIC-1"
    assert metadata["HTTPHeaders"]["x-itemledger-fault"] == fault.name


def test_a_page_of_a_gateway_is_an_error_without_request_id(client: DynamoDBClient) -> None:
    with FaultInjector(client, [NotJson(status=502)]), pytest.raises(ClientError) as refused:
        ask(client)
    metadata = refused.value.response["ResponseMetadata"]
    assert ("502", 502) == (refused.value.response["Error"]["Code"], metadata["HTTPStatusCode"])
    assert "RequestId" not in metadata


@pytest.mark.parametrize(
    ("code", "member"),
    [
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
        ("RequestLimitExceeded", "ThrottlingReasons"),
        ("ThrottlingException", "throttlingReasons"),
    ],
)
def test_throttling_reasons_survive_the_sdks_parser(client: DynamoDBClient, code: str, member: str) -> None:
    model: Any = client.meta.service_model  # Any: the stubs want a number for the code
    shape = model.shape_for_error_code(code)
    if shape is None or member not in shape.members:
        pytest.skip("the service model of this SDK has no throttling reasons yet; its parser drops them")
    reason = ("TableReadKeyRangeThroughputExceeded", "arn:aws:dynamodb:us-east-1:000000000000:table/T")
    with FaultInjector(client, [Throttle(code, [reason])]), pytest.raises(ClientError) as refused:
        ask(client)
    response: Any = refused.value.response
    assert [{"reason": reason[0], "resource": reason[1]}] == response[member]


def test_an_answer_may_hold_binary_values_and_any_header(client: DynamoDBClient) -> None:
    body = {"Responses": {TABLE: [{"pk": {"B": b"\x00\xff"}}]}, "UnprocessedKeys": {}}
    with FaultInjector(client, [Answer(body, headers={"X-Amzn-RequestId": "R-9"}), Answer(body, crc=False)]):
        first, second = ask(client), ask(client)
    assert {TABLE: [{"pk": {"B": b"\x00\xff"}}]} == first["Responses"]
    assert first["ResponseMetadata"]["RequestId"] == "R-9"
    assert "x-amz-crc32" in first["ResponseMetadata"]["HTTPHeaders"]
    assert "x-amz-crc32" not in second["ResponseMetadata"]["HTTPHeaders"]


def test_every_answer_is_from_memory_and_names_its_fault(client: DynamoDBClient) -> None:
    bodies: list[object] = []
    client.meta.events.register("after-call.dynamodb", lambda http_response, **_: bodies.append(http_response.raw))
    with FaultInjector(client, [DropRow(), LeaveUnprocessed(keep=1)], upstream=KNOWN):
        labels = [ask(client)["ResponseMetadata"]["HTTPHeaders"]["x-itemledger-fault"] for _ in range(3)]
    assert ["DropRow", "LeaveUnprocessed", "Upstream"] == labels
    assert {"itemledger.testing.drivers"} == {type(body).__module__ for body in bodies}


@pytest.mark.parametrize("fault", [None, LeaveUnprocessed(keep=1), Answer({})], ids=str)
def test_an_answer_put_in_for_an_aws_host_is_synthetic(make_client: MakeClient, fault: Fault | None) -> None:
    client = make_client(endpoint_url=None)
    answers: list[Any] = []
    client.meta.events.register("after-call.dynamodb", lambda http_response, **_: answers.append(http_response))
    with FaultInjector(client, [fault], upstream=KNOWN):
        ask(client)
    assert ["dynamodb.us-east-1.amazonaws.com"] == [urlsplit(answer.url).hostname for answer in answers]
    assert [EvidenceLabel.SYNTHETIC] == [label_of(answer) for answer in answers]


# ------------------------------------------------------------------------------------------- edits of an intact answer


def test_leftovers_are_the_keys_that_were_not_kept_with_the_settings_of_the_request(client: DynamoDBClient) -> None:
    asked: list[dict[str, Any]] = []

    def upstream(attempt: Attempt) -> Any:
        asked.append(attempt.request["RequestItems"])
        return KNOWN(attempt)

    with FaultInjector(client, [LeaveUnprocessed(keep=2)], upstream=upstream):
        response = ask(client, ConsistentRead=True)
    assert "AB" == names(asked[0][TABLE]["Keys"])
    assert "AB" == names(response["Responses"][TABLE])
    assert {TABLE: {"ConsistentRead": True, "Keys": [{"pk": {"S": name}} for name in "CDZ"]}} == response[
        "UnprocessedKeys"
    ]


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        (LeaveUnprocessed(keep=5), ""),
        (LeaveUnprocessed(keep=4), "Z"),
        (LeaveUnprocessed(every_nth=2), "BD"),
        (LeaveUnprocessed(every_nth=1), "ABCDZ"),
        (LeaveUnprocessed(when=lambda table, key: table == TABLE and key["pk"]["S"] in "AZ"), "AZ"),
    ],
)
def test_each_rule_says_what_is_left(client: DynamoDBClient, fault: Fault, left: str) -> None:
    with FaultInjector(client, [fault], upstream=KNOWN):
        response = ask(client)
    assert left == names(response["UnprocessedKeys"].get(TABLE, {"Keys": []})["Keys"])
    assert [name for name in "ABCD" if name not in left] == list(names(response["Responses"].get(TABLE, [])))


def test_with_nothing_to_carry_out_nothing_is_sent(client: DynamoDBClient) -> None:
    sent: list[Attempt] = []

    def upstream(attempt: Attempt) -> dict[str, Any]:
        sent.append(attempt)
        return {}

    with FaultInjector(client, [LeaveUnprocessed(keep=0)], upstream=upstream):
        assert "ABCDZ" == names(ask(client)["UnprocessedKeys"][TABLE]["Keys"])
    assert [] == sent


def test_leftovers_may_come_without_the_settings(client: DynamoDBClient) -> None:
    with FaultInjector(client, [LeaveUnprocessed(keep=4, echo_settings=False)], upstream=KNOWN):
        response = ask(client, ConsistentRead=True)
    assert {TABLE: {"Keys": [{"pk": {"S": "Z"}}]}} == response["UnprocessedKeys"]


def test_leftovers_of_the_engine_are_kept(client: DynamoDBClient) -> None:
    def upstream(_: Attempt) -> dict[str, Any]:
        return {"Responses": {TABLE: []}, "UnprocessedKeys": {TABLE: {"Keys": [{"pk": {"S": "A"}}]}}}

    with FaultInjector(client, [LeaveUnprocessed(keep=3)], upstream=upstream):
        assert "ADZ" == names(ask(client)["UnprocessedKeys"][TABLE]["Keys"])


def test_a_batch_write_leaves_unprocessed_items(client: DynamoDBClient) -> None:
    writes: Any = [{"PutRequest": {"Item": row}} for row in ROWS]
    stored: list[Any] = []

    def upstream(attempt: Attempt) -> dict[str, Any]:
        stored.extend(attempt.request["RequestItems"][TABLE])
        return {"UnprocessedItems": {}}

    with FaultInjector(client, [LeaveUnprocessed(keep=1)], upstream=upstream):
        response = client.batch_write_item(RequestItems={TABLE: writes})
    assert writes[:1] == stored
    assert {TABLE: writes[1:]} == response["UnprocessedItems"]


def test_exactly_one_rule_for_leftovers_is_taken() -> None:
    with pytest.raises(TypeError, match="exactly one"):
        LeaveUnprocessed()
    with pytest.raises(TypeError, match="exactly one"):
        LeaveUnprocessed(keep=1, every_nth=2)
    with pytest.raises(ValueError, match="every_nth"):
        LeaveUnprocessed(every_nth=0)


@pytest.mark.parametrize(
    ("fault", "rows"),
    [
        (DropRow(1), [ROWS[0], ROWS[2], ROWS[3]]),
        (DuplicateRow(3), [*ROWS, ROWS[3]]),
        (DuplicateRow(0, change={"total": {"N": "11"}}), [*ROWS, {"pk": {"S": "A"}, "total": {"N": "11"}}]),
        (ForeignRow({"pk": {"B": b"x"}}), [*ROWS, {"pk": {"B": b"x"}}]),
        (Edit(lambda body: {**body, "Responses": {TABLE: body["Responses"][TABLE][::-1]}}), ROWS[::-1]),
    ],
)
def test_an_edit_changes_the_rows_and_leaves_the_body_intact(
    make_client: MakeClient, fault: Fault, rows: list[dict[str, Any]]
) -> None:
    client = make_client("legacy")  # this mode raises ChecksumError when the checksum does not fit
    with FaultInjector(client, [fault], upstream=KNOWN):
        response = ask(client)
    assert {TABLE: rows} == response["Responses"]
    assert response["ResponseMetadata"]["HTTPHeaders"]["x-amz-crc32"]


def test_a_row_may_come_for_a_table_that_was_not_asked(client: DynamoDBClient) -> None:
    with FaultInjector(client, [ForeignRow({"pk": {"S": "A"}}, table="Other")], upstream=KNOWN):
        assert {TABLE: ROWS, "Other": [{"pk": {"S": "A"}}]} == ask(client)["Responses"]


def test_a_dropped_member_is_absent(make_client: MakeClient) -> None:
    client = make_client("legacy")
    with FaultInjector(client, [DropMember("UnprocessedKeys"), DropMember("Responses")], upstream=KNOWN):
        assert {"Responses", "ResponseMetadata"} == set(ask(client))
        assert {"UnprocessedKeys", "ResponseMetadata"} == set(ask(client))


# ------------------------------------------------------------------------------------------------ slow, hung, in order


def test_a_slow_attempt_waits_by_the_sleep_that_was_given(client: DynamoDBClient) -> None:
    clock = FakeClock()
    with FaultInjector(client, [Slow(2.5), Slow(1, then=Throttle())], upstream=KNOWN, sleep=clock.sleep) as injector:
        ask(client)
        with pytest.raises(ClientError):
            ask(client)
    assert [2.5, 1] == clock.sleeps
    assert ["Slow", "Slow+Throttle"] == [fired.fault for fired in injector.fired]


def test_a_hung_attempt_says_so_and_goes_on_when_it_is_released(client: DynamoDBClient) -> None:
    release, reached = threading.Event(), threading.Event()
    with (
        FaultInjector(client, [Hang(release, reached), Hang(release, then=Throttle())], upstream=KNOWN),
        ThreadPoolExecutor(1) as pool,
    ):
        call = pool.submit(ask, client)
        assert reached.wait(10)
        assert not call.done()
        release.set()
        assert "ABCD" == names(call.result(10)["Responses"][TABLE])
        with pytest.raises(ClientError):
            ask(client)


def test_a_hang_nobody_releases_fails_the_test(client: DynamoDBClient) -> None:
    with (
        pytest.raises(ScriptError, match=r"nobody set its event within 0\.01 s"),
        FaultInjector(client, [Hang(threading.Event(), at_most_s=0.01)]),
        contextlib.suppress(Exception),
    ):
        ask(client)


def test_many_threads_share_one_script(client: DynamoDBClient) -> None:
    script = [DropRow(number % 4) for number in range(40)]
    with FaultInjector(client, script, upstream=KNOWN) as injector, ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(lambda _: ask(client), range(60)))
    assert list(range(1, 41)) == [fired.attempt for fired in injector.fired]
    assert [3] * 40 + [4] * 20 == sorted(len(response["Responses"][TABLE]) for response in responses)


def test_a_function_chooses_from_the_attempt(client: DynamoDBClient) -> None:
    def choose(attempt: Attempt) -> Fault | None:
        return Throttle() if len(attempt.request["RequestItems"][TABLE]["Keys"]) > 1 else None

    with FaultInjector(client, choose, upstream=KNOWN) as injector:
        with pytest.raises(ClientError):
            ask(client, "AB")
        ask(client, "A")
    assert [Fired(1, "batch_get_item", "Throttle", sdk_attempt=1)] == injector.fired


def test_one_operation_can_be_singled_out(client: DynamoDBClient) -> None:
    described = {"Table": {"TableName": TABLE}}
    with (
        FaultInjector(client, [Answer(described)], operation="describe_table") as injector,
        FaultInjector(client, [Throttle()], operation="batch_get_item") as other,
    ):
        with pytest.raises(ClientError):
            ask(client)
        assert TABLE == client.describe_table(TableName=TABLE)["Table"]["TableName"]
    assert (1, 1) == (injector.attempts, other.attempts)


# ------------------------------------------------------------------------------------- a test that asked for too much


def test_the_client_is_left_as_it_was(client: DynamoDBClient) -> None:
    with FaultInjector(client, lambda _: Throttle()) as injector, pytest.raises(ClientError):
        ask(client)
    with pytest.raises(EndpointConnectionError):
        ask(client)
    assert injector.attempts == 1


def test_nothing_ever_goes_to_aws(make_client: MakeClient) -> None:
    client = make_client(endpoint_url=None)
    for faults in ([], [None], [ResetAfter()], [LeaveUnprocessed(keep=1)]):
        injector = FaultInjector(client, faults)
        with pytest.raises(ScriptError, match=r"would go to dynamodb\.us-east-1\.amazonaws\.com"), injector:
            ask(client)


def test_a_fault_that_never_came_up_fails_the_test(client: DynamoDBClient) -> None:
    with (
        pytest.raises(ScriptError, match="1 faults of the script never came up in 1 attempts"),
        FaultInjector(client, [None, Throttle()], upstream=KNOWN),
    ):
        ask(client)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        (DropRow(4), "DropRow wants row 4 of KnownAnswer, but the answer has 4 rows"),
        (DropRow(0, table="Other"), "DropRow wants row 0 of Other, but the answer has 0 rows"),
        (DropMember("ConsumedCapacity"), "no ConsumedCapacity to drop"),
    ],
)
def test_a_fault_that_cannot_be_carried_out_fails_the_test_even_when_the_code_swallows_it(
    client: DynamoDBClient, fault: Fault, complaint: str
) -> None:
    with (
        pytest.raises(ScriptError, match=complaint),
        FaultInjector(client, [fault], upstream=KNOWN),
        contextlib.suppress(Exception),
    ):
        ask(client)


def test_rows_in_memory_answer_by_value_and_refuse_what_they_cannot(client: DynamoDBClient) -> None:
    stored = {"pk": {"N": "1"}, "sk": {"B": b"\x01"}}
    upstream = serve_rows({"T": [stored]}, key=("pk", "sk"))
    keys: Any = [{"pk": {"N": "1.0"}, "sk": {"B": b"\x01"}}, {"pk": {"N": "2"}, "sk": {"B": b"\x01"}}]
    with FaultInjector(client, [], upstream=upstream):
        assert {"T": [stored]} == client.batch_get_item(RequestItems={"T": {"Keys": keys}})["Responses"]
    for request, complaint in (
        ({"T": {"Keys": keys, "ProjectionExpression": "pk"}}, "projection"),
        ({"U": {"Keys": keys}}, "no table U"),
    ):
        injector = FaultInjector(client, [], upstream=upstream)
        with pytest.raises(ScriptError, match=complaint), injector:
            client.batch_get_item(RequestItems=request)  # type: ignore[arg-type]
    with pytest.raises(ScriptError, match="batch_get_item only"), FaultInjector(client, [], upstream=upstream):
        client.list_tables()
