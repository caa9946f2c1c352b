"""EventBridge PutEvents: one result for each event, by position.

Facts: service model 2015-10-07, PutEvents. An EventId says that the event was accepted, not that anybody got it: one is
returned for a bus that does not exist too (public reports).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

from itemledger.apis.by_position import Positional
from itemledger.apis.entry_shape import filled, read_entry, text, texts
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Limits, Mention, Silence
from itemledger.core.write_api import Effect, Entry, LookUp, Proof, Replay

TIME_BYTES = 14

# The model's ErrorCode lists retryable and other errors.
_RESULTS = Positional(
    results="Entries",
    count="FailedEntryCount",
    count_required=False,
    success=("EventId",),
    transient=("InternalFailure", "ThrottlingException"),
    rejected=(
        "AccessDeniedException",
        "InvalidAccountIdException",
        "InvalidArgument",
        "MalformedDetail",
        "RedactionFailure",
        "NotAuthorizedForSourceException",
        "NotAuthorizedForDetailTypeException",
    ),
)


class PutEvents:
    """Events of one bus, by its name or ARN; the account's default bus where none is named."""

    name = "events.PutEvents"
    service = "events"
    operation = "put_events"
    # "The total entry size must be less than 1 MB", taken as 1 MiB less one byte.
    limits = Limits(items=10, request_bytes=1024 * 1024 - 1, item_bytes=1024 * 1024 - 1)
    effect = Effect.APPEND
    replay: Replay | None = None
    look_up: LookUp | None = None
    own_effect_codes: frozenset[str] = frozenset()

    def __init__(self, *, event_bus_name: str | None = None) -> None:
        self._bus = event_bus_name

    @property
    def target(self) -> dict[str, Any]:
        return {} if self._bus is None else {"event_bus_name": self._bus}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {}, {"event_bus_name": str}))

    def entry(self, value: object, position: int) -> Entry:
        item_id, payload = read_entry(
            value,
            position,
            {"Source": filled, "DetailType": filled, "Detail": text},
            {"Time": _time, "Resources": texts, "TraceHeader": filled},
        )
        return Entry(item_id, payload, _size(payload))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        bus = {} if self._bus is None else {"EventBusName": self._bus}
        return {"Entries": [{**item.payload, **bus} for item in items]}

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        return _RESULTS.mentions(sent, response)

    def explain(self, failure: Failure) -> Proof:
        return explain_by_code(failure, not_processed=("ThrottlingException",), refused=("ValidationException",))


def _size(payload: Mapping[str, Any]) -> int:
    """As the user guide's "Calculating PutEvents event entry size" counts: a time is 14 bytes, the rest UTF-8."""
    size = TIME_BYTES if "Time" in payload else 0
    size += sum(len(payload[name].encode()) for name in ("Source", "DetailType", "Detail"))
    return size + sum(len(resource.encode()) for resource in payload.get("Resources", ()))


def _time(value: object) -> str:
    """As text in UTC, which every attempt sends alike."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ValueError("no time with its offset; give one such as 2025-01-31T12:00:00+00:00")
    return moment.astimezone(UTC).isoformat()
