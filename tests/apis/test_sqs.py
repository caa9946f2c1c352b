"""What SQS has of its own: digests of what it received, codes in two spellings, and throttles that blame the sender."""

from __future__ import annotations

import json
from typing import Any

import pytest

from itemledger import provider
from itemledger.apis.message_digests import attributes_md5, body_md5
from itemledger.apis.sqs import ChangeMessageVisibilityBatch, DeleteMessageBatch, SendMessageBatch
from itemledger.core.answer import Answer, BodyCheck, Failure
from itemledger.core.reconcile import Finding
from itemledger.core.write_api import ItemError, Proof
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.ledger.planning import new_item
from tests.apis.messages import client_of, entries, settled
from tests.engines.launch import Engine
from tests.local_http import Reply, serving

SEND = SendMessageBatch(queue_url="https://q/standard")
ATTRIBUTES = {
    "b": {"DataType": "Number.int", "StringValue": "1"},
    "a": {"DataType": "Binary.raw", "BinaryValue": "AP8="},
    "B": {"DataType": "String", "StringValue": "ü"},
}


def success(**more: str) -> dict[str, Any]:
    return {"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": body_md5("b"), **more}]}


def call(api: SendMessageBatch, reply: Reply, values: list[object]) -> Answer | Failure:
    """A call to a server that answers so; everything from the bytes on is the SDK's."""
    with serving(lambda request: reply) as url:
        client = client_of("sqs", Engine("scripted", url, 0))
        provider.observe(client, api.operation, api.service)
        return provider.call(client, api.operation, api.request(entries(api, values)))


def test_synthetic_digests_of_other_attributes_refuse_the_answer() -> None:
    sent = entries(SEND, [{"MessageBody": "b", "MessageAttributes": ATTRIBUTES}])
    digest = attributes_md5(sent[0].payload["MessageAttributes"])
    [mention] = settled(SEND, sent, success(MD5OfMessageAttributes=digest))
    assert (Finding.SUCCEEDED, "m") == (mention.finding, mention.value)
    with pytest.raises(LedgerInvariantError, match="the success of entry 0 of this call has the digest of other attr"):
        settled(SEND, sent, success(MD5OfMessageAttributes="0" * 32))


def test_a_digest_of_attributes_is_compared_only_where_both_sides_have_some() -> None:
    with_attributes = entries(SEND, [{"MessageBody": "b", "MessageAttributes": ATTRIBUTES}])
    without = entries(SEND, [{"MessageBody": "b"}])
    assert Finding.SUCCEEDED is settled(SEND, with_attributes, success())[0].finding
    # Some servers send the digest of no bytes where there are no attributes.
    assert Finding.SUCCEEDED is settled(SEND, without, success(MD5OfMessageAttributes=body_md5("")))[0].finding


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ({"DataType": "String", "StringValue": "v"}, {"DataType": "String", "StringValue": "w"}),
        ({"DataType": "String", "StringValue": "1"}, {"DataType": "Number", "StringValue": "1"}),
        ({"DataType": "String", "StringValue": "v"}, {"DataType": "String", "BinaryValue": b"v"}),
        ({"DataType": "String", "StringValue": "gv"}, {"DataType": "String", "StringValue": "v"}),
    ],
    ids=["value", "type", "kind of value", "border between two parts"],
)
def test_each_part_of_an_attribute_is_in_its_digest(value: dict[str, Any], other: dict[str, Any]) -> None:
    assert attributes_md5({"a": value}) != attributes_md5({"a": other})
    assert attributes_md5({"a": value}) != attributes_md5({"b": value})
    assert attributes_md5({"a": value, "b": other}) == attributes_md5({"b": other, "a": value})


@pytest.mark.parametrize("code", ["RequestThrottled", "ThrottlingException", "KmsThrottled", "KMS.ThrottlingException"])
@pytest.mark.parametrize("fault", [True, False])
@pytest.mark.parametrize(
    "api",
    [SEND, DeleteMessageBatch(queue_url="https://q"), ChangeMessageVisibilityBatch(queue_url="https://q")],
    ids=lambda api: str(api.name),
)
def test_a_synthetic_throttle_passes_even_when_it_is_called_the_senders_fault(
    api: SendMessageBatch, code: str, fault: bool
) -> None:
    item = {"MessageBody": "b"} if api is SEND else {"ReceiptHandle": "r", "VisibilityTimeout": 5}
    if isinstance(api, DeleteMessageBatch):
        del item["VisibilityTimeout"]
    answer = {"Failed": [{"Id": "0", "Code": code, "SenderFault": fault, "Message": "m"}]}
    [mention] = settled(api, entries(api, [item]), answer)
    assert (Finding.TRANSIENT, ItemError(code, "m")) == (mention.finding, mention.value)


@pytest.mark.parametrize(
    ("named", "query_code", "proof"),
    [
        ("BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", Proof.REFUSED),
        ("UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", Proof.REFUSED),
        ("InvalidMessageContents", "InvalidMessageContents", Proof.REFUSED),
        ("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", Proof.BLOCKED),
        ("InvalidAddress", "InvalidAddress", Proof.BLOCKED),
        ("InvalidSecurity", "InvalidSecurity", Proof.BLOCKED),
        ("KmsAccessDenied", "KMS.AccessDeniedException", Proof.BLOCKED),
        ("KmsDisabled", "KMS.DisabledException", Proof.BLOCKED),
        ("KmsInvalidKeyUsage", "KMS.InvalidKeyUsageException", Proof.BLOCKED),
        ("KmsInvalidState", "KMS.InvalidStateException", Proof.BLOCKED),
        ("KmsNotFound", "KMS.NotFoundException", Proof.BLOCKED),
        ("KmsOptInRequired", "KMS.OptInRequired", Proof.BLOCKED),
        ("RequestThrottled", "RequestThrottled", Proof.NOT_PROCESSED),
        ("KmsThrottled", "KMS.ThrottlingException", Proof.NOT_PROCESSED),
        ("SomethingNew", "AWS.SimpleQueueService.SomethingNew", Proof.NOTHING),
    ],
)
@pytest.mark.parametrize("with_header", [True, False], ids=["query code", "model's name"])
def test_a_synthetic_refusal_proves_the_same_under_either_spelling_of_its_code(
    named: str, query_code: str, proof: Proof, with_header: bool
) -> None:
    headers = {"Content-Type": "application/x-amz-json-1.0"}
    if with_header:
        headers["x-amzn-query-error"] = f"{query_code};Sender"
    body = json.dumps({"__type": f"com.amazonaws.sqs#{named}", "message": "m"}).encode()
    failure = call(SEND, Reply(400, body, headers), [{"MessageBody": "b"}])
    assert isinstance(failure, Failure)
    assert failure.code.startswith(query_code if with_header else named)  # the SDK shows it so, or we add "Exception"
    assert proof is SEND.explain(failure)


@pytest.mark.parametrize("absent", ['{"Successful":[%s]}', '{"Failed":null,"Successful":[%s]}'], ids=["absent", "null"])
def test_a_synthetic_list_that_is_absent_on_the_wire_is_one_that_the_sdk_leaves_out(absent: str) -> None:
    told = json.dumps(success()["Successful"][0])
    answer = call(SEND, Reply(200, (absent % told).encode()), [{"MessageBody": "b"}])
    assert isinstance(answer, Answer)
    assert (BodyCheck.JSON, ["Successful"]) == (answer.body_check, list(answer.response))
    assert Finding.SUCCEEDED is settled(SEND, entries(SEND, [{"MessageBody": "b"}]), answer.response)[0].finding


def test_a_message_of_a_mebibyte_is_planned_and_one_byte_more_is_refused_by_its_size() -> None:
    attribute = {"a": {"DataType": "String", "StringValue": "v"}}  # 1 + 6 + 1 bytes
    fits, over = (
        SEND.entry({"MessageBody": "x" * (length - 8), "MessageAttributes": attribute}, 0)
        for length in (1_048_576, 1_048_577)
    )
    assert None is new_item("o", SEND, fits, None).refused
    assert "1,048,577 bytes" in str(new_item("o", SEND, over, None).refused)


def test_a_system_attribute_is_sent_and_not_counted() -> None:
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}}
    [entry] = entries(SEND, [{"MessageBody": "b", "MessageSystemAttributes": trace}])
    assert 1 == entry.size_bytes
    assert trace == SEND.request([entry])["Entries"][0]["MessageSystemAttributes"]


def test_a_fifo_queue_takes_no_delay_of_a_single_message() -> None:
    fifo = SendMessageBatch(queue_url="https://q/ordered.fifo")
    with pytest.raises(ManifestError, match="has a member 'DelaySeconds'"):
        fifo.entry({"MessageBody": "b", "MessageGroupId": "g", "DelaySeconds": 1}, 0)
    assert 1 == SEND.entry({"MessageBody": "b", "DelaySeconds": 1}, 0).payload["DelaySeconds"]


def test_moto_computes_the_same_digests(moto: Engine) -> None:
    client = client_of("sqs", moto)
    queue = client.create_queue(QueueName="digests")["QueueUrl"]
    try:
        api = SendMessageBatch(queue_url=queue)
        sent = entries(api, [{"MessageBody": "ü\r\n", "MessageAttributes": ATTRIBUTES}])
        response = client.send_message_batch(**api.request(sent))
        [told] = response["Successful"]
        assert attributes_md5(sent[0].payload["MessageAttributes"]) == told["MD5OfMessageAttributes"]
        assert Finding.SUCCEEDED is settled(api, sent, response)[0].finding
    finally:
        client.delete_queue(QueueUrl=queue)


def test_moto_refuses_a_batch_that_is_too_long_and_keeps_none_of_it(moto: Engine) -> None:
    client = client_of("sqs", moto)
    queue = client.create_queue(QueueName="too-long")["QueueUrl"]
    try:
        api = SendMessageBatch(queue_url=queue)
        sent = entries(api, [{"MessageBody": "x" * 600_000}] * 2)
        provider.observe(client, api.operation, api.service)
        failure = provider.call(client, api.operation, api.request(sent))
        assert isinstance(failure, Failure)
        assert Proof.REFUSED is api.explain(failure)
        assert "Messages" not in client.receive_message(QueueUrl=queue)
    finally:
        client.delete_queue(QueueUrl=queue)


def test_moto_has_no_deleted_message_left(moto: Engine) -> None:
    client = client_of("sqs", moto)
    queue = client.create_queue(QueueName="deleted")["QueueUrl"]
    try:
        client.send_message(QueueUrl=queue, MessageBody="b")
        [got] = client.receive_message(QueueUrl=queue)["Messages"]
        show, delete = ChangeMessageVisibilityBatch(queue_url=queue), DeleteMessageBatch(queue_url=queue)
        handle = {"ReceiptHandle": got["ReceiptHandle"]}
        client.change_message_visibility_batch(**show.request(entries(show, [{**handle, "VisibilityTimeout": 0}])))
        [again] = client.receive_message(QueueUrl=queue)["Messages"]
        assert got["MessageId"] == again["MessageId"]
        client.delete_message_batch(**delete.request(entries(delete, [{"ReceiptHandle": again["ReceiptHandle"]}])))
        counted = client.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
        assert ("0", "0") == (
            counted["ApproximateNumberOfMessages"],
            counted["ApproximateNumberOfMessagesNotVisible"],
        )
    finally:
        client.delete_queue(QueueUrl=queue)


def test_a_message_that_is_not_in_flight_may_be_so_by_our_own_earlier_request() -> None:
    codes = ChangeMessageVisibilityBatch(queue_url="https://q/standard").own_effect_codes
    assert {"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"} == codes
    assert frozenset() == DeleteMessageBatch(queue_url="https://q/standard").own_effect_codes
