"""What a person may decide of a row, and the row after it."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from itemledger.core.moves import known_end, one_of_them
from itemledger.core.outcome import Event, Outcome
from itemledger.core.rows import Decided, Review, Row
from itemledger.core.write_api import Effect
from itemledger.errors import LedgerError


def choice(row: Row, decided: Decided) -> tuple[Event | None, Outcome]:
    """The event in a person's decision and where it leads; no event where it only ends a review.

    Raises LedgerError when the row cannot be decided that way.
    """
    if row.epoch is not None:
        raise LedgerError(f"row {row.number} is held by a worker (epoch {row.epoch}); decide when its claim has ended")
    match (row.outcome, decided):
        case (Outcome.RECONCILE, Decided.SUCCEEDED):
            return Event.SETTLED, Outcome.SUCCEEDED
        case (Outcome.RECONCILE, Decided.RETRY):
            return Event.SETTLED, Outcome.RETRYABLE
        case (Outcome.RECONCILE, Decided.TERMINAL):
            return Event.SETTLED, Outcome.TERMINAL
        case (Outcome.TERMINAL, Decided.SUCCEEDED):
            return Event.SETTLED, Outcome.SUCCEEDED
        case (Outcome.TERMINAL, Decided.RETRY):
            return Event.REOPENED, Outcome.RETRYABLE
        case (Outcome.TERMINAL, Decided.TERMINAL) if row.review is not None:
            return None, Outcome.TERMINAL
        case (Outcome.PENDING | Outcome.RETRYABLE, Decided.TERMINAL) if row.review is Review.SOURCE_CHANGED:
            return Event.SETTLED, Outcome.TERMINAL
        case _:
            raise LedgerError(
                f"row {row.number} is {row.outcome} and not for a person to decide as {decided}; "
                "only rows in reconcile or terminal are, and those set aside can be left (terminal)"
            )


def decided_row(row: Row, decided: Decided, effect: Effect, now: float) -> Row:
    """The row after a person's decision; what is sent again begins anew."""
    event, outcome = choice(row, decided)
    row = replace(row, outcome=outcome, review=None, due_at=None, updated_at=now)
    if event is None:
        return row
    if outcome is Outcome.SUCCEEDED:
        row = one_of_them(row, effect)
    row = known_end(row)
    match outcome:
        case Outcome.RETRYABLE:
            return replace(row, attempts=0, claims=0, lapses=0, batch_limit=None, due_at=now)
        case Outcome.SUCCEEDED:
            return replace(row, error_code=None, error_message=None)
        case Outcome.TERMINAL:
            return row
        case Outcome.PENDING | Outcome.IN_FLIGHT | Outcome.RECONCILE:
            raise AssertionError(outcome)
        case _:
            assert_never(outcome)
