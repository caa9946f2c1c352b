"""Firehose PutRecordBatch: one result for each record, by position.

Facts: service model 2015-08-04, PutRecordBatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from itemledger.apis.by_position import Positional
from itemledger.apis.entry_shape import blob, read_entry
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Limits, Mention, Silence
from itemledger.core.write_api import Effect, Entry, LookUp, Proof, Replay

# The model's text has two codes. ServiceUnavailableException tells of exceeded throughput. InternalFailure is left out
# here, so that the end of its record is unknown: "If there is an internal server error or a timeout, the write might
# have completed or it might have failed", and FailedPutCount counts records "that might have failed processing".
_RESULTS = Positional(
    results="RequestResponses",
    count="FailedPutCount",
    count_required=True,
    success=("RecordId",),
    transient=("ServiceUnavailableException",),
)


class PutRecordBatch:
    """Records of a delivery stream; what was written is seen at the destination only, so nothing can be looked up."""

    name = "firehose.PutRecordBatch"
    service = "firehose"
    operation = "put_record_batch"
    limits = Limits(items=500, request_bytes=4 * 1024 * 1024, item_bytes=1000 * 1024)  # before base64
    effect = Effect.APPEND
    replay: Replay | None = None
    look_up: LookUp | None = None
    own_effect_codes: frozenset[str] = frozenset()

    def __init__(self, *, delivery_stream_name: str) -> None:
        self._stream = delivery_stream_name

    @property
    def target(self) -> dict[str, Any]:
        return {"delivery_stream_name": self._stream}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {"delivery_stream_name": str}))

    def entry(self, value: object, position: int) -> Entry:
        item_id, payload = read_entry(value, position, {"Data": blob})
        return Entry(item_id, payload, len(payload["Data"]))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {"DeliveryStreamName": self._stream, "Records": [dict(item.payload) for item in items]}

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        return _RESULTS.mentions(sent, response)

    def explain(self, failure: Failure) -> Proof:
        # ServiceUnavailableException of a whole call is in no table: no text says that nothing was written, and after
        # one "re-invoking the Put API operations […] can result in data duplicates".
        return explain_by_code(
            failure,
            not_processed=("ThrottlingException",),
            refused=("InvalidArgumentException", "ValidationException"),
            blocked=("InvalidKMSResourceException", "InvalidSourceException"),
        )
