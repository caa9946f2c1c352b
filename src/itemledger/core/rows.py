"""What a ledger holds: operations, a row per item, a batch per claim, a history entry per transition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from itemledger.core.outcome import Outcome
from itemledger.core.policy import Policy
from itemledger.core.write_api import Effect


@dataclass(frozen=True, slots=True)
class Operation:
    """One planned run over many items: its name, the API and the target it writes to, and the policy it goes by.

    ``effect`` is what sending an item of it twice does, ``endpoint`` where its calls go (region, and the address where
    it is not AWS's own), known from the first run of work on. ``former`` are the policies before this one, oldest
    first. ``planned_at`` is when its planning ended; before that nothing of it is sent. Times are the store's, in
    seconds since 1970.
    """

    operation_id: str
    api: str
    target: Mapping[str, Any]
    policy: Policy
    effect: Effect = Effect.APPEND
    created_at: float = 0.0
    planned_at: float | None = None
    endpoint: str | None = None
    former: tuple[FormerPolicy, ...] = ()


@dataclass(frozen=True, slots=True)
class FormerPolicy:
    """The policy that an operation went by until then."""

    policy: Policy
    until: float


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
    """Its attempts are used up, or its workers keep getting lost."""
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
    SOURCE_CHANGED = "source_changed"
    """Its payload is no longer what was planned: planning the same item again lets it go on."""


@dataclass(frozen=True, slots=True)
class Row:
    """One item of the ledger, as the store has it. ``number`` is its row number, in the order of planning.

    ``epoch`` is that of the claim which holds it, ``None`` when it is free; ``last_epoch`` of the last one that did.
    ``attempts`` counts sends as claimed, ``claims`` every claim, ``lapses`` those whose lease ran out, ``look_ups``
    those of the unknown end at hand.
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
    lapses: int = 0


class Decided(StrEnum):
    """What a person decides of one row."""

    SUCCEEDED = "succeeded"
    """It is done: somebody has looked."""
    RETRY = "retry"
    """Send it again."""
    TERMINAL = "terminal"
    """Leave it; for a terminal row this closes its review."""


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
