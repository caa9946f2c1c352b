"""Kinesis PutRecords: one result for each record, by position. Order is not kept across a retry.

Facts: service model 2013-12-02, PutRecords.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from itemledger.apis.by_position import Positional
from itemledger.apis.entry_shape import blob, filled, read_entry
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Limits, Mention, Silence
from itemledger.core.write_api import Effect, Entry, LookUp, Proof, Replay

MIB = 1024 * 1024

# "ErrorCodes can be either ProvisionedThroughputExceededException or InternalFailure." The text calls both failures to
# add the record to the stream.
_RESULTS = Positional(
    results="Records",
    count="FailedRecordCount",
    count_required=False,
    success=("ShardId", "SequenceNumber"),
    transient=("ProvisionedThroughputExceededException", "InternalFailure"),
)


class PutRecords:
    """Records of a data stream. There is no look-up: a record that is not found in a shard may have been put later."""

    name = "kinesis.PutRecords"
    service = "kinesis"
    operation = "put_records"
    limits = Limits(items=500, request_bytes=10 * MIB, item_bytes=10 * MIB)
    effect = Effect.APPEND
    replay: Replay | None = None
    look_up: LookUp | None = None
    own_effect_codes: frozenset[str] = frozenset()

    def __init__(self, *, stream_name: str) -> None:
        self._stream = stream_name

    @property
    def target(self) -> dict[str, Any]:
        return {"stream_name": self._stream}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {"stream_name": str}))

    def entry(self, value: object, position: int) -> Entry:
        item_id, payload = read_entry(
            value, position, {"Data": blob, "PartitionKey": filled}, {"ExplicitHashKey": filled}
        )
        return Entry(item_id, payload, len(payload["Data"]) + len(payload["PartitionKey"].encode()))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        where = "StreamARN" if self._stream.startswith("arn:") else "StreamName"
        return {where: self._stream, "Records": [dict(item.payload) for item in items]}

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        return _RESULTS.mentions(sent, response)

    def explain(self, failure: Failure) -> Proof:
        # Throttled records are named one by one in an answer; an exception in its place refuses the whole request.
        return explain_by_code(
            failure,
            not_processed=(
                "ProvisionedThroughputExceededException",
                "ThrottlingException",
                "KMSThrottlingException",
            ),
            refused=("InvalidArgumentException", "ValidationException"),
            blocked=("KMSDisabledException", "KMSInvalidStateException", "KMSNotFoundException", "KMSOptInRequired"),
        )
