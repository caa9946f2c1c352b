"""What each event does to a row besides its outcome: counters, due times, windows, reviews. Pure, for every store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from itemledger.core.batches import Batch, Kind, Move
from itemledger.core.outcome import FINAL, Event, Outcome, moved
from itemledger.core.rows import NewItem, Review, Row
from itemledger.core.write_api import Effect, Scope

#: The error code of a row that was over its own limit when it was planned.
OVER_LIMIT = "OverLimit"


def claimed(row: Row, epoch: int, kind: Kind, now: float) -> Row:
    """Held by a new claim, which counts whether or not anything comes of it."""
    return replace(
        row,
        epoch=epoch,
        last_epoch=epoch,
        claims=row.claims + 1,
        attempts=row.attempts + (kind is Kind.SEND),
        look_ups=row.look_ups + (kind is Kind.READ_BACK),
        updated_at=now,
    )


def dispatched(row: Row, now: float) -> Row:
    """In flight: from here on nothing but evidence says that it was not processed."""
    outcome = moved(row.outcome, Event.DISPATCHED)
    return replace(row, outcome=outcome, dispatches=row.dispatches + 1, due_at=None, updated_at=now)


def released(row: Row, kind: Kind, now: float) -> Row:
    """Given back unsent, as if it had not been claimed; only the claim itself stays counted."""
    return replace(
        row,
        epoch=None,
        attempts=row.attempts - (kind is Kind.SEND),
        look_ups=row.look_ups - (kind is Kind.READ_BACK),
        due_at=now,
        updated_at=now,
    )


def set_aside(row: Row) -> Row:
    """A free row whose payload is no longer what was planned: it waits for a person, or to be planned again."""
    return replace(row, due_at=None, review=Review.SOURCE_CHANGED)


def planned_again(row: Row, now: float) -> Row:
    """A row that was set aside goes on: its payload is there again, as it was planned."""
    return replace(row, review=None, due_at=now, updated_at=now)


def lapsed(row: Row, batch: Batch, now: float, settle_s: float) -> Row:
    """Its worker's lease ran out. Half as many share a request next, so one that ends its worker is soon alone."""
    limit = row.batch_limit if batch.kind is Kind.READ_BACK else max(1, len(batch.items) // 2)
    free = replace(row, epoch=None, batch_limit=limit, lapses=row.lapses + 1, due_at=now, updated_at=now)
    if row.outcome is not Outcome.IN_FLIGHT:
        return free
    return _unknown_end(replace(free, outcome=moved(row.outcome, Event.LEASE_EXPIRED)), batch, now + settle_s)


def after(row: Row, move: Move, batch: Batch, now: float) -> Row:
    """The row after what its call or look-up meant for it; LedgerLawError for a move that the law does not know."""
    outcome = moved(row.outcome, move.event)
    due_at = None if outcome in FINAL or move.delay_s is None else now + move.delay_s
    code, message = (move.error_code, move.error_message) if move.error_code else (row.error_code, row.error_message)
    if outcome is Outcome.SUCCEEDED:
        code = message = None
    row = replace(
        row,
        outcome=outcome,
        epoch=None,
        due_at=due_at,
        attempts=row.attempts - (batch.kind is Kind.SEND and not move.charged),
        look_ups=row.look_ups - (batch.kind is Kind.READ_BACK and not move.charged),
        request_id=move.request_id or row.request_id,
        object_ref=move.object_ref or row.object_ref,
        error_code=code,
        error_message=message,
        # Refused, after the late answer of an earlier send said that it is done: that is a person's to sort out.
        review=Review.LATE_SUCCESS if outcome is Outcome.TERMINAL and row.late_epoch is not None else move.review,
        batch_limit=move.batch_limit,
        possible_duplicates=row.possible_duplicates + move.possible_duplicates,
        updated_at=now,
    )
    match move.event:
        case Event.LOST if move.only_earlier:
            return replace(row, look_ups=0)
        case Event.LOST:
            return _unknown_end(row, batch, due_at)
        case Event.CONFIRMED | Event.FOUND:
            return known_end(row)
        case Event.PROVEN_ABSENT:  # a late answer that says otherwise is stronger, and stays
            return replace(known_end(row), late_epoch=row.late_epoch)
        case Event.REPLAY_ALLOWED if not move.within_window:
            return replace(row, replay_until=None, replay_of=None)
        case _:
            return row


def known_end(row: Row) -> Row:
    """No send of it has an unknown end any more."""
    if not (row.lost_attempts or row.look_ups) and row.replay_until is row.replay_of is row.late_epoch is None:
        return row  # as for nearly all
    return replace(row, lost_attempts=0, look_ups=0, replay_until=None, replay_of=None, late_epoch=None)


def _unknown_end(row: Row, batch: Batch, due_at: float | None) -> Row:
    """One send more may have had its effect; the window that counts is that of the first such send."""
    first = row.lost_attempts == 0
    protected = batch.replay_of or (batch.epoch if batch.replay_scope is Scope.REQUEST else None)
    return replace(
        row,
        lost_attempts=row.lost_attempts + 1,
        look_ups=0,
        replay_until=batch.replay_safe_until if first else row.replay_until,
        replay_of=protected if first else row.replay_of,
        due_at=due_at,
    )


def second_effects(row: Row, effect: Effect, sends: int) -> int:
    """How many of so many other sends of a row that is done may have had an effect too.

    None where a second one changes nothing, or where the provider's window has recognised it.
    """
    return max(0, sends) if effect is Effect.APPEND and row.replay_until is None else 0


def swept(row: Row, event: Event, effect: Effect, now: float) -> Row:
    """A free row moved by what a claim finds before it takes anything: late evidence, closed windows, used-up caps."""
    row = replace(row, outcome=moved(row.outcome, event), updated_at=now)
    match event:
        case Event.FOUND:
            row = replace(row, due_at=None, error_code=None, error_message=None, review=None)
            return known_end(one_of_them(row, effect))
        case Event.REPLAY_EXPIRED:
            # Forgotten, or a window that is open while its request can no longer be sent whole is tried for ever.
            return replace(row, due_at=now, look_ups=0, replay_until=None, replay_of=None, review=None)
        case Event.EXHAUSTED:
            return replace(row, due_at=None, review=Review.EXHAUSTED)
        case Event.INCONCLUSIVE:
            return replace(row, due_at=None, review=Review.INCONCLUSIVE)
        case _:
            raise AssertionError(event)


def one_of_them(row: Row, effect: Effect) -> Row:
    """One of the sends with an unknown end is known to have done it; the others may have done it too."""
    others = second_effects(row, effect, row.lost_attempts - 1)
    return replace(row, possible_duplicates=row.possible_duplicates + others)


def planned(number: int, operation_id: str, item: NewItem, due_at: float | None, now: float) -> Row:
    """A new row."""
    return Row(
        number,
        operation_id,
        item.item_id,
        item.idempotency_key,
        item.payload_hash,
        item.size_bytes,
        item.source,
        Outcome.PENDING,
        now,
        item.group_id,
        due_at=due_at,
    )


def refused_locally(row: Row, message: str, now: float) -> Row:
    """Over its own limit, by the measured size in the message: it never goes out."""
    return replace(
        row,
        outcome=moved(row.outcome, Event.REFUSED_LOCALLY),
        due_at=None,
        error_code=OVER_LIMIT,
        error_message=message,
        review=Review.REFUSED,
        updated_at=now,
    )


def is_same(row: Row, operation_id: str, item: NewItem) -> bool:
    """Whether an item that is planned again is the row that is there, and not another under the same key."""
    return (row.operation_id, row.item_id, row.idempotency_key, row.payload_hash) == (
        operation_id,
        item.item_id,
        item.idempotency_key,
        item.payload_hash,
    )


def late(row: Row, move: Move, epoch: int) -> Row:
    """The row after the answer of a lost claim: its outcome stays, and what proves that it is done is not forgotten."""
    if move.event not in (Event.CONFIRMED, Event.FOUND) or row.outcome is Outcome.SUCCEEDED:
        return row
    review = Review.LATE_SUCCESS if row.outcome is Outcome.TERMINAL else row.review
    return replace(
        row,
        late_epoch=epoch,
        object_ref=move.object_ref or row.object_ref,
        request_id=move.request_id or row.request_id,
        review=review,
    )


def restored(row: Row, number: int, operation_id: str, now: float) -> Row:
    """A row of a completion report in another ledger: its claims stay behind, and what only they could prove."""
    here = replace(
        row,
        number=number,
        operation_id=operation_id,
        epoch=None,
        last_epoch=None,
        replay_of=None,
        replay_until=None,
        late_epoch=None,
    )
    if row.outcome is Outcome.IN_FLIGHT:
        return replace(here, outcome=Outcome.RECONCILE, lost_attempts=row.lost_attempts + 1, due_at=now)
    if row.outcome is Outcome.RETRYABLE and (row.lost_attempts or row.late_epoch is not None):
        return replace(here, outcome=Outcome.RECONCILE, due_at=now)
    return here


def detail_of(move: Move) -> dict[str, Any]:
    """What the history keeps of a move."""
    told = {
        "code": move.error_code,
        "object_ref": move.object_ref,
        "request_id": move.request_id,
        "possible_duplicates": move.possible_duplicates or None,
        "charged": None if move.charged else False,
        "only_earlier": move.only_earlier or None,
        **move.detail,
    }
    return {name: value for name, value in told.items() if value is not None}
