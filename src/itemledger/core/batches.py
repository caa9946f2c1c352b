"""What happens to rows: a claim of them, what its call meant for each, and the history entry of every transition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from itemledger.core.outcome import Event, Outcome
from itemledger.core.reconcile import Limits
from itemledger.core.rows import Review, Row
from itemledger.core.write_api import Scope


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
    the attempt, or the look-up, back. ``only_earlier`` says of a lost send that it had no effect itself and an earlier
    one may have had one. ``within_window`` says of a replay that the provider's window allows it, not the
    run's policy. ``detail`` goes into the history.
    """

    row: int
    event: Event
    delay_s: float | None = 0.0
    charged: bool = True
    only_earlier: bool = False
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
