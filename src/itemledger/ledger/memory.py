"""The reference store: rows in memory, the outcome law applied directly. For tests, and as the model of the others."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from itemledger.core import moves
from itemledger.core.batches import Ask, Batch, BatchState, CallEvidence, Claimed, HistoryEntry, Kind, Move, Recorded
from itemledger.core.deciding import choice, decided_row
from itemledger.core.outcome import FINAL, Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Conflict, Decided, NewItem, Operation, Planned, Pruned, Review, Row, Source
from itemledger.core.write_api import Replay
from itemledger.errors import LedgerError
from itemledger.ledger.memory_claims import Claims
from itemledger.ledger.memory_rows import MemoryRows
from itemledger.ledger.rules import (
    OPEN,
    check_dispatched,
    check_moves,
    check_new,
    check_open,
    check_person,
    check_set_aside,
    check_windows,
    kept_because,
    same_target,
    with_endpoint,
    with_policy,
)


class MemoryStore(MemoryRows):
    """Implements ``Store``; nothing of it outlives the object, and it is for one thread at a time."""

    # ------------------------------------------------------------------------------------------------- planning

    def open_operation(self, operation: Operation, *, keep_policy: bool = False) -> Operation:
        now = self.now()
        known = self._operations.get(operation.operation_id)
        if known is None:
            known = replace(operation, created_at=now, planned_at=None)
        else:
            same_target(known, operation)
            known = known if keep_policy else with_policy(known, operation.policy, now)
        self._operations[known.operation_id] = known
        return known

    def set_endpoint(self, operation_id: str, endpoint: str, *, moved: bool = False) -> None:
        self._operations[operation_id] = with_endpoint(self._operation(operation_id), endpoint, moved=moved)

    def plan(self, operation_id: str, items: Sequence[NewItem]) -> Planned:
        now = self.now()
        self._operation(operation_id)
        new = repeated = 0
        refused: list[Conflict] = []
        for position, item in enumerate(items):
            other = self._taken(operation_id, item)
            if other is None:
                self._insert(operation_id, item, now)
                new += 1
            elif moves.is_same(other, operation_id, item):
                repeated += 1
                self._plan_again(other, item.source, now)
            else:
                refused.append(Conflict(position, other.number, other.operation_id))
        return Planned(new, repeated, tuple(refused))

    def _plan_again(self, row: Row, source: Source, now: float) -> None:
        if row.outcome is not Outcome.SUCCEEDED and source != Source():
            row = self._rows[row.number] = replace(row, source=source)
        if row.review is Review.SOURCE_CHANGED:
            self._write(moves.planned_again(row, now), "planned_again", now)

    def planning_ended(self, operation_id: str) -> None:
        now = self.now()
        operation = self._operation(operation_id)
        if operation.planned_at is None:
            self._operations[operation_id] = replace(operation, planned_at=now)

    def _taken(self, operation_id: str, item: NewItem) -> Row | None:
        rows = self._rows.values()
        by_key = next((row for row in rows if row.idempotency_key == item.idempotency_key), None)
        return by_key or self.find(operation_id, item.item_id)

    def _insert(self, operation_id: str, item: NewItem, now: float) -> None:
        self._numbers += 1
        waits = item.group_id is not None and any(
            row.operation_id == operation_id and row.group_id == item.group_id and row.outcome not in FINAL
            for row in self._rows.values()
        )
        row = moves.planned(self._numbers, operation_id, item, None if waits else now, now)
        self._rows[row.number] = row
        self._note(row, "planned", None, now)
        if item.refused is not None:
            self._write(moves.refused_locally(row, item.refused, now), Event.REFUSED_LOCALLY, now)

    # --------------------------------------------------------------------------------------------------- claims

    def claim(self, operation_id: str, ask: Ask) -> Claimed:
        now = self.now()
        operation = self._operation(operation_id)
        if operation.planned_at is None:
            return Claimed(now)
        claims = Claims(operation, ask, now, self._rows, self._batches, self._write)
        claims.lapse()
        claims.late()
        claims.windows()
        exhausted = claims.caps()
        claims.windows()  # a row that has just ended may have broken a request
        taken = claims.pick()
        if taken is None:
            return Claimed(now, exhausted=exhausted, wait_s=claims.wait_s())
        kind, rows, replay_of = taken
        epoch = max(self._batches, default=0) + 1
        token = secrets.token_hex(16)  # drawn, not counted: a ledger restored from a copy counts the same again
        lost = None if replay_of is None else self._batches[replay_of]
        batch = Batch(
            epoch,
            operation_id,
            kind,
            ask.worker,
            BatchState.CLAIMED,
            now + operation.policy.lease_s,
            tuple(row.number for row in rows),
            now,
            token if lost is None else lost.token,
            replay_of=replay_of,
            replay_scope=None if lost is None else lost.replay_scope,
            replay_safe_until=None if lost is None else lost.replay_safe_until,
        )
        self._batches[epoch] = batch
        held = tuple(moves.claimed(row, epoch, kind, now) for row in rows)
        self._rows.update((row.number, row) for row in held)
        return Claimed(now, batch, held, exhausted)

    def heartbeat(self, epoch: int) -> None:
        now = self.now()
        batch = self._open(epoch, now, OPEN)
        self._batches[epoch] = replace(batch, lease_until=now + self._policy(batch).lease_s)

    def dispatch(self, epoch: int, replay: Replay | None = None) -> None:
        now = self.now()
        batch = self._open(epoch, now, (BatchState.CLAIMED,))
        policy = self._policy(batch)
        rows = [self._rows[number] for number in batch.items]
        if batch.kind is Kind.SEND:
            check_windows(batch, rows, policy, now)
            for row in rows:
                self._write(moves.dispatched(row, now), Event.DISPATCHED, now, epoch=epoch)
        if replay is not None and batch.kind is Kind.SEND and batch.replay_of is None:
            batch = replace(batch, replay_scope=replay.scope, replay_safe_until=now + replay.life_s)
        self._batches[epoch] = replace(
            batch, state=BatchState.DISPATCHED, dispatched_at=now, lease_until=now + policy.lease_s
        )

    def record(self, epoch: int, evidence: CallEvidence, moves_: Sequence[Move]) -> Recorded:
        now = self.now()
        if epoch not in self._batches and 0 < epoch < max(self._batches, default=0):
            return Recorded(late=True)  # pruned since, with all its rows
        batch = self.batch(epoch)
        check_moves(batch, moves_)
        check_dispatched(batch)
        if batch.state is not BatchState.DISPATCHED:
            self._keep_late(batch, evidence, moves_, now)
            return Recorded(late=True)
        after = [moves.after(self._rows[move.row], move, batch, now) for move in moves_]
        for row, move in zip(after, moves_, strict=True):
            self._write(row, move.event, now, epoch=epoch, detail=moves.detail_of(move))
        self._batches[epoch] = replace(batch, state=BatchState.RECORDED, ended_at=now, evidence=evidence)
        return Recorded(batch.items)

    def release(self, epoch: int, *, set_aside: Collection[int] = ()) -> None:
        now = self.now()
        batch = self._open(epoch, None, (BatchState.CLAIMED,))
        check_set_aside(batch, set_aside)
        for number in batch.items:
            row = self._rows[number] = moves.released(self._rows[number], batch.kind, now)
            if number in set_aside:
                self._write(moves.set_aside(row), "set_aside", now, epoch=epoch)
        self._batches[epoch] = replace(batch, state=BatchState.RELEASED, ended_at=now)

    def _keep_late(self, batch: Batch, evidence: CallEvidence, moves_: Sequence[Move], now: float) -> None:
        for move in moves_:
            row = self._rows.get(move.row)
            if row is None:  # pruned since
                continue
            self._note(row, "late", row.outcome, now, batch.epoch, {"event": move.event.value, **moves.detail_of(move)})
            self._rows[row.number] = moves.late(row, move, batch.epoch)
        if batch.evidence is None:
            self._batches[batch.epoch] = replace(batch, evidence=evidence)

    # -------------------------------------------------------------------------------------- persons, retention

    def decide(self, number: int, decided: Decided, *, who: str, why: str) -> Row:
        now = self.now()
        check_person(who, why)
        row = self.row(number)
        event, _ = choice(row, decided)
        after = decided_row(row, decided, self._operation(row.operation_id).effect, now)
        self._write(after, event or "reviewed", now, detail={"decided": decided.value, "who": who, "why": why})
        return after

    def prune(self, operation_id: str, *, older_than_s: float) -> Pruned:
        now = self.now()
        policy = self._operation(operation_id).policy
        kept: Counter[str] = Counter()
        gone: list[int] = []
        for row in self.rows(operation_id, limit=len(self._rows)):
            ends = [b.replay_safe_until or 0.0 for b in self._batches.values() if row.number in b.items]
            reason = kept_because(row, policy, now, older_than_s, max([0.0, *ends]))
            if reason is None:
                gone.append(row.number)
            elif reason:
                kept[reason] += 1
        for number in gone:
            del self._rows[number]
        self._history = [entry for entry in self._history if entry.row not in set(gone)]
        last = max(self._batches, default=0)  # its epoch must not come again
        for batch in [*self._batches.values()]:
            if (
                batch.operation_id == operation_id
                and batch.epoch != last
                and batch.state not in OPEN
                and not set(batch.items) & self._rows.keys()
            ):
                del self._batches[batch.epoch]
        return Pruned(len(gone), dict(kept))

    def restore(self, operation: Operation, rows: Iterable[Row]) -> int:
        now = self.now()
        check_new(self._operations.get(operation.operation_id))
        rows = list(rows)
        keys = {row.idempotency_key for row in self._rows.values()}
        ids: set[str] = set()
        for row in rows:
            if row.item_id in ids or row.idempotency_key in keys:
                raise LedgerError(f"row {row.number} of the report is in this ledger already; import into a new one")
            ids.add(row.item_id)
            keys.add(row.idempotency_key)
        self._operations[operation.operation_id] = operation
        for row in rows:
            self._numbers += 1
            restored = moves.restored(row, self._numbers, operation.operation_id, now)
            self._rows[self._numbers] = restored
            self._note(restored, "restored", None, now)
        return len(rows)

    # ------------------------------------------------------------------------------------------------------ own

    def _policy(self, batch: Batch) -> Policy:
        return self._operations[batch.operation_id].policy

    def _open(self, epoch: int, now: float | None, states: Collection[BatchState]) -> Batch:
        batch = self.batch(epoch)
        check_open(batch, now, states)
        return batch

    def _write(
        self,
        row: Row,
        event: Event | str,
        now: float,
        *,
        epoch: int | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        before = self._rows[row.number].outcome
        self._rows[row.number] = row
        self._note(row, str(event), before, now, epoch, detail or {})
        if row.outcome in FINAL and row.group_id is not None:
            self._wake(row, now)

    def _wake(self, row: Row, now: float) -> None:
        """The next of its group that was never sent may go."""
        group = [
            other
            for other in self._rows.values()
            if (other.operation_id, other.group_id) == (row.operation_id, row.group_id) and other.outcome not in FINAL
        ]
        first = min(group, key=lambda other: other.number, default=None)
        if first is None or first.outcome is not Outcome.PENDING:
            return
        if first.due_at is None and first.epoch is None and first.review is None:
            self._rows[first.number] = replace(first, due_at=now)

    def _note(
        self,
        row: Row,
        event: str,
        before: Outcome | None,
        now: float,
        epoch: int | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        self._entries += 1
        self._history.append(
            HistoryEntry(self._entries, row.number, epoch, event, before, row.outcome, now, detail or {})
        )
