"""Where answers enter: what each end of a call proves, read off the answer itself and off nothing else.

Synthetic: real SDK clients, whose parser, checksum and retries run on answers that the fault injector makes.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from botocore import exceptions as sdk

import itemledger as il
from itemledger import provider
from itemledger.core.answer import Answer, BodyCheck, EvidenceLabel, Failure, FailureCause
from itemledger.core.keys import KeySchema, KeyType
from itemledger.testing import Answer as WireAnswer
from itemledger.testing import (
    CutBody,
    DropMember,
    EmptyBody,
    ExpiredToken,
    Fault,
    FaultInjector,
    Hang,
    NotJson,
    Raise,
    ResetAfter,
    ResetBefore,
    ScriptedClient,
    ServerError,
    Throttle,
    WrongCrc,
    batch_get_response,
    describe_table_response,
    instant_retries,
    serve_rows,
)

if TYPE_CHECKING:
    from tests.provider.conftest import MakeClient

URL = {"endpoint_url": "http://127.0.0.1:1"}
ROWS = [{"pk": {"S": name}, "n": {"N": "1"}} for name in "AB"]
UPSTREAM = serve_rows({"T": ROWS})
ASK: Any = {"RequestItems": {"T": {"Keys": [{"pk": {"S": name}} for name in "AB"]}}}

#: dynamodb.md 8.4, and a page of something in between.
DAMAGED = [
    CutBody(at=0.5),
    CutBody(at=0),
    CutBody(at=1),
    WrongCrc(),
    CutBody(at=0.5, keep_crc=False),
    CutBody(at=0, keep_crc=False),
    EmptyBody(),
    NotJson(),
]
UNDER_A_CRC = DAMAGED[:4]


@contextmanager
def faulty(client: Any, *faults: Fault | None) -> Iterator[FaultInjector]:
    """The client with its pauses taken out and these faults before it."""
    with instant_retries(client), FaultInjector(client, faults, upstream=UPSTREAM) as injector:
        yield injector


def call(client: Any, request: Mapping[str, Any] = ASK) -> Answer | Failure:
    provider.observe(client)
    return provider.call(client, "batch_get_item", request)


def failed(end: Answer | Failure) -> Failure:
    assert isinstance(end, Failure)
    return end


def usable(end: Answer | Failure) -> Answer:
    assert isinstance(end, Answer), end
    return end


def failure_of(error: BaseException) -> Failure:
    return failed(provider.call(ScriptedClient([error]), "batch_get_item", {}))


# -------------------------------------------------------------------------------------------------- damaged answers


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
@pytest.mark.parametrize("fault", DAMAGED, ids=str)
def test_a_damaged_answer_leaves_every_key_unresolved_and_the_error_says_so(
    make_client: MakeClient, fault: Fault, mode: str, attempts: int
) -> None:
    client = make_client(mode, attempts)
    sent = attempts if fault in UNDER_A_CRC else 1  # without a checksum the SDK sees no reason to ask again
    with faulty(client, *[fault] * sent):
        result = il.read_batch(client, "T", ["A", "B", "absent"], "pk", concurrency=1)
    assert {"A", "B", "absent"} == result.unresolved
    assert il.StopReason.REQUEST_FAILED is result.stop_reason
    assert il.Decision.RETRY is result.decide()
    assert result.terminal_error is not None
    assert ("ChecksumError" if mode == "legacy" and fault in UNDER_A_CRC else "DamagedResponse") == (
        result.terminal_error.code
    )
    assert (None if isinstance(fault, NotJson) else f"SYNTHETIC-{sent}") == result.terminal_error.request_id
    assert result.terminal_error.transient
    (entry,) = result.ledger
    assert ((), None, None) == (entry.findings, entry.body_check, entry.consumed)
    assert sent - 1 == entry.sdk_retry_attempts


@pytest.mark.parametrize("mode", ["legacy", "standard"])
def test_what_earlier_passes_settled_survives_a_damaged_answer(make_client: MakeClient, mode: str) -> None:
    client = make_client(mode)
    left = {"Responses": {"T": ROWS[:1]}, "UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "B"}}]}}}
    with faulty(client, WireAnswer(left), CutBody(at=0.5)):
        result = il.read_batch(client, "T", ["A", "B", "Z"], "pk", concurrency=1, sleep=lambda _: None)
    assert ({"A"}, {"Z"}, {"B"}) == (set(result.returned), set(result.processed_not_returned), set(result.unresolved))


@pytest.mark.parametrize("mode", ["legacy", "standard"])
@pytest.mark.parametrize("fault", UNDER_A_CRC, ids=str)
def test_a_damaged_answer_that_the_sdk_healed_is_one_usable_answer_with_one_retry(
    make_client: MakeClient, fault: Fault, mode: str
) -> None:
    client = make_client(mode, 2)
    with faulty(client, fault):
        answer = usable(call(client))
    assert (1, BodyCheck.CRC32, "SYNTHETIC-2", False) == (
        answer.sdk_retry_attempts,
        answer.body_check,
        answer.request_id,
        answer.sdk_throttled,
    )


def test_a_body_is_named_as_proven_by_what_proved_it(make_client: MakeClient) -> None:
    client = make_client()
    intact = {"Responses": {"T": ROWS}, "UnprocessedKeys": {}}
    with faulty(client, None, WireAnswer(intact, crc=False)):
        first, second = usable(call(client)), usable(call(client))
    assert (BodyCheck.CRC32, BodyCheck.JSON) == (first.body_check, second.body_check)
    assert len(json.dumps(intact, separators=(",", ":"))) == first.response_bytes == second.response_bytes
    stubbed = usable(provider.call(ScriptedClient([intact]), "batch_get_item", {}))
    assert (BodyCheck.UNSEEN, None) == (stubbed.body_check, stubbed.response_bytes)


@pytest.mark.parametrize("crc", [True, False])
def test_an_endpoint_known_to_leave_leftovers_out_is_believed_only_where_its_body_is_whole(
    make_client: MakeClient, crc: bool
) -> None:
    client = make_client()
    whole = WireAnswer({"Responses": {"T": ROWS}}, crc=crc)
    options: Any = {"key": "pk", "concurrency": 1, "unprocessed_keys_optional": True}
    with faulty(client, whole):
        assert il.read_batch(client, "T", ["A", "B"], **options).complete
    with faulty(client, EmptyBody()):
        assert {"A", "B"} == il.read_batch(client, "T", ["A", "B"], **options).unresolved
    with faulty(client, whole), pytest.raises(il.LedgerInvariantError):
        il.read_batch(client, "T", ["A", "B"], "pk", concurrency=1)


def test_an_intact_answer_without_its_members_is_impossible_and_not_damaged(make_client: MakeClient) -> None:
    client = make_client()
    with faulty(client, WireAnswer({})), pytest.raises(il.LedgerInvariantError):
        il.read_batch(client, "T", ["A"], "pk", concurrency=1)
    with faulty(client, DropMember("UnprocessedKeys")), pytest.raises(il.LedgerInvariantError) as caught:
        il.read_batch(client, "T", ["A", "B"], "pk", concurrency=1)
    assert il.Decision.REPAIR is caught.value.decision


@pytest.mark.parametrize("body", [b"[]", b"null", b"5", b'"text"'], ids=repr)
def test_json_that_is_no_object_is_no_usable_answer(make_client: MakeClient, body: bytes) -> None:
    client = make_client()
    with faulty(client, WireAnswer(body)):
        result = il.read_batch(client, "T", ["A"], "pk", concurrency=1)
    assert {"A"} == result.unresolved
    assert result.terminal_error is not None


OBJECT, CUT = b'{"Responses":{}}', b'{"Responses":{'


@pytest.mark.parametrize(
    ("body", "crc_of", "parsed", "expected"),
    [
        (OBJECT, OBJECT, True, BodyCheck.CRC32),
        (OBJECT, OBJECT, False, BodyCheck.CRC32),
        (OBJECT, None, True, BodyCheck.JSON),
        (OBJECT, None, False, BodyCheck.JSON),
        (OBJECT, CUT, True, "fails its x-amz-crc32 checksum"),
        (CUT, OBJECT, False, "fails its x-amz-crc32 checksum"),
        (CUT, CUT, False, "is not one whole JSON object"),
        (CUT, None, False, "is not one whole JSON object"),
        (b"", None, False, "is not one whole JSON object"),
        (b"[]", None, True, "is not one whole JSON object"),
        (b"\xff", None, True, "is not one whole JSON object"),
        (OBJECT + OBJECT, None, True, "is not one whole JSON object"),
        (CUT, CUT, True, BodyCheck.CRC32),  # the SDK has parsed members out of it: no second parse
    ],
)
def test_a_body_is_whole_by_its_checksum_or_by_its_json(
    body: bytes, crc_of: bytes | None, parsed: bool, expected: BodyCheck | str
) -> None:
    headers = {} if crc_of is None else {"x-amz-crc32": str(zlib.crc32(crc_of))}
    check = provider.check_body(body, headers, parsed)
    if isinstance(expected, BodyCheck):
        assert expected is check
    else:
        assert not isinstance(check, BodyCheck)
        assert f"the body of {len(body)} bytes {expected}" == check


# ------------------------------------------------------------------------------------------------ errors and causes


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("ProvisionedThroughputExceededException", 400, FailureCause.THROTTLED),
        ("ProvisionedThroughputExceeded", 400, FailureCause.THROTTLED),
        ("com.amazonaws.dynamodb.v20120810#ThrottlingException", 400, FailureCause.THROTTLED),
        ("RequestLimitExceeded", 400, FailureCause.THROTTLED),
        ("SomethingNew", 429, FailureCause.THROTTLED),
        ("InternalServerError", 500, FailureCause.TRANSIENT),
        ("InternalServerError", 400, FailureCause.TRANSIENT),
        ("ServiceUnavailable", 503, FailureCause.TRANSIENT),
        ("SomethingNew", 502, FailureCause.TRANSIENT),
        ("com.amazon.coral.service#ExpiredTokenException", 400, FailureCause.CREDENTIALS),
        ("UnrecognizedClientException", 400, FailureCause.CREDENTIALS),
        ("ValidationException", 400, FailureCause.REFUSED),
        ("com.amazon.coral.validate#ValidationException", 400, FailureCause.REFUSED),
        ("ResourceNotFoundException", 400, FailureCause.REFUSED),
        ("AccessDeniedException", 400, FailureCause.REFUSED),
        ("SomethingNew", 400, FailureCause.UNKNOWN),
    ],
)
def test_an_error_code_in_any_spelling_has_its_cause(
    make_client: MakeClient, code: str, status: int, expected: FailureCause
) -> None:
    client = make_client()
    with faulty(client, WireAnswer({"__type": code, "message": "told"}, status=status)):
        failure = failed(call(client))
    assert expected is failure.cause
    assert "#" not in failure.code
    assert ("told", "SYNTHETIC-1", 0, EvidenceLabel.SYNTHETIC) == (
        failure.message,
        failure.request_id,
        failure.sdk_retry_attempts,
        failure.label,
    )
    assert (expected in (FailureCause.THROTTLED, FailureCause.TRANSIENT)) == failure.error.transient


def test_an_error_page_without_a_code_goes_by_its_status(make_client: MakeClient) -> None:
    client = make_client()
    with faulty(client, NotJson(status=503), NotJson(status=403)):
        assert FailureCause.TRANSIENT is failed(call(client)).cause
        assert FailureCause.UNKNOWN is failed(call(client)).cause


@pytest.mark.parametrize(
    "error",
    [
        sdk.EndpointConnectionError(**URL),
        sdk.ConnectTimeoutError(**URL),
        sdk.ReadTimeoutError(**URL),
        sdk.ConnectionClosedError(**URL),
        sdk.ProxyConnectionError(proxy_url="http://127.0.0.1:1"),
        sdk.HTTPClientError(error="reset"),
        sdk.ResponseStreamingError(error="cut"),
        ConnectionResetError("reset by peer"),
        TimeoutError("timed out"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_connection_that_failed_may_work_later(error: Any) -> None:
    failure = failure_of(error)
    assert (FailureCause.TRANSIENT, type(error).__name__) == (failure.cause, failure.code)
    assert failure.error.transient
    assert failure.label is None  # nothing came back that could be labelled


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (sdk.NoCredentialsError(), FailureCause.CREDENTIALS),
        (sdk.PartialCredentialsError(provider="p", cred_var="v"), FailureCause.CREDENTIALS),
        (sdk.CredentialRetrievalError(provider="p", error_msg="m"), FailureCause.CREDENTIALS),
        (sdk.TokenRetrievalError(provider="p", error_msg="m"), FailureCause.CREDENTIALS),
        (sdk.UnauthorizedSSOTokenError(), FailureCause.CREDENTIALS),
        (sdk.SSLError(error=OSError("certificate"), **URL), FailureCause.REFUSED),
        (sdk.ParamValidationError(report="r"), FailureCause.REFUSED),
        (sdk.NoRegionError(), FailureCause.REFUSED),
        (sdk.ChecksumError(checksum_type="crc32", expected_checksum="1", actual_checksum="2"), FailureCause.DAMAGED),
        (AttributeError("'list' object has no attribute 'get'"), FailureCause.UNKNOWN),
        (ValueError("never documented"), FailureCause.UNKNOWN),
        (sdk.BotoCoreError(), FailureCause.UNKNOWN),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.label,
)
def test_an_exception_of_the_sdk_has_its_cause_and_one_that_nobody_documents_is_not_guessed(
    error: Exception, expected: FailureCause
) -> None:
    failure = failure_of(error)
    assert (expected, type(error).__name__) == (failure.cause, failure.code)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()], ids=repr)
def test_an_interrupt_passes_through_as_it_came(interrupt: BaseException) -> None:
    with pytest.raises(type(interrupt)) as caught:
        failure_of(interrupt)
    assert interrupt is caught.value


def test_a_client_that_returns_something_else_gives_no_usable_response() -> None:
    class Odd:
        def batch_get_item(self, **_: Any) -> list[int]:
            return [1]

    failure = failed(provider.call(Odd(), "batch_get_item", {}))
    assert (FailureCause.UNKNOWN, "list") == (failure.cause, failure.code)


# ---------------------------------------------------------------------------------------------- the SDK's own retries


@pytest.mark.parametrize("mode", ["legacy", "standard"])
def test_retries_are_told_by_the_metadata_and_stand_beside_the_pass(make_client: MakeClient, mode: str) -> None:
    client = make_client(mode, 3)
    with faulty(client, ServerError(), ServerError()):
        result = il.read_batch(client, "T", ["A", "B"], "pk", concurrency=1)
    assert (1, 1, 2) == (
        result.totals.calls,
        result.totals.application_passes,
        result.totals.sdk_retry_attempts,
    )


def test_retries_of_a_call_that_failed_are_told_too(make_client: MakeClient) -> None:
    client = make_client("standard", 3)
    with faulty(client, ServerError(), ServerError(), ServerError()):
        failure = failed(call(client))
    assert (2, "SYNTHETIC-3") == (failure.sdk_retry_attempts, failure.request_id)


@pytest.mark.parametrize("mode", ["legacy", "standard"])
@pytest.mark.parametrize("attempts", [1, 3])
def test_retries_of_a_call_that_timed_out_are_counted(make_client: MakeClient, attempts: int, mode: str) -> None:
    client = make_client(mode, attempts)
    with faulty(client, *[ResetAfter()] * attempts) as injector:
        failure = failed(call(client))
    assert attempts == injector.attempts
    assert (attempts - 1, None, None) == (failure.sdk_retry_attempts, failure.label, failure.request_id)


def test_a_timeout_after_an_answer_rests_on_that_answer_s_label(make_client: MakeClient) -> None:
    client = make_client("standard", 2)
    with faulty(client, ServerError(), ResetBefore()):
        failure = failed(call(client))
    assert (1, EvidenceLabel.SYNTHETIC) == (failure.sdk_retry_attempts, failure.label)


def test_without_observers_the_retries_of_a_timeout_are_unknown_and_not_zero(make_client: MakeClient) -> None:
    client = make_client("standard", 2)
    with faulty(client, ResetAfter(), ResetAfter()):
        assert failed(provider.call(client, "batch_get_item", ASK)).sdk_retry_attempts is None


def test_a_call_that_was_throttled_on_the_way_says_so(make_client: MakeClient) -> None:
    client = make_client("standard", 2)
    with faulty(client, Throttle(), None, ServerError(), None):
        throttled, slow = usable(call(client)), usable(call(client))
    assert (True, 1) == (throttled.sdk_throttled, throttled.sdk_retry_attempts)
    assert (False, 1) == (slow.sdk_throttled, slow.sdk_retry_attempts)


def test_leftovers_of_a_throttled_call_are_put_down_to_the_throttle(make_client: MakeClient) -> None:
    client = make_client("standard", 2)
    left = WireAnswer({"Responses": {"T": ROWS[:1]}, "UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "B"}}]}}})
    with faulty(client, Throttle(), left, left, None):
        result = il.read_batch(client, "T", ["A", "B"], "pk", concurrency=1, sleep=lambda _: None, max_passes=1)
        assert (il.LeftoverCause.THROTTLE,) == tuple(entry.leftover_cause for entry in result.ledger)
        with pytest.raises(il.LedgerInvariantError):  # the second answer names A, which pass 2 did not ask for
            il.resume(client, result.hold_record(), concurrency=1)
        assert usable(call(client)).sdk_throttled is False


# ------------------------------------------------------------------------------------------------------ the observers


def handlers(client: Any) -> list[Any]:
    """Everything registered for the two events that are observed."""
    found: list[Any] = []
    emitter = client.meta.events
    for event in ("response-received.dynamodb.BatchGetItem", "after-call.dynamodb.BatchGetItem"):
        found += emitter._emitter._handlers.prefix_search(event)  # the SDK has no public way to list them
    return found


def test_observers_are_put_on_a_client_once(make_client: MakeClient) -> None:
    client = make_client()
    before = handlers(client)
    provider.observe(client)
    once = handlers(client)
    provider.observe(client)
    provider.observe(client)
    assert len(before) + 2 == len(once)
    assert once == handlers(client)


def test_a_client_without_events_is_left_as_it_is() -> None:
    class Bare:
        def batch_get_item(self, **_: Any) -> Mapping[str, Any]:
            return {"Responses": {"T": []}, "UnprocessedKeys": {}}

    bare = Bare()
    provider.observe(bare)
    assert {} == vars(bare)
    result = il.read_batch(bare, "T", ["A"], "pk", concurrency=1)
    assert {"A"} == result.processed_not_returned
    assert result.totals.sdk_retry_attempts is None


@pytest.mark.parametrize("fault", [None, CutBody(at=0.5), WrongCrc(), EmptyBody()], ids=str)
def test_the_caller_s_own_calls_are_what_they_were(make_client: MakeClient, fault: Fault | None) -> None:
    observed, plain = make_client(), make_client()
    provider.observe(observed)
    answers: list[Any] = []
    for client in (observed, plain):
        with faulty(client, fault):
            answers.append(client.batch_get_item(**ASK))
    assert answers[0] == answers[1]
    with faulty(observed, Throttle()), pytest.raises(sdk.ClientError):
        observed.batch_get_item(**ASK)


def test_what_the_caller_did_before_does_not_count_into_our_call(make_client: MakeClient) -> None:
    client = make_client("standard", 3)
    provider.observe(client)
    with faulty(client, Throttle(), Throttle()):
        client.batch_get_item(**ASK)
        answer = usable(call(client))
    assert (0, False) == (answer.sdk_retry_attempts, answer.sdk_throttled)


def test_calls_of_other_threads_are_not_mixed_in(make_client: MakeClient) -> None:
    """One thread's call hangs while another is throttled, retried and times out, and a third is the caller's own."""
    client = make_client("standard", 2)
    provider.observe(client)
    release, reached = threading.Event(), threading.Event()
    ends: dict[str, Any] = {}
    faults = [Hang(release, reached), Throttle(), None, ResetAfter(), ResetAfter(), ServerError(), None]
    with faulty(client, *faults):
        slow = threading.Thread(target=lambda: ends.update(slow=call(client)))
        slow.start()
        assert reached.wait(30)
        for name in ("throttled", "lost"):
            thread = threading.Thread(target=lambda name=name: ends.update({name: call(client)}))
            thread.start()
            thread.join(30)
        client.batch_get_item(**ASK)
        release.set()
        slow.join(30)
    assert (0, False) == (usable(ends["slow"]).sdk_retry_attempts, usable(ends["slow"]).sdk_throttled)
    assert (1, True) == (usable(ends["throttled"]).sdk_retry_attempts, usable(ends["throttled"]).sdk_throttled)
    assert (1, None) == (failed(ends["lost"]).sdk_retry_attempts, failed(ends["lost"]).label)


def test_a_call_made_inside_another_call_s_hook_leaves_the_outer_one_its_own(make_client: MakeClient) -> None:
    """A caller's hook may read something itself while our call is on its way."""
    outer, inner = make_client(), make_client("standard", 2)
    seen: list[Answer] = []

    def hook(**_: Any) -> None:
        with faulty(inner, Throttle()):
            seen.append(usable(call(inner)))

    outer.meta.events.register("before-call.dynamodb", hook)
    with faulty(outer, None):
        answer = usable(call(outer))
    assert [(1, True)] == [(a.sdk_retry_attempts, a.sdk_throttled) for a in seen]
    assert (0, False, "SYNTHETIC-1") == (answer.sdk_retry_attempts, answer.sdk_throttled, answer.request_id)
    assert BodyCheck.CRC32 is answer.body_check  # its own bytes were seen, though another call ended in between


def test_an_exception_between_the_sdk_and_the_wire_is_no_usable_response(make_client: MakeClient) -> None:
    client = make_client()
    with faulty(client, Raise(RuntimeError("never documented"))):
        assert FailureCause.UNKNOWN is failed(call(client)).cause


def test_an_expired_token_is_tried_once_more_with_a_call_signed_anew(make_client: MakeClient) -> None:
    client = make_client()
    with faulty(client, ExpiredToken()) as injector:
        result = il.read_batch(client, "T", ["A", "B"], "pk", concurrency=1)
    assert (True, 2) == (result.complete, injector.attempts)


# ------------------------------------------------------------------------------------------------- described tables


def test_a_description_gives_the_key_in_its_order_and_the_arn() -> None:
    told = describe_table_response("T", {"zz": "N", "aa": "B"})
    told["Table"]["KeySchema"].reverse()
    description = provider.described(Answer(told))
    assert description is not None
    assert KeySchema(("zz", "aa"), (KeyType.N, KeyType.B)) == description.key
    assert "arn:aws:dynamodb:us-east-1:000000000000:table/T" == description.arn


@pytest.mark.parametrize(
    "table",
    [
        None,
        {},
        {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]},
        {"KeySchema": [], "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]},
        {
            "KeySchema": [{"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "sk", "AttributeType": "S"}],
        },
        {
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "BOOL"}],
        },
    ],
    ids=str,
)
def test_a_description_without_a_usable_key_ends_the_read_before_it_asks_for_items(table: Any) -> None:
    assert provider.described(Answer({"Table": table})) is None
    with ScriptedClient([{"Table": table}]) as client:
        result = il.read_batch(client, "T", ["A"], concurrency=1)
    assert {"A"} == result.unresolved
    assert result.terminal_error is not None
    assert "UnusableDescription" == result.terminal_error.code
    assert il.Decision.HOLD is result.decide()


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b'{"Responses":{"T":[{"pk":{"S":"a"}}]},"Responses":{"T":[]},"UnprocessedKeys":{}}', {}),
        (b'{"Responses":{"T":[]},"UnprocessedKeys":{}}', {"content-length": "99"}),
        (b"[" * 100_000, {}),
    ],
    ids=["a member twice", "shorter than its content-length", "nested without end"],
)
def test_a_body_that_contradicts_itself_or_its_headers_is_damaged(body: bytes, headers: dict[str, str]) -> None:
    assert not isinstance(provider.check_body(body, headers, parsed_something=True), BodyCheck)


def test_a_capacity_figure_that_is_no_number_of_units_is_unknown() -> None:
    for units in (float("inf"), float("nan"), -1, True, "1"):
        answer = batch_get_response([], table="T")
        answer["ConsumedCapacity"] = [{"TableName": "T", "CapacityUnits": units}]
        assert il.read_batch(ScriptedClient([answer]), "T", ["a"], "pk").totals.consumed is None
