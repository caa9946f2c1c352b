"""What a ledger holds: operations, a row per item, a batch per claim, a history entry per transition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.reconcile import Limits
from itemledger.core.write_api import Scope


@dataclass(frozen=True, slots=True)
class Operation:
    """One planned run over many items: its name, the API and the target it writes to, and the policy it goes by.

    ``planned_at`` is when its planning ended; before that nothing of it is sent. Times are the store's, in seconds
    since 1970.
    """

    operation_id: str
    api: str
    target: Mapping[str, Any]
    policy: Policy
    created_at: float = 0.0
    planned_at: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where an item's payload is: ``length`` bytes from ``offset`` of the file ``path``, or ``stored`` in the ledger.

    A row has one of the two, or neither when the caller's own worker brings its payloads.
    """

    path: str | None = None
    offset: int = 0
    length: int = 0
    stored: bytes | None = None


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item on its way into the ledger; ``refused`` says why it will never be sent, measured before."""

    item_id: str
    idempotency_key: str
    payload_hash: str
    size_bytes: int
    source: Source
    group_id: str | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """An item that was not planned: its idempotency key is taken by another payload.

    ``position`` is its place among the items given to ``plan``, ``row`` the number of the row that has the key.
    """

    position: int
    row: int
    operation_id: str


@dataclass(frozen=True, slots=True)
class Planned:
    """What planning did: new rows, items that were there already, and those refused."""

    new: int = 0
    repeated: int = 0
    refused: tuple[Conflict, ...] = ()


class Review(StrEnum):
    """Why a row waits for a person."""

    REFUSED = "refused"
    """The service rejects it, or it is over its own limit."""
    EXHAUSTED = "exhausted"
    """Its attempts or its claims are used up."""
    NO_LOOK_UP = "no_look_up"
    """It may be done, and nothing can be asked."""
    DIFFERENT = "different"
    """A look-up found other content in its place."""
    SUPERSEDED = "superseded"
    """A look-up found something newer in its place."""
    INCONCLUSIVE = "inconclusive"
    """Its look-ups are used up and settled nothing."""
    IRREVERSIBLE = "irreversible"
    """The run's policy lets nothing be sent again after an unknown end without a person."""
    LATE_SUCCESS = "late_success"
    """It was given up, and then the late answer of an earlier attempt said that it is done."""


@dataclass(frozen=True, slots=True)
class Row:
    """One item of the ledger, as the store has it. ``number`` is its row number, in the order of planning.

    ``epoch`` is that of the claim which holds it, ``None`` when it is free; ``last_epoch`` of the last one that did.
    ``attempts`` counts sends as claimed, ``claims`` every claim, ``look_ups`` those of the unknown end at hand.
    ``lost_attempts`` are sends whose end is unknown and which no look-up has ruled out. ``due_at`` is the next attempt
    or look-up, ``None`` when only a person or an earlier item of its group moves it on.

    ``replay_until`` is the end of the provider's window for the first send with an unknown end, and ``replay_of`` that
    send's batch where the window protects only its exact request. ``late_epoch`` is a lost claim whose late answer
    said that the item is done. ``batch_limit`` is how many items it may share a request with while the service refuses
    a batch for one of them. ``possible_duplicates`` counts sends beyond the first that may have had an effect too.
    ``dispatches`` counts every time that it went out, and nothing takes it back: zero proves that it was never sent.
    """

    number: int
    operation_id: str
    item_id: str
    idempotency_key: str
    payload_hash: str
    size_bytes: int
    source: Source
    outcome: Outcome
    updated_at: float
    group_id: str | None = None
    epoch: int | None = None
    last_epoch: int | None = None
    attempts: int = 0
    claims: int = 0
    look_ups: int = 0
    lost_attempts: int = 0
    due_at: float | None = None
    replay_until: float | None = None
    replay_of: int | None = None
    late_epoch: int | None = None
    batch_limit: int | None = None
    possible_duplicates: int = 0
    request_id: str | None = None
    object_ref: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    review: Review | None = None
    dispatches: int = 0


class Kind(StrEnum):
    """What a claim is for."""

    SEND = "send"
    READ_BACK = "read_back"


class BatchState(StrEnum):
    """Where a claim stands; only the first two hold their items."""

    CLAIMED = "claimed"
    DISPATCHED = "dispatched"
    RECORDED = "recorded"
    RELEASED = "released"
    LAPSED = "lapsed"
    """Its lease ran out first."""


@dataclass(frozen=True, slots=True)
class CallEvidence:
    """What one call left behind, once for its whole batch; ``code`` is set where it had no usable response."""

    request_id: str | None = None
    code: str | None = None
    message: str | None = None
    sdk_retry_attempts: int | None = None
    label: str | None = None
    body_check: str | None = None
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """A claim: who holds which rows until when. ``epoch`` is new at each claim and proves that it is still his.

    ``items`` is the exact composition in the order of the request, by row number. ``token`` is the request's own
    idempotency token, made at the claim; ``replay_safe_until`` the end of the provider's window for what it sent.
    """

    epoch: int
    operation_id: str
    kind: Kind
    worker: str
    state: BatchState
    lease_until: float
    items: tuple[int, ...]
    claimed_at: float
    token: str
    dispatched_at: float | None = None
    ended_at: float | None = None
    replay_scope: Scope | None = None
    replay_safe_until: float | None = None
    replay_of: int | None = None
    evidence: CallEvidence | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """What a worker can take: its name, what fits into a send and into a look-up (``None``: it makes none of them),
    and how long an item is left alone before it is looked up. Without ``new`` it takes nothing that is pending."""

    worker: str
    send: Limits | None
    read_back: Limits | None = None
    settle_s: float = 0.0
    new: bool = True


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim brought: a batch with its rows in order, or nothing to do now. ``at`` is the store's time of it.

    ``exhausted`` are rows that the claim moved to terminal instead. ``wait_s`` is how long until something is due or
    another worker's lease ends; ``None`` when nothing is left that a worker could move.
    """

    at: float
    batch: Batch | None = None
    rows: tuple[Row, ...] = ()
    exhausted: tuple[Row, ...] = ()
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """What a call or a look-up means for one row of a batch.

    ``delay_s`` is until the next attempt or look-up, ``None`` when only a person moves it on. ``charged=False`` gives
    the attempt, or the look-up, back. ``within_window`` says of a replay that the provider's window allows it, not the
    run's policy. ``detail`` goes into the history.
    """

    row: int
    event: Event
    delay_s: float | None = 0.0
    charged: bool = True
    request_id: str | None = None
    object_ref: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    review: Review | None = None
    batch_limit: int | None = None
    possible_duplicates: int = 0
    within_window: bool = False
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Which rows a record moved. With ``late`` it came after the claim was lost: kept as evidence, nothing moved."""

    moved: tuple[int, ...] = ()
    late: bool = False


class Decided(StrEnum):
    """What a person decides of one row."""

    SUCCEEDED = "succeeded"
    """It is done: somebody has looked."""
    RETRY = "retry"
    """Send it again."""
    TERMINAL = "terminal"
    """Leave it; for a terminal row this closes its review."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One transition of one row, append-only. ``event`` is an Event's value, or ``planned``, ``late`` or ``reviewed``.

    ``detail`` is what the event itself carried (codes, verdict, who and why); ``evidence`` that of the call, from the
    batch named by ``epoch``.
    """

    number: int
    row: int
    epoch: int | None
    event: str
    before: Outcome | None
    after: Outcome
    at: float
    detail: Mapping[str, Any]
    evidence: CallEvidence | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One operation at one moment, by the store's clock; ``rows`` come by number and must all be of that moment."""

    operation: Operation
    at: float
    counts: Mapping[Outcome, int]
    rows: Iterator[Row]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What retention took away, and what it left for which reason (``open``, ``review``, ``window``, ``business``)."""

    deleted: int
    kept: Mapping[str, int]
