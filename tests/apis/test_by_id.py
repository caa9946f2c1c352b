"""SQS and SNS batches: every entry is named by its Id in one of two lists, or the answer is refused whole."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from itemledger.apis.aws_errors import classify
from itemledger.apis.sns import PublishBatch
from itemledger.apis.sqs import ChangeMessageVisibilityBatch, DeleteMessageBatch, SendMessageBatch
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Finding
from itemledger.core.write_api import Effect, ItemError, Proof, Scope, WriteApi
from itemledger.errors import LedgerInvariantError, ManifestError
from tests.apis.messages import client_of, entries, model_faults, send, settled
from tests.engines.launch import Engine

SEND = SendMessageBatch(queue_url="https://q/standard")
FIFO = SendMessageBatch(queue_url="https://q/ordered.fifo")
DELETE = DeleteMessageBatch(queue_url="https://q/standard")
VISIBILITY = ChangeMessageVisibilityBatch(queue_url="https://q/standard")
PUBLISH = PublishBatch(topic_arn="arn:aws:sns:us-east-1:123456789012:t")
PUBLISH_FIFO = PublishBatch(topic_arn="arn:aws:sns:us-east-1:123456789012:t.fifo")

ITEMS: dict[str, tuple[WriteApi, dict[str, Any]]] = {
    "send": (SEND, {"MessageBody": "b"}),
    "send-fifo": (FIFO, {"MessageBody": "b", "MessageGroupId": "g"}),
    "delete": (DELETE, {"ReceiptHandle": "r"}),
    "visibility": (VISIBILITY, {"ReceiptHandle": "r", "VisibilityTimeout": 5}),
    "publish": (PUBLISH, {"Message": "b"}),
    "publish-fifo": (PUBLISH_FIFO, {"Message": "b", "MessageGroupId": "g"}),
}
every_api = pytest.mark.parametrize(("api", "item"), ITEMS.values(), ids=ITEMS)


def done(wire_id: str, body: str = "b", **more: Any) -> dict[str, Any]:
    digest = hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
    return {"Id": wire_id, "MessageId": f"m{wire_id}", "MD5OfMessageBody": digest, **more}


def failed(wire_id: str, *, fault: bool = False, code: str = "SomeCode") -> dict[str, Any]:
    return {"Id": wire_id, "Code": code, "SenderFault": fault, "Message": "m"}


@every_api
def test_synthetic_entries_in_both_lists_are_told_by_their_ids_in_any_order(
    api: WriteApi, item: dict[str, Any]
) -> None:
    sent = entries(api, [item] * 4)
    answer = {"Successful": [done("3"), done("0")], "Failed": [failed("2", fault=True), failed("1")]}
    assert [
        (Finding.SUCCEEDED, "m0"),
        (Finding.TRANSIENT, ItemError("SomeCode", "m")),
        (Finding.REJECTED, ItemError("SomeCode", "m")),
        (Finding.SUCCEEDED, "m3"),
    ] == [(mention.finding, mention.value) for mention in settled(api, sent, answer)]


@every_api
@pytest.mark.parametrize("absent", ["Failed", "Successful"])
def test_a_list_that_is_left_out_is_an_empty_one(api: WriteApi, item: dict[str, Any], absent: str) -> None:
    sent = entries(api, [item])
    answer = {"Successful": [done("0")], "Failed": [failed("0")]}
    del answer[absent]
    expected = Finding.SUCCEEDED if absent == "Failed" else Finding.TRANSIENT
    assert [expected] == [mention.finding for mention in settled(api, sent, answer)]


@every_api
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"Successful": [], "Failed": []},
        {"Successful": [done("0")]},
        {"Successful": [done("0"), done("1"), done("2")]},
        {"Successful": [done("2"), done("1")]},
        {"Successful": [done("1")], "Failed": [failed("2")]},
        {"Successful": [done("0"), done("1")], "Failed": [failed("1")]},
        {"Successful": [done("0"), done("0"), done("1")]},
        {"Successful": [done("0"), done("01")]},
        {"Successful": [done("0"), done("-1")]},
        {"Successful": [done("0"), done("²")]},
        pytest.param({"Successful": [done("0"), done("1" * 5_000)]}, id="more digits than int() takes"),
        {"Successful": [done("0"), {"MessageId": "m"}]},
        {"Successful": [done("0"), "text"]},
        {"Successful": "text"},
        {"Successful": [done("0")], "Failed": [{"Id": "1", "Code": "c"}]},
        {"Successful": [done("0")], "Failed": [{"Id": "1", "SenderFault": True}]},
        {"Successful": [done("0")], "Failed": [{**failed("1"), "Message": 5}]},
    ],
    ids=str,
)
def test_an_answer_that_does_not_add_up_is_refused(api: WriteApi, item: dict[str, Any], answer: dict[str, Any]) -> None:
    with pytest.raises(LedgerInvariantError):
        settled(api, entries(api, [item] * 2), answer)


def test_a_success_with_the_digest_of_another_message_is_none() -> None:
    sent = entries(SEND, [{"MessageBody": "b"}])
    for told in (done("0", body="c"), {"Id": "0", "MessageId": "m"}, {**done("0"), "MessageId": None}):
        with pytest.raises(LedgerInvariantError, match="the success of entry 0"):
            settled(SEND, sent, {"Successful": [told]})


@every_api
def test_a_request_is_one_that_the_sdk_sends_under_ids_of_its_own(api: WriteApi, item: dict[str, Any]) -> None:
    sent = entries(api, [{**item, "Id": "my own/id with spaces"}, item])
    request = api.request(sent)
    assert "" == model_faults(api, request)
    (listed,) = [value for value in request.values() if isinstance(value, list)]
    assert ["0", "1"] == [entry["Id"] for entry in listed]
    assert ["my own/id with spaces", "2"] == [entry.item_id for entry in sent]
    assert request == type(api).of(api.target).request(sent)


@pytest.mark.parametrize(
    ("api", "item"), [(FIFO, ITEMS["send-fifo"][1]), (PUBLISH_FIFO, ITEMS["publish-fifo"][1])], ids=["sqs", "sns"]
)
def test_fifo_sends_the_idempotency_key_keeps_groups_and_is_recognised_for_five_minutes(
    api: WriteApi, item: dict[str, Any]
) -> None:
    own, made = entries(api, [{**item, "MessageDeduplicationId": "own"}, item])
    assert ("own", "key-1", "g", "g") == (own.idempotency_key, made.idempotency_key, own.group_id, made.group_id)
    (listed,) = [value for value in api.request([own, made]).values() if isinstance(value, list)]
    assert ["own", "key-1"] == [entry["MessageDeduplicationId"] for entry in listed]
    assert "MessageDeduplicationId" not in own.payload
    assert api.replay is not None
    assert (Scope.ITEM, 300.0) == (api.replay.scope, api.replay.life_s)
    with pytest.raises(ManifestError, match="position 0 has no MessageGroupId"):
        api.entry({name: value for name, value in item.items() if name != "MessageGroupId"}, 0)


def test_outside_fifo_nothing_recognises_a_repeat() -> None:
    for api in (SEND, PUBLISH, VISIBILITY):
        assert (Effect.APPEND, None, None) == (api.effect, api.replay, api.look_up)
    assert Effect.REPEATABLE is DELETE.effect
    for api, item in ((SEND, ITEMS["send"][1]), (PUBLISH, ITEMS["publish"][1])):
        with pytest.raises(ManifestError, match="MessageDeduplicationId"):
            api.entry({**item, "MessageDeduplicationId": "x"}, 0)
        assert api.entry({**item, "MessageGroupId": "tenant"}, 0).group_id is None


def test_bytes_are_body_and_attributes() -> None:
    attributes = {
        "ü": {"DataType": "String", "StringValue": "abc"},
        "b": {"DataType": "Binary.jpg", "BinaryValue": "AAEC"},
    }
    entry = SEND.entry({"MessageBody": "ü", "MessageAttributes": attributes}, 0)
    assert 2 + (2 + 6 + 3) + (1 + 10 + 3) == entry.size_bytes
    assert b"\x00\x01\x02" == entry.payload["MessageAttributes"]["b"]["BinaryValue"]
    assert 1 + 3 == PUBLISH.entry({"Message": "b", "Subject": "abc"}, 0).size_bytes
    assert (10, 1_048_576, 1_048_576) == (SEND.limits.items, SEND.limits.request_bytes, SEND.limits.item_bytes)
    assert (10, 262_144) == (PUBLISH.limits.items, PUBLISH.limits.request_bytes)
    assert 1_048_576 == PublishBatch(topic_arn="t", max_bytes=1_048_576).limits.request_bytes
    with pytest.raises(ManifestError, match="max_bytes="):
        PublishBatch(topic_arn="t", max_bytes=1_048_577)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("text", "is no object"),
        ({}, "has no MessageBody"),
        ({"MessageBody": None}, "has no MessageBody"),
        ({"MessageBody": ""}, "MessageBody that is empty"),
        ({"MessageBody": 5}, "MessageBody that is no text"),
        ({"MessageBody": "\ud800"}, "UTF-8 cannot carry"),
        ({"MessageBody": "b", "Nonsense": 1}, "has a member 'Nonsense'"),
        ({"MessageBody": "b", "Id": 5}, "an Id that is no text"),
        ({"MessageBody": "b", "Id": ""}, "an Id that is no text"),
        ({"MessageBody": "b", "DelaySeconds": 901}, "no whole number from 0 to 900"),
        ({"MessageBody": "b", "DelaySeconds": True}, "no whole number from 0 to 900"),
        ({"MessageBody": "b", "MessageAttributes": []}, "MessageAttributes that is no object"),
        ({"MessageBody": "b", "MessageAttributes": {"a": {"DataType": "String"}}}, "malformed in one attribute"),
        (
            {"MessageBody": "b", "MessageAttributes": {"a": {"DataType": "Binary", "BinaryValue": "?"}}},
            "no base64 text",
        ),
    ],
    ids=str,
)
def test_an_entry_that_could_never_be_sent_is_refused_by_position_without_its_values(value: Any, problem: str) -> None:
    with pytest.raises(ManifestError, match="item at position 7 ") as refused:
        SEND.entry(value, 7)
    assert problem in str(refused.value)
    assert (7,) == refused.value.positions


@every_api
def test_whole_calls_prove_what_their_code_is_documented_to_prove(api: WriteApi, item: dict[str, Any]) -> None:
    def proof(code: str, status: int = 400) -> Proof:
        return api.explain(Failure(classify(code, status), code, "", sdk_retry_attempts=0))

    assert Proof.REFUSED is proof("BatchRequestTooLong")
    assert Proof.BLOCKED is proof("AccessDenied", 403)
    assert Proof.BLOCKED is proof("QueueDoesNotExist" if api.service == "sqs" else "NotFound")
    assert Proof.NOT_PROCESSED is proof("ThrottlingException")
    assert Proof.NOT_PROCESSED is proof("EndpointConnectionError")
    assert Proof.NOTHING is proof("InternalFailure", 500)
    assert Proof.NOTHING is proof("ReadTimeoutError")


def test_messages_and_their_deletion_on_moto(moto: Engine) -> None:
    client = client_of("sqs", moto)
    queue = client.create_queue(QueueName="by-id")["QueueUrl"]
    try:
        bodies = [json.dumps({"n": n, "text": "ü"}, ensure_ascii=False) for n in range(3)]
        attributes = {"a": {"DataType": "Binary", "BinaryValue": "AAEC"}}
        sent = send(
            SendMessageBatch(queue_url=queue),
            client,
            [{"MessageBody": body, "MessageAttributes": attributes} for body in bodies],
        )
        got = client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
        assert {mention.value: body for mention, body in zip(sent, bodies, strict=True)} == {
            message["MessageId"]: message["Body"] for message in got
        }
        handles = [{"ReceiptHandle": message["ReceiptHandle"]} for message in got]
        shown = send(
            ChangeMessageVisibilityBatch(queue_url=queue),
            client,
            [{**at, "VisibilityTimeout": 0} for at in handles[:1]],
        )
        assert [Finding.SUCCEEDED] == [mention.finding for mention in shown]
        gone = send(DeleteMessageBatch(queue_url=queue), client, [*handles, {"ReceiptHandle": "foreign"}])
        assert [Finding.SUCCEEDED] * 3 + [Finding.REJECTED] == [mention.finding for mention in gone]
    finally:
        client.delete_queue(QueueUrl=queue)


def test_moto_recognises_a_repeated_fifo_message_by_its_idempotency_key(moto: Engine) -> None:
    client = client_of("sqs", moto)
    queue = client.create_queue(QueueName="by-id.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    try:
        api, item = SendMessageBatch(queue_url=queue), ITEMS["send-fifo"][1]
        assert [Finding.SUCCEEDED] == [mention.finding for mention in send(api, client, [item])]
        assert [Finding.SUCCEEDED] == [mention.finding for mention in send(api, client, [item])]
        assert 1 == len(client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"])
    finally:
        client.delete_queue(QueueUrl=queue)


def test_a_topics_messages_on_moto_reach_its_queue(moto: Engine) -> None:
    topics, queues = client_of("sns", moto), client_of("sqs", moto)
    topic, queue = (
        topics.create_topic(Name="by-id")["TopicArn"],
        queues.create_queue(QueueName="from-topic")["QueueUrl"],
    )
    try:
        arn = queues.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        topics.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        mentions = send(PublishBatch(topic_arn=topic), topics, [{"Message": "a"}, {"Message": "b"}])
        got = queues.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
        told = {body["MessageId"]: body["Message"] for body in (json.loads(message["Body"]) for message in got)}
        assert {mentions[0].value: "a", mentions[1].value: "b"} == told
    finally:
        topics.delete_topic(TopicArn=topic)
        queues.delete_queue(QueueUrl=queue)
