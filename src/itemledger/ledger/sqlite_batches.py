"""What becomes of a claim in SQLite: heartbeat, dispatch, record, release."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from itemledger.core import moves
from itemledger.core.batches import Batch, BatchState, CallEvidence, Kind, Move, Recorded
from itemledger.core.outcome import Event, target_of
from itemledger.core.write_api import Replay
from itemledger.ledger.rules import OPEN, check_dispatched, check_moves, check_open, check_set_aside, check_windows
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.sqlite_rows import (
    BATCHES,
    Change,
    batch_of,
    check_count,
    keep,
    last_epoch,
    numbers_of,
    operation_of,
    rows_of,
    save_batch,
    sources_of,
    write,
)

_DISPATCHED_FROM = json.dumps(sources_of(Event.DISPATCHED))


def heartbeat(transaction: Transaction, epoch: int) -> None:
    """``Store.heartbeat`` inside a transaction."""
    batch = batch_of(transaction, epoch)
    check_open(batch, transaction.now, OPEN)
    lease_until = transaction.now + operation_of(transaction, epoch).operation.policy.lease_s
    save_batch(transaction, batch, replace(batch, lease_until=lease_until))


def dispatch(transaction: Transaction, epoch: int, replay: Replay | None) -> None:
    """``Store.dispatch`` inside a transaction."""
    now = transaction.now
    batch = batch_of(transaction, epoch)
    check_open(batch, now, (BatchState.CLAIMED,))
    policy = operation_of(transaction, epoch).operation.policy
    if batch.kind is Kind.SEND:
        items = json.dumps(batch.items)
        numbers = numbers_of(transaction.rows(BATCHES["held_within_windows"], {"items": items}))
        check_windows(batch, rows_of(transaction, numbers) if numbers else (), policy, now)
        bound = {"epoch": epoch, "now": now, "items": items, "after": target_of(Event.DISPATCHED).value}
        transaction.run(BATCHES["note_dispatch"], {**bound, "event": Event.DISPATCHED.value})
        check_count(transaction.run(BATCHES["dispatch"], {**bound, "outcomes": _DISPATCHED_FROM}), len(batch.items))
    after = replace(batch, state=BatchState.DISPATCHED, dispatched_at=now, lease_until=now + policy.lease_s)
    if replay is not None and batch.kind is Kind.SEND and batch.replay_of is None:
        after = replace(after, replay_scope=replay.scope, replay_safe_until=now + replay.life_s)
    save_batch(transaction, batch, after)


def record(transaction: Transaction, epoch: int, evidence: CallEvidence, moves_: Sequence[Move]) -> Recorded:
    """``Store.record`` inside a transaction."""
    now = transaction.now
    if 0 < epoch < last_epoch(transaction) and transaction.one(BATCHES["fetch"], {"epoch": epoch}) is None:
        return Recorded(late=True)  # pruned since, with all its rows
    batch = batch_of(transaction, epoch)
    check_moves(batch, moves_)
    check_dispatched(batch)
    if batch.state is not BatchState.DISPATCHED:
        _keep_late(transaction, batch, evidence, moves_)
        return Recorded(late=True)
    rows = rows_of(transaction, [move.row for move in moves_])
    changes = [
        Change(row, moves.after(row, move, batch, now), move.event, epoch, moves.detail_of(move))
        for row, move in zip(rows, moves_, strict=True)
    ]
    write(transaction, operation_of(transaction, epoch), changes, held_by=epoch)
    save_batch(transaction, batch, replace(batch, state=BatchState.RECORDED, ended_at=now, evidence=evidence))
    return Recorded(batch.items)


def _keep_late(transaction: Transaction, batch: Batch, evidence: CallEvidence, moves_: Sequence[Move]) -> None:
    by_row = {move.row: move for move in moves_}
    changes = []
    for row in rows_of(transaction, by_row):  # without those pruned since
        move = by_row[row.number]
        detail = {"event": move.event.value, **moves.detail_of(move)}
        changes.append(Change(row, moves.late(row, move, batch.epoch), "late", batch.epoch, detail))
    keep(transaction, changes)
    if batch.evidence is None:
        save_batch(transaction, batch, replace(batch, evidence=evidence))


def release(transaction: Transaction, epoch: int, set_aside: Collection[int]) -> None:
    """``Store.release`` inside a transaction."""
    now = transaction.now
    batch = batch_of(transaction, epoch)
    check_open(batch, None, (BatchState.CLAIMED,))
    check_set_aside(batch, set_aside)
    changes = []
    for row in rows_of(transaction, batch.items):
        after = moves.released(row, batch.kind, now)
        aside = row.number in set_aside
        changes.append(Change(row, moves.set_aside(after), "set_aside", epoch) if aside else Change(row, after))
    write(transaction, operation_of(transaction, epoch), changes, held_by=epoch)
    save_batch(transaction, batch, replace(batch, state=BatchState.RELEASED, ended_at=now))
