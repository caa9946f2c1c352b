"""The reference claim, step by step as ``Store.claim`` lists them, over plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from itemledger.core import moves
from itemledger.core.batches import Ask, Batch, BatchState, Kind
from itemledger.core.outcome import FINAL, Event, Outcome
from itemledger.core.packing import pack, pack_look_ups
from itemledger.core.rows import Operation, Row
from itemledger.ledger.rules import OPEN, SWEEP, looked_up_enough, used_up, window_closes

SENDABLE = (Outcome.PENDING, Outcome.RETRYABLE)


class Claims:
    """One claim's view of the rows of its operation; ``write`` is the store's, with law and history."""

    def __init__(
        self,
        operation: Operation,
        ask: Ask,
        now: float,
        rows: dict[int, Row],
        batches: dict[int, Batch],
        write: Callable[..., Any],
    ) -> None:
        self._operation = operation
        self._policy = operation.policy
        self._ask = ask
        self._now = now
        self._rows = rows
        self._batches = batches
        self._write = write

    def lapse(self) -> None:
        for batch in self._open_batches():
            if batch.lease_until > self._now:
                continue
            for number in batch.items:
                row = self._rows[number]
                after = moves.lapsed(row, batch, self._now, self._ask.settle_s)
                if row.outcome is Outcome.IN_FLIGHT:
                    self._write(after, Event.LEASE_EXPIRED, self._now, epoch=batch.epoch)
                else:
                    self._rows[number] = after
            self._batches[batch.epoch] = replace(batch, state=BatchState.LAPSED, ended_at=self._now)

    def late(self) -> None:
        for row in self._free(Outcome.RETRYABLE, Outcome.RECONCILE):
            if row.late_epoch is not None:
                self._write(self._swept(row, Event.FOUND), Event.FOUND, self._now, epoch=row.late_epoch)

    def windows(self) -> None:
        self._give_up(lambda row: row.lost_attempts > 0 and used_up(row, self._policy))
        self._give_up(lambda row: window_closes(row, self._policy, self._now))
        self._give_up(lambda row: row.replay_of is not None and not self._can_be_whole(row.replay_of))

    def _give_up(self, must: Callable[[Row], bool]) -> None:
        for row in [row for row in self._free(Outcome.RETRYABLE) if must(row)]:
            self._write(self._swept(row, Event.REPLAY_EXPIRED), Event.REPLAY_EXPIRED, self._now)

    def caps(self) -> tuple[Row, ...]:
        spent = [row for row in self._due(*SENDABLE) if used_up(row, self._policy)][:SWEEP]
        exhausted = tuple(self._swept(row, Event.EXHAUSTED) for row in spent)
        for row in exhausted:
            self._write(row, Event.EXHAUSTED, self._now)
        unsettled = [row for row in self._due(Outcome.RECONCILE) if looked_up_enough(row, self._policy)][:SWEEP]
        for row in unsettled:
            self._write(self._swept(row, Event.INCONCLUSIVE), Event.INCONCLUSIVE, self._now)
        return exhausted

    def pick(self) -> tuple[Kind, list[Row], int | None] | None:
        if self._ask.read_back is not None:
            rows = [row for row in self._due(Outcome.RECONCILE) if not looked_up_enough(row, self._policy)]
            if rows:
                return Kind.READ_BACK, rows[: pack_look_ups(rows, self._ask.read_back)], None
        if self._ask.send is None:
            return None
        again = [row for row in self._due(Outcome.RETRYABLE) if row.replay_of is None or self._is_whole(row.replay_of)]
        due = again + (self._due(Outcome.PENDING) if self._ask.new else [])  # what was begun goes first
        due = [row for row in due if not used_up(row, self._policy)]  # the next claim ends those
        if not due:
            return None
        if due[0].replay_of is not None:
            composition = self._batches[due[0].replay_of].items
            return Kind.SEND, [self._rows[number] for number in composition], due[0].replay_of
        return Kind.SEND, due[: pack(due[: self._ask.send.items], self._ask.send)], None

    def wait_s(self) -> float | None:
        """A row that must go with others waits for the last of them, and is not spoken of while one of them cannot."""
        moments: list[float] = [batch.lease_until for batch in self._open_batches()]
        if self._ask.read_back is not None:
            moments += [row.due_at for row in self._free(Outcome.RECONCILE) if row.due_at is not None]
        if self._ask.send is not None:
            for row in self._free(*(SENDABLE if self._ask.new else (Outcome.RETRYABLE,))):
                due_at = row.due_at if row.replay_of is None else self._whole_at(row.replay_of)
                moments += [] if due_at is None else [due_at]
        return max(0.0, min(moments) - self._now) if moments else None

    def _swept(self, row: Row, event: Event) -> Row:
        return moves.swept(row, event, self._operation.effect, self._now)

    def _free(self, *outcomes: Outcome) -> list[Row]:
        return [
            row
            for row in self._rows.values()
            if row.operation_id == self._operation.operation_id and row.epoch is None and row.outcome in outcomes
        ]

    def _due(self, *outcomes: Outcome) -> list[Row]:
        due = [row for row in self._free(*outcomes) if row.due_at is not None and row.due_at <= self._now]
        return sorted(due, key=lambda row: (row.due_at, row.number))

    def _open_batches(self) -> Iterator[Batch]:
        mine = self._operation.operation_id
        yield from [b for b in self._batches.values() if b.operation_id == mine and b.state in OPEN]

    def _members(self, epoch: int) -> list[Row | None]:
        return [self._rows.get(number) for number in self._batches[epoch].items]

    def _can_be_whole(self, epoch: int) -> bool:
        return all(
            # A row in review waits for a person, and the others would wait with it, unseen, until the window closes.
            row is not None and row.outcome not in FINAL and row.review is None and row.replay_of == epoch
            for row in self._members(epoch)
        )

    def _is_whole(self, epoch: int) -> bool:
        due_at = self._whole_at(epoch)
        return due_at is not None and due_at <= self._now

    def _whole_at(self, epoch: int) -> float | None:
        """When the last row of a repeated request is due; ``None`` while one of them cannot go."""
        moments: list[float] = []
        for row in self._members(epoch):
            if row is None or row.outcome is not Outcome.RETRYABLE or row.epoch is not None or row.replay_of != epoch:
                return None
            if row.due_at is None:
                return None
            moments.append(row.due_at)
        return max(moments)
