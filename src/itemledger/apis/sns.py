"""SNS PublishBatch, standard and FIFO: messages are named by Id, in Successful or in Failed.

Facts: service model 2010-03-31, PublishBatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from itemledger.apis.by_id import mentions_by_id, wire_entries
from itemledger.apis.entry_shape import attributes, attributes_bytes, filled, one_of, read_entry
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Limits, Mention, Silence
from itemledger.core.write_api import Effect, Entry, LookUp, Proof, Replay, Scope
from itemledger.errors import ManifestError

DEFAULT_BYTES, MOST_BYTES = 262_144, 1_048_576
WINDOW = Replay(Scope.ITEM, 300.0, "PublishBatch: messages are deduplicated across batches for five minutes")
THROTTLES = ("ThrottlingException", "Throttled", "KMSThrottling")


class PublishBatch:
    """Messages of one topic. ``max_bytes`` is the topic's MaximumMessageSize where it was raised.

    On a FIFO topic the MessageDeduplicationId is the item's idempotency key; on a standard one nothing recognises a
    repeat, and there is no look-up.
    """

    name = "sns.PublishBatch"
    service = "sns"
    operation = "publish_batch"
    effect = Effect.APPEND
    look_up: LookUp | None = None
    own_effect_codes: frozenset[str] = frozenset()

    def __init__(self, *, topic_arn: str, max_bytes: int = DEFAULT_BYTES) -> None:
        if not 1 <= max_bytes <= MOST_BYTES:
            raise ManifestError(f"{self.name}: max_bytes= is not from 1 to {MOST_BYTES:,}")
        self._topic, self._max_bytes = topic_arn, max_bytes
        self._fifo = topic_arn.endswith(".fifo")
        self.replay: Replay | None = WINDOW if self._fifo else None
        self.limits = Limits(items=10, request_bytes=max_bytes, item_bytes=max_bytes)

    @property
    def target(self) -> dict[str, Any]:
        return {"topic_arn": self._topic, "max_bytes": self._max_bytes}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {"topic_arn": str}, {"max_bytes": int}))

    def entry(self, value: object, position: int) -> Entry:
        optional = {
            "Subject": filled,
            "MessageStructure": one_of("json"),
            "MessageAttributes": attributes,
            "MessageGroupId": filled,
        }
        if self._fifo:
            optional["MessageDeduplicationId"] = filled
        required = {"Message": filled, **({"MessageGroupId": filled} if self._fifo else {})}
        item_id, payload = read_entry(value, position, required, optional)
        key = payload.pop("MessageDeduplicationId", None)
        size = len(payload["Message"].encode()) + len(payload.get("Subject", "").encode())
        size += attributes_bytes(payload.get("MessageAttributes", {}))
        return Entry(item_id, payload, size, key, payload.get("MessageGroupId") if self._fifo else None)

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        entries = wire_entries(items)
        if self._fifo:
            for entry, item in zip(entries, items, strict=True):
                entry["MessageDeduplicationId"] = item.idempotency_key
        return {"TopicArn": self._topic, "PublishBatchRequestEntries": entries}

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        return mentions_by_id(sent, response, THROTTLES, _check)

    def explain(self, failure: Failure) -> Proof:
        return explain_by_code(
            failure,
            not_processed=THROTTLES,
            refused=(
                "BatchRequestTooLong",
                "InvalidParameter",
                "InvalidParameterValue",
                "ParameterValueInvalid",
                "ValidationException",
            ),
            blocked=(
                "EndpointDisabled",
                "InvalidSecurity",
                "KMSDisabled",
                "KMSInvalidState",
                "KMSNotFound",
                "KMSOptInRequired",
                "NotFound",
                "PlatformApplicationDisabled",
            ),
        )


def _check(sent: Entry, told: Mapping[str, Any]) -> str | None:
    """Without a MessageId nothing says that the message is there ("When a messageId is returned, the batch message is
    saved")."""
    return None if isinstance(told.get("MessageId"), str) else "has no MessageId"
