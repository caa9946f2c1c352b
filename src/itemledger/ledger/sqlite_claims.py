"""A claim in SQLite, step by step as ``Store.claim`` lists them, each over an index of just its few rows."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from itemledger.core import moves
from itemledger.core.batches import Ask, Batch, BatchState, Claimed, Kind
from itemledger.core.outcome import Event, Outcome
from itemledger.core.packing import pack, pack_look_ups
from itemledger.core.policy import Policy
from itemledger.core.rows import Row
from itemledger.ledger.rules import SWEEP
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.sqlite_rows import (
    BATCHES,
    Change,
    Stored,
    batch_of,
    check_count,
    last_epoch,
    numbers_of,
    operation_named,
    rows_of,
    save_batch,
    sources_of,
    write,
)
from itemledger.ledger.statements import statements

SQL = statements("claims")


def claim(transaction: Transaction, operation_id: str, ask: Ask) -> Claimed:
    """``Store.claim`` inside a transaction."""
    operation = operation_named(transaction, operation_id)
    if operation.operation.planned_at is None:
        return Claimed(transaction.now)
    return _Claim(transaction, operation, ask).made()


#: Where a row can stand that a claim takes: what may be dispatched, or looked up.
_TAKEN = {Kind.SEND: sources_of(Event.DISPATCHED), Kind.READ_BACK: sources_of(Event.INCONCLUSIVE)}


class _Replay(NamedTuple):
    """A batch to be sent again as it was: its size, how many rows can still go with it, how many are free to."""

    epoch: int
    size: int
    there: int
    free: int
    due_at: float


@dataclass(frozen=True, slots=True)
class _Claim:
    transaction: Transaction
    operation: Stored
    ask: Ask

    def made(self) -> Claimed:
        self._lapse()
        self._sweep(SQL["late"], Event.FOUND)
        self._windows()
        exhausted = self._caps()
        self._broken()  # by a row that has just ended: the others of its request can be looked up at once
        whole = [replay for replay in self._replays() if replay.free == replay.size]
        now = self.transaction.now
        taken = self._pick([replay.epoch for replay in whole if replay.due_at <= now])
        if taken is None:
            return Claimed(now, exhausted=exhausted, wait_s=self._wait_s(whole))
        batch, rows = self._take(*taken)
        return Claimed(now, batch, rows, exhausted)

    @property
    def _policy(self) -> Policy:
        return self.operation.operation.policy

    def _numbers(self, statement: str, **parameters: Any) -> list[int]:
        bound = {"operation": self.operation.number, "now": self.transaction.now, **parameters}
        return numbers_of(self.transaction.rows(statement, bound))

    def _lapse(self) -> None:
        for epoch in self._numbers(SQL["lapsed"]):
            batch = batch_of(self.transaction, epoch)
            changes = []
            for row in rows_of(self.transaction, batch.items):
                after = moves.lapsed(row, batch, self.transaction.now, self.ask.settle_s)
                event = Event.LEASE_EXPIRED if row.outcome is Outcome.IN_FLIGHT else None
                changes.append(Change(row, after, event, epoch))
            write(self.transaction, self.operation, changes, held_by=epoch)
            save_batch(self.transaction, batch, replace(batch, state=BatchState.LAPSED, ended_at=self.transaction.now))

    def _sweep(self, statement: str, event: Event, **parameters: Any) -> None:
        self._move(self._numbers(statement, **parameters), event)

    def _move(self, numbers: list[int], event: Event) -> tuple[Row, ...]:
        if not numbers:
            return ()
        effect, now = self.operation.operation.effect, self.transaction.now
        changes = [
            Change(row, moves.swept(row, event, effect, now), event, row.late_epoch if event is Event.FOUND else None)
            for row in rows_of(self.transaction, numbers)
        ]
        write(self.transaction, self.operation, changes)
        return tuple(change.after for change in changes)

    def _windows(self) -> None:
        """Sends that may be done and are not to be repeated, or cannot be any more, go back to be looked up."""
        policy = self._policy
        caps = {"max_attempts": policy.max_attempts, "max_lapses": policy.max_lapses}
        self._sweep(SQL["given_up"], Event.REPLAY_EXPIRED, **caps)
        moment = self.transaction.now + policy.call_timeout_s
        self._sweep(SQL["windows_closing"], Event.REPLAY_EXPIRED, moment=moment)
        self._broken()

    def _broken(self) -> None:
        """Ends the replays that can no longer be whole."""
        broken = [replay.epoch for replay in self._replays() if replay.there < replay.size]
        if broken:
            self._sweep(SQL["of_broken_replays"], Event.REPLAY_EXPIRED, broken=json.dumps(broken))

    def _replays(self) -> list[_Replay]:
        return [
            _Replay(*found) for found in self.transaction.rows(SQL["replays"], {"operation": self.operation.number})
        ]

    def _caps(self) -> tuple[Row, ...]:
        policy = self._policy
        used_up = self._used_up(
            (SQL["attempts_used_up"], policy.max_attempts), ("pending", "retryable"), policy.max_lapses
        )
        exhausted = self._move(used_up, Event.EXHAUSTED)
        unsettled = self._used_up((SQL["look_ups_used_up"], policy.max_look_ups), ("reconcile",), policy.max_lapses)
        self._move(unsettled, Event.INCONCLUSIVE)
        return exhausted

    def _used_up(self, own: tuple[str, int], outcomes: tuple[str, ...], max_lapses: int) -> list[int]:
        bound = {"operation": self.operation.number, "now": self.transaction.now, "limit": SWEEP}
        statement, most = own
        found = self.transaction.rows(statement, {**bound, "most": most})
        found += self.transaction.rows(
            SQL["lapses_used_up"], {**bound, "most": max_lapses, "outcomes": json.dumps(outcomes)}
        )
        due_at: Mapping[int, float] = dict(found)
        return sorted(due_at, key=lambda number: (due_at[number], number))[:SWEEP]

    def _pick(self, whole: list[int]) -> tuple[Kind, list[Row], Batch | None] | None:
        policy, ask = self._policy, self.ask
        if ask.read_back is not None:
            numbers = self._numbers(
                SQL["due_reconcile"],
                limit=ask.read_back.items,
                max_look_ups=policy.max_look_ups,
                max_lapses=policy.max_lapses,
            )
            if numbers:
                rows = rows_of(self.transaction, numbers)
                return Kind.READ_BACK, rows[: pack_look_ups(rows, ask.read_back)], None
        if ask.send is None:
            return None
        caps = {"max_attempts": policy.max_attempts, "max_lapses": policy.max_lapses}
        due = self._numbers(SQL["due_retryable"], limit=ask.send.items, whole=json.dumps(whole), **caps)
        if ask.new and len(due) < ask.send.items:
            due += self._numbers(SQL["due_pending"], limit=ask.send.items - len(due), **caps)
        if not due:
            return None
        rows = rows_of(self.transaction, due)
        if rows[0].replay_of is not None:
            lost = batch_of(self.transaction, rows[0].replay_of)
            return Kind.SEND, rows_of(self.transaction, lost.items), lost
        return Kind.SEND, rows[: pack(rows, ask.send)], None

    def _take(self, kind: Kind, rows: list[Row], lost: Batch | None) -> tuple[Batch, tuple[Row, ...]]:
        now = self.transaction.now
        epoch = last_epoch(self.transaction) + 1
        batch = Batch(
            epoch,
            self.operation.operation.operation_id,
            kind,
            self.ask.worker,
            BatchState.CLAIMED,
            now + self._policy.lease_s,
            tuple(row.number for row in rows),
            now,
            secrets.token_hex(16) if lost is None else lost.token,
            replay_of=None if lost is None else lost.epoch,
            replay_scope=None if lost is None else lost.replay_scope,
            replay_safe_until=None if lost is None else lost.replay_safe_until,
        )
        items = json.dumps(batch.items, separators=(",", ":"))
        self.transaction.run(
            BATCHES["insert"],
            {
                "epoch": epoch,
                "operation": self.operation.number,
                "kind": kind.value,
                "worker": batch.worker,
                "state": batch.state.value,
                "lease_until": batch.lease_until,
                "items": items,
                "size": len(batch.items),
                "claimed_at": now,
                "token": batch.token,
                "replay_scope": None if batch.replay_scope is None else batch.replay_scope.value,
                "replay_safe_until": batch.replay_safe_until,
                "replay_of": batch.replay_of,
            },
        )
        held = tuple(moves.claimed(row, epoch, kind, now) for row in rows)
        taken = self.transaction.run(
            SQL["take"],
            {
                "epoch": epoch,
                "now": now,
                "items": items,
                "sends": kind is Kind.SEND,
                "look_ups": kind is Kind.READ_BACK,
                "outcomes": json.dumps(_TAKEN[kind]),
            },
        )
        check_count(taken, len(rows))
        return batch, held

    def _wait_s(self, whole: Sequence[_Replay]) -> float | None:
        """A row that must go with others waits for the last of them, and is not spoken of while one of them cannot."""
        questions = ["next_lease"]
        moments: list[float | None] = []
        if self.ask.send is not None:
            questions += ["next_pending", "next_retryable"] if self.ask.new else ["next_retryable"]
            moments += [replay.due_at for replay in whole]
        if self.ask.read_back is not None:
            questions.append("next_reconcile")
        for name in questions:
            moments += self._numbers(SQL[name])
        known = [moment for moment in moments if moment is not None]
        return max(0.0, min(known) - self.transaction.now) if known else None
