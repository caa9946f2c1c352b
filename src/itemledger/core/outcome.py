"""The outcome law: where a ledger row can stand, what moves it, and whereto. Everything else is a breach.

The stores repeat each move as a conditional write; the diagram in ``docs/outcomes.md`` is made from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from itemledger.errors import LedgerLawError


class Outcome(StrEnum):
    """Where the row of one item stands."""

    PENDING = "pending"
    """Planned, and never sent."""
    IN_FLIGHT = "in_flight"
    """Dispatched: the call may have begun, and nothing of it is recorded yet."""
    SUCCEEDED = "succeeded"
    """Done, with evidence."""
    RETRYABLE = "retryable"
    """Proven not done, or allowed to be sent again."""
    RECONCILE = "reconcile"
    """It may be done: only a look-up, a live replay window or a person settles it."""
    TERMINAL = "terminal"
    """It will not be sent again unless a person reopens it."""


class Event(StrEnum):
    """What moves a row."""

    DISPATCHED = "dispatched"
    """Written down just before the call."""
    REFUSED_LOCALLY = "refused_locally"
    """Over its own limit: never sent."""
    EXHAUSTED = "exhausted"
    """Its attempts are used up, or its workers keep getting lost."""
    CONFIRMED = "confirmed"
    """The response says that it is done."""
    LEFT_UNPROCESSED = "left_unprocessed"
    """The response says that the service did not work on it."""
    FAILED_TRANSIENTLY = "failed_transiently"
    """The response says that it is not done, for a documented cause that passes."""
    NOT_PROCESSED = "not_processed"
    """The whole call failed with a code that is documented to mean that nothing was processed."""
    REFUSED = "refused"
    """The service rejects this item, and would again."""
    LOST = "lost"
    """No usable response: it may be done."""
    LEASE_EXPIRED = "lease_expired"
    """Its worker was not heard of in time after the dispatch: it may be done."""
    FOUND = "found"
    """Evidence came that it is done: a look-up, or the late answer of an earlier attempt."""
    PROVEN_ABSENT = "proven_absent"
    """A conclusive look-up did not find it."""
    REPLAY_ALLOWED = "replay_allowed"
    """A repeated send is recognised by the provider for a while yet, or the run's recorded policy is at-least-once."""
    REPLAY_EXPIRED = "replay_expired"
    """It must not be sent again after all: the provider's window closes first, or its attempts are used up."""
    INCONCLUSIVE = "inconclusive"
    """The look-up settled nothing, or there is none."""
    SETTLED = "settled"
    """A person decided."""
    REOPENED = "reopened"
    """A person lets it be sent again."""


#: From where an event leads whereto. Only a person's decision has a choice.
TRANSITIONS: Mapping[Outcome, Mapping[Event, tuple[Outcome, ...]]] = {
    Outcome.PENDING: {
        Event.DISPATCHED: (Outcome.IN_FLIGHT,),
        Event.REFUSED_LOCALLY: (Outcome.TERMINAL,),
        Event.EXHAUSTED: (Outcome.TERMINAL,),
        Event.SETTLED: (Outcome.TERMINAL,),
    },
    Outcome.IN_FLIGHT: {
        Event.CONFIRMED: (Outcome.SUCCEEDED,),
        Event.LEFT_UNPROCESSED: (Outcome.RETRYABLE,),
        Event.FAILED_TRANSIENTLY: (Outcome.RETRYABLE,),
        Event.NOT_PROCESSED: (Outcome.RETRYABLE,),
        Event.REFUSED: (Outcome.TERMINAL,),
        Event.LOST: (Outcome.RECONCILE,),
        Event.LEASE_EXPIRED: (Outcome.RECONCILE,),
    },
    Outcome.RETRYABLE: {
        Event.DISPATCHED: (Outcome.IN_FLIGHT,),
        Event.EXHAUSTED: (Outcome.TERMINAL,),
        Event.FOUND: (Outcome.SUCCEEDED,),
        Event.REPLAY_EXPIRED: (Outcome.RECONCILE,),
        Event.SETTLED: (Outcome.TERMINAL,),
    },
    Outcome.RECONCILE: {
        Event.FOUND: (Outcome.SUCCEEDED,),
        Event.PROVEN_ABSENT: (Outcome.RETRYABLE,),
        Event.REPLAY_ALLOWED: (Outcome.RETRYABLE,),
        Event.INCONCLUSIVE: (Outcome.RECONCILE,),
        Event.SETTLED: (Outcome.SUCCEEDED, Outcome.RETRYABLE, Outcome.TERMINAL),
    },
    Outcome.TERMINAL: {
        Event.REOPENED: (Outcome.RETRYABLE,),
        Event.SETTLED: (Outcome.SUCCEEDED,),
    },
    Outcome.SUCCEEDED: {},
}

#: Rows that nothing but a person can move any more.
FINAL = frozenset({Outcome.SUCCEEDED, Outcome.TERMINAL})


def moved(outcome: Outcome, event: Event, choice: Outcome | None = None) -> Outcome:
    """Where a row stands after an event; ``choice`` is the person's, for ``settled`` only.

    Raises LedgerLawError for a move that the law does not know: a fault of ours, never of a response.
    """
    targets = TRANSITIONS[outcome].get(event, ())
    if len(targets) == 1 and choice in (None, targets[0]):
        return targets[0]
    if choice is not None and choice in targets:
        return choice
    raise LedgerLawError(f"no {event} moves a row from {outcome}" + (f" to {choice}" if choice else ""))


def target_of(event: Event) -> Outcome:
    """Where an event leads that has no choice, wherever it comes from."""
    return _TARGETS[event]


_TARGETS: Mapping[Event, Outcome] = {
    event: targets[0]
    for moves in TRANSITIONS.values()
    for event, targets in moves.items()
    if event is not Event.SETTLED
}
