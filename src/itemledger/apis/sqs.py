"""SQS batches, standard and FIFO: entries are named by Id, in Successful or in Failed.

Facts: service model 2012-11-05.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from itemledger.apis.by_id import Check, mentions_by_id, wire_entries
from itemledger.apis.entry_shape import Reader, attributes, attributes_bytes, filled, read_entry, whole
from itemledger.apis.message_digests import attributes_md5, body_md5
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Limits, Mention, Silence
from itemledger.core.write_api import Effect, Entry, LookUp, Proof, Replay, Scope

MOST_BYTES = 1_048_576
WINDOW = Replay(Scope.ITEM, 300.0, "SendMessageBatch: MessageDeduplicationId, 5-minute minimum deduplication interval")
# RequestThrottled and KmsThrottled are the model's, ThrottlingException is common to all services.
THROTTLES = ("RequestThrottled", "ThrottlingException", "KmsThrottled", "KMS.ThrottlingException")
# In front of most codes where the service names the former query protocol's one, which the SDK then shows.
_QUERY_PREFIX = "AWS.SimpleQueueService."
_KMS_PROBLEMS = ("AccessDenied", "Disabled", "InvalidKeyUsage", "InvalidState", "NotFound", "OptInRequired")


class _QueueBatch:
    """What the three operations share: the queue, the limits, how answers name entries, what refusals mean."""

    name: str
    service = "sqs"
    operation: str
    effect = Effect.APPEND
    replay: Replay | None = None
    look_up: LookUp | None = None
    own_effect_codes: frozenset[str] = frozenset()
    limits = Limits(items=10)
    _required: Mapping[str, Reader] = {"ReceiptHandle": filled}
    _check: Check | None = None

    def __init__(self, *, queue_url: str) -> None:
        self._queue = queue_url

    @property
    def target(self) -> dict[str, Any]:
        return {"queue_url": self._queue}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {"queue_url": str}))

    def entry(self, value: object, position: int) -> Entry:
        item_id, payload = read_entry(value, position, self._required)
        return Entry(item_id, payload, len(payload["ReceiptHandle"].encode()))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {"QueueUrl": self._queue, "Entries": wire_entries(items)}

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        return mentions_by_id(sent, response, THROTTLES, self._check)

    def explain(self, failure: Failure) -> Proof:
        # The SDK shows AWS.SimpleQueueService.BatchRequestTooLong and KMS.ThrottlingException where the answer has an
        # x-amzn-query-error header, as AWS's has, and the model's bare names where it has none.
        return explain_by_code(
            replace(failure, code=failure.code.removeprefix(_QUERY_PREFIX)),
            not_processed=THROTTLES,
            refused=("BatchRequestTooLong", "InvalidMessageContents", "InvalidParameterValue", "UnsupportedOperation"),
            blocked=(
                "InvalidAddress",
                "InvalidSecurity",
                "NonExistentQueue",
                *(f"Kms{problem}" for problem in _KMS_PROBLEMS),
                *(f"KMS.{problem}" for problem in _KMS_PROBLEMS),
            ),
        )


class SendMessageBatch(_QueueBatch):
    """Messages of one queue. In a FIFO queue (its URL ends with ``.fifo``) order is kept within a message group, and
    the MessageDeduplicationId is the item's idempotency key; in a standard one nothing recognises a repeat."""

    name = "sqs.SendMessageBatch"
    operation = "send_message_batch"
    limits = Limits(items=10, request_bytes=MOST_BYTES, item_bytes=MOST_BYTES)

    def __init__(self, *, queue_url: str) -> None:
        super().__init__(queue_url=queue_url)
        self._fifo = queue_url.endswith(".fifo")
        self.replay = WINDOW if self._fifo else None

    def entry(self, value: object, position: int) -> Entry:
        required: dict[str, Reader] = {"MessageBody": filled}
        optional: dict[str, Reader] = {"MessageAttributes": attributes, "MessageSystemAttributes": attributes}
        if self._fifo:
            required["MessageGroupId"] = filled
            optional["MessageDeduplicationId"] = filled
        else:
            optional["DelaySeconds"] = whole(0, 900)
            optional["MessageGroupId"] = filled
        item_id, payload = read_entry(value, position, required, optional)
        key = payload.pop("MessageDeduplicationId", None)
        # System attributes do not count ("MessageSystemAttributes: the size doesn't count towards the total").
        size = len(payload["MessageBody"].encode()) + attributes_bytes(payload.get("MessageAttributes", {}))
        return Entry(item_id, payload, size, key, payload.get("MessageGroupId") if self._fifo else None)

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        request = super().request(items)
        if self._fifo:
            for entry, item in zip(request["Entries"], items, strict=True):
                entry["MessageDeduplicationId"] = item.idempotency_key
        return request

    @staticmethod
    def _check(sent: Entry, told: Mapping[str, Any]) -> str | None:
        """The queue says by digests what it got; a success of another message is none of ours.

        The model requires that of the body alone, so the other one is compared where both sides have one.
        """
        if not isinstance(told.get("MessageId"), str):
            return "has no MessageId"
        if told.get("MD5OfMessageBody") != body_md5(sent.payload["MessageBody"]):
            return "has the digest of another message"
        attributes, digest = sent.payload.get("MessageAttributes"), told.get("MD5OfMessageAttributes")
        if attributes and digest is not None and digest != attributes_md5(attributes):
            return "has the digest of other attributes"
        return None


class DeleteMessageBatch(_QueueBatch):
    """Receipt handles of messages that are done with; a second delete changes nothing."""

    name = "sqs.DeleteMessageBatch"
    operation = "delete_message_batch"
    effect = Effect.REPEATABLE


class ChangeMessageVisibilityBatch(_QueueBatch):
    """New visibility timeouts. A late repeat can shorten or stretch another consumer's lease: it is a second effect.

    A message that is not in flight may be so by our own earlier request: a timeout of 0 makes it visible at once.
    """

    name = "sqs.ChangeMessageVisibilityBatch"
    own_effect_codes = frozenset({"MessageNotInflight", f"{_QUERY_PREFIX}MessageNotInflight"})
    operation = "change_message_visibility_batch"
    _required: Mapping[str, Reader] = {"ReceiptHandle": filled, "VisibilityTimeout": whole(0, 43_200)}
