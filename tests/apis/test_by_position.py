"""Kinesis, Firehose and EventBridge: one result for each item by position, or the answer is refused whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from itemledger.apis.aws_errors import classify
from itemledger.apis.eventbridge import PutEvents
from itemledger.apis.firehose import PutRecordBatch
from itemledger.apis.kinesis import PutRecords
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Finding, Silence
from itemledger.core.write_api import Effect, ItemError, Proof, WriteApi
from itemledger.errors import LedgerInvariantError, ManifestError
from tests.apis.messages import client_of, entries, model_faults, send, settled
from tests.engines.launch import Engine

RECORD = {"Data": "AAEC", "PartitionKey": "p"}
EVENT = {"Source": "s", "DetailType": "t", "Detail": "{}"}


@dataclass(frozen=True)
class Shape:
    """One API, and how its answers are spelled; all answers here are made up, so synthetic."""

    api: WriteApi
    item: dict[str, Any]
    results: str
    count: str
    success: dict[str, str]
    ref: str
    transient: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    count_may_be_absent: bool = True

    def answer(self, *codes: str | None) -> dict[str, Any]:
        results = [self.success if code is None else {"ErrorCode": code, "ErrorMessage": "m"} for code in codes]
        return {self.results: results, self.count: sum(code is not None for code in codes)}


KINESIS = Shape(
    PutRecords(stream_name="s"),
    RECORD,
    "Records",
    "FailedRecordCount",
    {"ShardId": "shard-0", "SequenceNumber": "17"},
    "shard-0/17",
    ("ProvisionedThroughputExceededException", "InternalFailure"),
)
FIREHOSE = Shape(
    PutRecordBatch(delivery_stream_name="d"),
    {"Data": "AAEC"},
    "RequestResponses",
    "FailedPutCount",
    {"RecordId": "r"},
    "r",
    ("ServiceUnavailableException",),
    count_may_be_absent=False,
)
EVENTS = Shape(
    PutEvents(event_bus_name="b"),
    EVENT,
    "Entries",
    "FailedEntryCount",
    {"EventId": "e"},
    "e",
    ("InternalFailure", "ThrottlingException"),
    (
        "AccessDeniedException",
        "InvalidAccountIdException",
        "InvalidArgument",
        "MalformedDetail",
        "RedactionFailure",
        "NotAuthorizedForSourceException",
        "NotAuthorizedForDetailTypeException",
    ),
)
every_shape = pytest.mark.parametrize("shape", [KINESIS, FIREHOSE, EVENTS], ids=lambda shape: str(shape.api.name))


@every_shape
def test_a_synthetic_success_carries_what_the_service_calls_it(shape: Shape) -> None:
    sent = entries(shape.api, [shape.item] * 2)
    assert [(Finding.SUCCEEDED, shape.ref)] * 2 == [
        (mention.finding, mention.value) for mention in settled(shape.api, sent, shape.answer(None, None))
    ]


@every_shape
def test_every_code_of_the_table_is_read_by_the_table_and_no_other_is_guessed(shape: Shape) -> None:
    codes = [*shape.transient, *shape.rejected, "SomethingNew"]
    sent = entries(shape.api, [shape.item] * len(codes))
    expected = [Finding.TRANSIENT] * len(shape.transient) + [Finding.REJECTED] * len(shape.rejected)
    mentions = settled(shape.api, sent, shape.answer(*codes))
    assert [*expected, Finding.UNKNOWN] == [mention.finding for mention in mentions]
    assert [ItemError(code, "m") for code in codes] == [mention.value for mention in mentions]


@every_shape
def test_fc_55_failures_at_positions_0_and_3_are_those_of_items_0_and_3(shape: Shape) -> None:
    sent = entries(shape.api, [shape.item] * 4)
    mentions = settled(shape.api, sent, shape.answer(shape.transient[0], None, None, shape.transient[0]))
    assert [0, 3] == [mention.position for mention in mentions if mention.finding is Finding.TRANSIENT]


@every_shape
@pytest.mark.parametrize("length", [0, 1, 3])
def test_an_answer_of_another_length_is_refused_whole(shape: Shape, length: int) -> None:
    sent = entries(shape.api, [shape.item] * 2)
    with pytest.raises(LedgerInvariantError, match="none can be told apart"):
        settled(shape.api, sent, shape.answer(*[None] * length))


@every_shape
@pytest.mark.parametrize("count", [0, 2, "1", True, -1])
def test_a_count_that_disagrees_with_the_list_is_refused(shape: Shape, count: object) -> None:
    sent = entries(shape.api, [shape.item] * 2)
    with pytest.raises(LedgerInvariantError, match="does not agree with the 1 failures"):
        settled(shape.api, sent, {**shape.answer("InternalFailure", None), shape.count: count})


@every_shape
def test_a_count_of_zero_is_no_failure_and_an_absent_one_only_where_it_may_be(shape: Shape) -> None:
    sent = entries(shape.api, [shape.item])
    answer = shape.answer(None)
    assert [Finding.SUCCEEDED] == [mention.finding for mention in settled(shape.api, sent, answer)]
    del answer[shape.count]
    if shape.count_may_be_absent:
        assert [Finding.SUCCEEDED] == [mention.finding for mention in settled(shape.api, sent, answer)]
    else:
        with pytest.raises(LedgerInvariantError):
            settled(shape.api, sent, answer)
    failed = shape.answer("InternalFailure")
    del failed[shape.count]
    with pytest.raises(LedgerInvariantError):
        settled(shape.api, sent, failed)


@every_shape
def test_a_result_that_is_neither_success_nor_failure_is_refused(shape: Shape) -> None:
    sent = entries(shape.api, [shape.item])
    both = {**shape.success, "ErrorCode": "InternalFailure"}
    malformed: list[object] = [{}, {"ErrorMessage": "m"}, both, {"ErrorCode": 5}, "text"]
    malformed += [dict.fromkeys(shape.success, ""), dict.fromkeys(shape.success, 5)]
    for result in malformed:
        with pytest.raises(LedgerInvariantError):
            settled(shape.api, sent, {shape.results: [result], shape.count: 0})
    for absent in ({}, {shape.results: None}, {shape.results: "x"}):
        with pytest.raises(LedgerInvariantError):
            settled(shape.api, sent, absent)


@every_shape
def test_a_request_is_one_that_the_sdk_sends_and_the_target_makes_the_same_api(shape: Shape) -> None:
    sent = entries(shape.api, [shape.item] * 2)
    assert "" == model_faults(shape.api, shape.api.request(sent))
    again = type(shape.api).of(shape.api.target)
    assert shape.api.request(sent) == again.request(sent)
    with pytest.raises(ManifestError, match="knows no nonsense="):
        type(shape.api).of({**shape.api.target, "nonsense": "x"})
    assert (Silence.FORBIDDEN, Effect.APPEND, None, None) == (
        shape.api.silence(),
        shape.api.effect,
        shape.api.replay,
        shape.api.look_up,
    )


@every_shape
def test_whole_calls_prove_what_their_code_is_documented_to_prove(shape: Shape) -> None:
    def proof(code: str, status: int = 400, retries: int | None = 0) -> Proof:
        return shape.api.explain(Failure(classify(code, status), code, "", sdk_retry_attempts=retries))

    assert Proof.NOT_PROCESSED is proof("ThrottlingException")
    assert Proof.REFUSED is proof("ValidationException")
    assert Proof.BLOCKED is proof("AccessDeniedException")
    assert Proof.BLOCKED is proof("ExpiredTokenException")
    assert Proof.NOTHING is proof("InternalFailure", 500)
    assert Proof.NOTHING is proof("ServiceUnavailableException", 503)
    assert Proof.NOTHING is proof("ReadTimeoutError")
    assert Proof.NOTHING is proof("ThrottlingException", retries=1)  # how the attempt before it ended is not told


def test_sizes_are_counted_as_each_service_counts_them() -> None:
    assert 3 + 1 == KINESIS.api.entry(RECORD, 0).size_bytes
    assert 3 + 2 == KINESIS.api.entry({"Data": b"abc", "PartitionKey": "ü"}, 0).size_bytes
    assert 3 == FIREHOSE.api.entry({"Data": "AAEC"}, 0).size_bytes
    timed = {**EVENT, "Time": "2025-01-31T12:00:00+01:00", "Resources": ["ab", "ü"], "TraceHeader": "x"}
    assert 1 + 1 + 2 + 14 + 2 + 2 == EVENTS.api.entry(timed, 0).size_bytes
    assert "2025-01-31T11:00:00+00:00" == EVENTS.api.entry(timed, 0).payload["Time"]
    assert (500, 10 * 2**20, 10 * 2**20) == (
        KINESIS.api.limits.items,
        KINESIS.api.limits.request_bytes,
        KINESIS.api.limits.item_bytes,
    )
    assert (500, 4 * 2**20, 1_024_000) == (
        FIREHOSE.api.limits.items,
        FIREHOSE.api.limits.request_bytes,
        FIREHOSE.api.limits.item_bytes,
    )
    assert (10, 2**20 - 1) == (EVENTS.api.limits.items, EVENTS.api.limits.request_bytes)


def test_a_stream_may_be_named_by_its_arn() -> None:
    arn = "arn:aws:kinesis:us-east-1:123456789012:stream/s"
    api = PutRecords(stream_name=arn)
    assert {"StreamARN", "Records"} == api.request(entries(api, [RECORD])).keys()


def test_kinesis_on_moto_stores_each_record_once(moto: Engine) -> None:
    client = client_of("kinesis", moto)
    client.create_stream(StreamName="positions", ShardCount=1)
    try:
        mentions = send(
            PutRecords(stream_name="positions"), client, [{**RECORD, "Data": b"a"}, {**RECORD, "Data": b"b"}]
        )
        shard = client.list_shards(StreamName="positions")["Shards"][0]["ShardId"]
        start = client.get_shard_iterator(StreamName="positions", ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        stored = client.get_records(ShardIterator=start["ShardIterator"])["Records"]
        assert [(b"a", mentions[0].value), (b"b", mentions[1].value)] == [
            (record["Data"], f"{shard}/{record['SequenceNumber']}") for record in stored
        ]
    finally:
        client.delete_stream(StreamName="positions")


def test_firehose_on_moto_accepts_each_record(moto: Engine) -> None:
    bucket, client = client_of("s3", moto), client_of("firehose", moto)
    bucket.create_bucket(Bucket="positions-bucket")
    client.create_delivery_stream(
        DeliveryStreamName="positions",
        S3DestinationConfiguration={
            "RoleARN": "arn:aws:iam::123456789012:role/r",
            "BucketARN": "arn:aws:s3:::positions-bucket",
        },
    )
    try:
        mentions = send(PutRecordBatch(delivery_stream_name="positions"), client, [{"Data": b"a"}, {"Data": b"b"}])
        assert [Finding.SUCCEEDED] * 2 == [mention.finding for mention in mentions]
        names = [each["Key"] for each in bucket.list_objects_v2(Bucket="positions-bucket")["Contents"]]
        assert b"ab" == b"".join(
            bucket.get_object(Bucket="positions-bucket", Key=name)["Body"].read() for name in names
        )
    finally:
        client.delete_delivery_stream(DeliveryStreamName="positions")


def test_one_malformed_event_on_moto_is_rejected_alone(moto: Engine) -> None:
    mentions = send(PutEvents(), client_of("events", moto), [EVENT, {**EVENT, "Detail": "no JSON"}, EVENT])
    assert [Finding.SUCCEEDED, Finding.REJECTED, Finding.SUCCEEDED] == [mention.finding for mention in mentions]
    assert "MalformedDetail" == mentions[1].value.code
