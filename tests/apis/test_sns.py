"""What SNS has of its own: a message is there when it has a MessageId, XML answers, a limit that a topic can raise."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger import provider
from itemledger.apis.aws_errors import classify
from itemledger.apis.sns import PublishBatch
from itemledger.core.answer import Answer, BodyCheck, Failure
from itemledger.core.reconcile import Finding
from itemledger.core.write_api import ItemError, Proof
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.ledger.planning import new_item
from tests.apis.messages import client_of, entries, send, settled
from tests.engines.launch import Engine
from tests.local_http import Reply, serving

TOPIC = "arn:aws:sns:us-east-1:123456789012:t"
PUBLISH = PublishBatch(topic_arn=TOPIC)
XML = (
    '<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult>{}</PublishBatchResult>'
    "<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></PublishBatchResponse>"
)
DONE = "<Successful><member><Id>0</Id><MessageId>m</MessageId></member></Successful>"


def answered(inner: str) -> Answer:
    """An answer of a server with these lists; everything from the bytes on is the SDK's."""
    with serving(lambda request: Reply(200, XML.format(inner).encode(), {"Content-Type": "text/xml"})) as url:
        client = client_of("sns", Engine("scripted", url, 0))
        provider.observe(client, PUBLISH.operation, PUBLISH.service)
        answer = provider.call(client, PUBLISH.operation, PUBLISH.request(entries(PUBLISH, [{"Message": "b"}])))
    assert isinstance(answer, Answer)
    assert BodyCheck.XML is answer.body_check
    return answer


@pytest.mark.parametrize("told", [{"Id": "0"}, {"Id": "0", "MessageId": None}, {"Id": "0", "MessageId": 5}], ids=str)
def test_a_synthetic_success_without_a_message_id_is_none(told: dict[str, Any]) -> None:
    with pytest.raises(LedgerInvariantError, match="the success of entry 0 of this call has no MessageId"):
        settled(PUBLISH, entries(PUBLISH, [{"Message": "b"}]), {"Successful": [told]})


@pytest.mark.parametrize("inner", [DONE, f"{DONE}<Failed/>"], ids=["absent", "empty"])
def test_a_synthetic_xml_answer_may_leave_a_list_out_or_empty(inner: str) -> None:
    [mention] = settled(PUBLISH, entries(PUBLISH, [{"Message": "b"}]), answered(inner).response)
    assert (Finding.SUCCEEDED, "m") == (mention.finding, mention.value)


@pytest.mark.parametrize("inner", ["", "<Successful/><Failed/>"], ids=["absent", "empty"])
def test_a_synthetic_xml_answer_without_any_entry_is_refused(inner: str) -> None:
    with pytest.raises(LedgerInvariantError, match="says nothing of item 0"):
        settled(PUBLISH, entries(PUBLISH, [{"Message": "b"}]), answered(inner).response)


@pytest.mark.parametrize(("fault", "finding"), [("true", Finding.REJECTED), ("false", Finding.TRANSIENT)])
def test_a_synthetic_xml_failure_is_divided_by_its_sender_fault(fault: str, finding: Finding) -> None:
    inner = f"<Failed><member><Id>0</Id><Code>C</Code><SenderFault>{fault}</SenderFault></member></Failed>"
    [mention] = settled(PUBLISH, entries(PUBLISH, [{"Message": "b"}]), answered(inner).response)
    assert (finding, ItemError("C")) == (mention.finding, mention.value)


@pytest.mark.parametrize("code", ["ThrottlingException", "Throttled", "KMSThrottling"])
def test_a_synthetic_throttle_passes_even_when_it_is_called_the_senders_fault(code: str) -> None:
    answer = {"Failed": [{"Id": "0", "Code": code, "SenderFault": True}]}
    assert Finding.TRANSIENT is settled(PUBLISH, entries(PUBLISH, [{"Message": "b"}]), answer)[0].finding


@pytest.mark.parametrize(
    ("code", "status", "proof"),
    [
        ("InvalidParameter", 400, Proof.REFUSED),
        ("ParameterValueInvalid", 400, Proof.REFUSED),
        ("BatchRequestTooLong", 400, Proof.REFUSED),
        ("ValidationException", 400, Proof.REFUSED),
        ("AuthorizationError", 403, Proof.BLOCKED),
        ("InvalidSecurity", 403, Proof.BLOCKED),
        ("NotFound", 404, Proof.BLOCKED),
        ("EndpointDisabled", 400, Proof.BLOCKED),
        ("PlatformApplicationDisabled", 400, Proof.BLOCKED),
        ("KMSAccessDenied", 400, Proof.BLOCKED),
        ("KMSDisabled", 400, Proof.BLOCKED),
        ("KMSInvalidState", 400, Proof.BLOCKED),
        ("KMSNotFound", 400, Proof.BLOCKED),
        ("KMSOptInRequired", 403, Proof.BLOCKED),
        ("KMSThrottling", 400, Proof.NOT_PROCESSED),
        ("Throttled", 429, Proof.NOT_PROCESSED),
        ("InternalError", 500, Proof.NOTHING),
    ],
)
def test_a_whole_call_proves_what_the_code_of_the_model_is_documented_to_prove(
    code: str, status: int, proof: Proof
) -> None:
    assert proof is PUBLISH.explain(Failure(classify(code, status), code, "", sdk_retry_attempts=0))


@pytest.mark.parametrize("most", [262_144, 1_048_576])
def test_a_message_of_the_topics_maximum_is_planned_and_one_byte_more_is_refused_by_its_size(most: int) -> None:
    api = PublishBatch(topic_arn=TOPIC, max_bytes=most)
    attribute = {"a": {"DataType": "String", "StringValue": "v"}}  # 1 + 6 + 1 bytes
    fits, over = (
        api.entry({"Message": "x" * (length - 8), "MessageAttributes": attribute}, 0) for length in (most, most + 1)
    )
    assert None is new_item("o", api, fits, None).refused
    assert f"{most + 1:,} bytes" in str(new_item("o", api, over, None).refused)
    assert api.target == type(api).of(api.target).target


@pytest.mark.parametrize("most", [0, -1, 1_048_577])
def test_a_maximum_that_no_topic_can_have_is_refused(most: int) -> None:
    with pytest.raises(ManifestError, match="max_bytes="):
        PublishBatch.of({"topic_arn": TOPIC, "max_bytes": most})


def test_moto_delivers_a_repeated_fifo_message_once(moto: Engine) -> None:
    topics, queues = client_of("sns", moto), client_of("sqs", moto)
    topic = topics.create_topic(Name="once.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    queue = queues.create_queue(QueueName="once.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    try:
        arn = queues.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        raw = {"RawMessageDelivery": "true"}
        topics.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=raw)
        for _ in range(2):  # under the same idempotency keys
            mentions = send(
                PublishBatch(topic_arn=topic),
                topics,
                [{"Message": "a", "MessageGroupId": "1"}, {"Message": "b", "MessageGroupId": "2"}],
            )
            assert [Finding.SUCCEEDED] * 2 == [mention.finding for mention in mentions]
        got = queues.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
        assert ["a", "b"] == sorted(message["Body"] for message in got)
    finally:
        topics.delete_topic(TopicArn=topic)
        queues.delete_queue(QueueUrl=queue)
