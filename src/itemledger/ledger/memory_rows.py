"""What the reference store holds, and the verbs that only look at it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self

from itemledger.core.batches import Batch, HistoryEntry
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Operation, Row, Snapshot
from itemledger.errors import LedgerError


class MemoryRows:
    """Plain dictionaries, and everything that a ``Store`` tells without changing anything."""

    def __init__(self, *, clock: Callable[[], float] = time.time, ledger_id: str = "memory") -> None:
        self._clock = clock
        self._ledger_id = ledger_id
        self._operations: dict[str, Operation] = {}
        self._rows: dict[int, Row] = {}
        self._batches: dict[int, Batch] = {}
        self._history: list[HistoryEntry] = []
        self._numbers = 0
        self._entries = 0
        self._closed = False

    def now(self) -> float:
        if self._closed:
            raise LedgerError("this ledger is closed; open it again")
        return self._clock()

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def operations(self) -> list[Operation]:
        self.now()
        return list(self._operations.values())

    def counts(self, operation_id: str) -> Mapping[Outcome, int]:
        self._operation(operation_id)
        found = Counter(row.outcome for row in self._rows.values() if row.operation_id == operation_id)
        return {outcome: found[outcome] for outcome in Outcome}

    def reviews(self, operation_id: str) -> int:
        self._operation(operation_id)
        return sum(row.review is not None for row in self._rows.values() if row.operation_id == operation_id)

    def rows(
        self,
        operation_id: str | None = None,
        *,
        outcome: Outcome | None = None,
        in_review: bool = False,
        after: int = 0,
        limit: int = 1000,
    ) -> list[Row]:
        self.now()
        found = [
            row
            for row in self._rows.values()
            if row.number > after
            and operation_id in (None, row.operation_id)
            and outcome in (None, row.outcome)
            and (row.review is not None or not in_review)
        ]
        return sorted(found, key=lambda row: row.number)[:limit]

    def row(self, number: int) -> Row:
        self.now()
        if number not in self._rows:
            raise LedgerError(f"this ledger has no row {number}")
        return self._rows[number]

    def find(self, operation_id: str, item_id: str) -> Row | None:
        self.now()
        rows = self._rows.values()
        return next((row for row in rows if (row.operation_id, row.item_id) == (operation_id, item_id)), None)

    def batch(self, epoch: int) -> Batch:
        self.now()
        if epoch not in self._batches:
            raise LedgerError(f"this ledger has no claim with epoch {epoch}")
        return self._batches[epoch]

    def history(self, number: int) -> list[HistoryEntry]:
        self.now()
        return [
            replace(entry, evidence=self._batches[entry.epoch].evidence if entry.epoch in self._batches else None)
            for entry in self._history
            if entry.row == number
        ]

    @contextmanager
    def snapshot(self, operation_id: str) -> Iterator[Snapshot]:
        operation, counts = self._operation(operation_id), self.counts(operation_id)
        rows = self.rows(operation_id, limit=len(self._rows))
        yield Snapshot(operation, self.now(), counts, iter(rows))

    def _operation(self, operation_id: str) -> Operation:
        self.now()
        if operation_id not in self._operations:
            raise LedgerError(f"this ledger has no operation {operation_id!r}; plan it first")
        return self._operations[operation_id]
