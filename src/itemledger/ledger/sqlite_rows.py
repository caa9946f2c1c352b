"""Rows, operations and batches in SQLite: read whole, written only where they still are what the move began from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from itemledger.core.batches import Batch, BatchState, CallEvidence, Kind
from itemledger.core.outcome import FINAL, TRANSITIONS, Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import FormerPolicy, Operation, Review, Row, Source
from itemledger.core.write_api import Effect, Scope
from itemledger.errors import LedgerError, LedgerLawError
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.statements import statements

ROWS, OPERATIONS, BATCHES = statements("rows"), statements("operations"), statements("batches")


@dataclass(frozen=True, slots=True)
class Stored:
    """An operation and the number that its rows and batches have it by."""

    number: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Change:
    """One row's move. ``event`` is what the history says of it; ``None`` where the outcome has not moved."""

    before: Row
    after: Row
    event: Event | str | None = None
    epoch: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


# ----------------------------------------------------------------------------------------------------------- reading


def operation_named(transaction: Transaction, operation_id: str) -> Stored:
    """LedgerError when there is none of that name."""
    found = transaction.one(OPERATIONS["named"], {"operation_id": operation_id})
    if found is None:
        raise LedgerError(f"this ledger has no operation {operation_id!r}; plan it first")
    return stored_operation(found)


def operation_of(transaction: Transaction, epoch: int) -> Stored:
    """The operation of a batch that is there."""
    found = transaction.one(OPERATIONS["of_batch"], {"epoch": epoch})
    assert found is not None
    return stored_operation(found)


def stored_operation(found: Sequence[Any]) -> Stored:
    number, operation_id, api, target, policy, effect, created_at, planned_at, endpoint, former = found
    return Stored(
        number,
        Operation(
            operation_id,
            api,
            json.loads(target),
            _policy(policy),
            Effect(effect),
            created_at,
            planned_at,
            endpoint,
            _former(former),
        ),
    )


@lru_cache(maxsize=16)
def _former(text: str) -> tuple[FormerPolicy, ...]:
    return tuple(FormerPolicy(Policy.from_json(each["policy"]), each["until"]) for each in json.loads(text))


@lru_cache(maxsize=16)
def _policy(text: str) -> Policy:
    return Policy.from_json(json.loads(text))


def rows_of(transaction: Transaction, numbers: Iterable[int]) -> list[Row]:
    """The rows of these numbers in their order; a row that is not there is left out."""
    return [_row(found) for found in transaction.rows(ROWS["fetch"], {"numbers": json.dumps([*numbers])})]


_OUTCOMES, _REVIEWS = {each.value: each for each in Outcome}, {each.value: each for each in Review}
_NO_SOURCE = Source()


def _row(found: Any) -> Row:
    source = _NO_SOURCE
    if found[6] is not None or found[8] or found[9] is not None or found[7]:
        source = Source(found[6], found[7], found[8], found[9])
    outcome = _OUTCOMES[found[10]]
    review = None if found[29] is None else _REVIEWS[found[29]]
    members: list[Any] = [*found[:6], source, outcome, *found[11:29], review, *found[30:]]
    return Row(*members)


def numbers_of(found: Iterable[Sequence[Any]]) -> list[int]:
    """The first column."""
    return [each[0] for each in found]


def batch_of(transaction: Transaction, epoch: int) -> Batch:
    """LedgerError when there is none."""
    found = transaction.one(BATCHES["fetch"], {"epoch": epoch})
    if found is None:
        raise LedgerError(f"this ledger has no claim with epoch {epoch}")
    epoch, operation_id, kind, worker, state, lease_until, items, claimed_at, token = found[:9]
    dispatched_at, ended_at, scope, replay_safe_until, replay_of, evidence = found[9:]
    return Batch(
        epoch,
        operation_id,
        Kind(kind),
        worker,
        BatchState(state),
        lease_until,
        tuple(json.loads(items)),
        claimed_at,
        token,
        dispatched_at,
        ended_at,
        None if scope is None else Scope(scope),
        replay_safe_until,
        replay_of,
        evidence_of(evidence),
    )


def last_epoch(transaction: Transaction) -> int:
    """Of all claims that there were."""
    [(last,)] = transaction.rows(BATCHES["last_epoch"])
    return int(last)


def evidence_of(text: str | None) -> CallEvidence | None:
    return None if text is None else CallEvidence(**json.loads(text))


# ----------------------------------------------------------------------------------------------------------- writing


def write(
    transaction: Transaction, operation: Stored, changes: Sequence[Change], *, held_by: int | None = None
) -> None:
    """Saves rows that this claim, or nobody, holds; adds what moved to the history; lets the next of a group go.

    Raises LedgerLawError when a row is not there as its change assumes; then nothing of the verb is kept.
    """
    _save(transaction, changes, [held_by] * len(changes))
    note(transaction, [change for change in changes if change.event is not None])
    ended = [change.after for change in changes if change.after.outcome in FINAL]
    wake(transaction, operation.number, [row.group_id for row in ended if row.group_id is not None])


def keep(transaction: Transaction, changes: Sequence[Change]) -> None:
    """Saves what changes neither outcome nor holder, whoever holds the rows, and adds it to the history."""
    _save(transaction, changes, [change.before.epoch for change in changes])
    note(transaction, changes)


def _save(transaction: Transaction, changes: Sequence[Change], fences: Sequence[int | None]) -> None:
    saved = transaction.run_many(
        ROWS["save"],
        [
            (*state_of(change.after), change.before.number, fence, change.before.outcome.value)
            for change, fence in zip(changes, fences, strict=True)
        ],
    )
    check_count(saved, len(changes))


def check_count(moved: int, expected: int) -> None:
    """LedgerLawError when a conditional write did not find all its rows."""
    if moved != expected:
        raise LedgerLawError(
            f"{expected - moved} of {expected} rows are not as this verb assumes, so nothing was changed"
        )


def sources_of(event: Event) -> tuple[Outcome, ...]:
    """From where the outcome law knows the event."""
    return tuple(outcome for outcome, moves in TRANSITIONS.items() if event in moves)


def note(transaction: Transaction, changes: Sequence[Change]) -> None:
    """Adds the changes to the history as they are told."""
    transaction.run_many(
        ROWS["note"],
        [
            (
                change.after.number,
                change.epoch,
                str(change.event),
                change.before.outcome.value,
                change.after.outcome.value,
                transaction.now,
                json.dumps(change.detail, separators=(",", ":")) if change.detail else None,
            )
            for change in changes
        ],
    )


def wake(transaction: Transaction, operation: int, groups: Iterable[str]) -> None:
    """Lets the first row of each group go that is not final, where it was never sent."""
    transaction.run_many(
        ROWS["wake"],
        [{"operation": operation, "group_id": group_id, "now": transaction.now} for group_id in dict.fromkeys(groups)],
    )


def save_batch(transaction: Transaction, before: Batch, after: Batch) -> None:
    """Raises LedgerLawError when the claim is no longer what the move began from."""
    saved = transaction.run(
        BATCHES["save"],
        {
            "epoch": before.epoch,
            "was": before.state.value,
            "state": after.state.value,
            "lease_until": after.lease_until,
            "dispatched_at": after.dispatched_at,
            "ended_at": after.ended_at,
            "replay_scope": None if after.replay_scope is None else after.replay_scope.value,
            "replay_safe_until": after.replay_safe_until,
            "evidence": None if after.evidence is None else _evidence_text(after.evidence),
        },
    )
    if saved != 1:
        raise LedgerLawError(f"epoch {before.epoch} was no longer {before.state}, so nothing was changed")


def _evidence_text(evidence: CallEvidence) -> str:
    return json.dumps({name: value for name, value in asdict(evidence).items() if value is not None})


def state_of(row: Row) -> tuple[Any, ...]:
    """What moves change of a row, in the order of the statements."""
    return (
        row.outcome.value,
        row.updated_at,
        row.epoch,
        row.last_epoch,
        row.attempts,
        row.claims,
        row.look_ups,
        row.lost_attempts,
        row.due_at,
        row.replay_until,
        row.replay_of,
        row.late_epoch,
        row.batch_limit,
        row.possible_duplicates,
        _text(row.request_id),
        _text(row.object_ref),
        _text(row.error_code),
        _text(row.error_message),
        None if row.review is None else row.review.value,
        row.dispatches,
        row.lapses,
    )


def _text(value: str | None) -> str | None:
    """What a service says is kept whatever it is: half a character in a message must not lose the record."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()
