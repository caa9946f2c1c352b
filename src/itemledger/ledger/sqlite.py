"""The embedded store: a ledger in one SQLite file, for any number of processes of one machine."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from itemledger.core.batches import Ask, Batch, CallEvidence, Claimed, HistoryEntry, Move, Recorded
from itemledger.core.deciding import choice, decided_row
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Decided, NewItem, Operation, Planned, Pruned, Row, Snapshot
from itemledger.core.write_api import Replay
from itemledger.errors import LedgerError
from itemledger.ledger import sqlite_batches, sqlite_claims, sqlite_operations, sqlite_planning, sqlite_retention
from itemledger.ledger.rules import check_person
from itemledger.ledger.sqlite_file import SqliteFile, Synchronous
from itemledger.ledger.sqlite_looks import all_rows, counts_of, history_of, page_of, row_of
from itemledger.ledger.sqlite_outbox import inside
from itemledger.ledger.sqlite_rows import ROWS, Change, batch_of, operation_named, write
from itemledger.ledger.sqlite_schema import prepare


class SqliteStore:
    """Implements ``Store``. One object may be used from several threads, any number of them on one file.

    ``synchronous="FULL"`` keeps every verb through a power cut; ``"NORMAL"`` is quicker and may lose the last ones
    then, never through the end of a process. A verb waits up to ``busy_timeout_s`` for other writers.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], float] = time.time,
        synchronous: Synchronous = "FULL",
        busy_timeout_s: float = 30.0,
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise LedgerError(f"synchronous={synchronous!r}: give FULL or NORMAL")
        self._file = SqliteFile(path, clock, synchronous, busy_timeout_s)
        try:
            self._ledger_id = prepare(self._file)
        except BaseException:
            self._file.close()
            raise

    def now(self) -> float:
        return self._file.now()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------- planning

    def open_operation(self, operation: Operation, *, keep_policy: bool = False) -> Operation:
        with self._file.writing() as transaction:
            return sqlite_operations.open_operation(transaction, operation, keep_policy=keep_policy)

    def set_endpoint(self, operation_id: str, endpoint: str, *, moved: bool = False) -> None:
        with self._file.writing() as transaction:
            sqlite_operations.set_endpoint(transaction, operation_id, endpoint, moved=moved)

    def operations(self) -> list[Operation]:
        with self._file.reading() as transaction:
            return sqlite_operations.all_of(transaction)

    def plan(self, operation_id: str, items: Sequence[NewItem]) -> Planned:
        with self._file.writing() as transaction:
            return sqlite_planning.plan(transaction, operation_id, items)

    def plan_within(self, connection: sqlite3.Connection, operation_id: str, items: Sequence[NewItem]) -> Planned:
        """``plan`` inside the caller's own open transaction on this file: the rows come and go with his.

        Neither begins nor commits. Raises LedgerError when there is no open transaction or the connection is to
        another database; whatever fails, his transaction is as it was before.
        """
        with inside(self._file, connection, self._ledger_id) as transaction:
            return sqlite_planning.plan(transaction, operation_id, items)

    def planning_ended(self, operation_id: str) -> None:
        with self._file.writing() as transaction:
            sqlite_operations.end_planning(transaction, operation_id)

    # --------------------------------------------------------------------------------------------------- claims

    def claim(self, operation_id: str, ask: Ask) -> Claimed:
        with self._file.writing() as transaction:
            return sqlite_claims.claim(transaction, operation_id, ask)

    def heartbeat(self, epoch: int) -> None:
        with self._file.writing() as transaction:
            sqlite_batches.heartbeat(transaction, epoch)

    def dispatch(self, epoch: int, replay: Replay | None = None) -> None:
        with self._file.writing() as transaction:
            sqlite_batches.dispatch(transaction, epoch, replay)

    def record(self, epoch: int, evidence: CallEvidence, moves: Sequence[Move]) -> Recorded:
        with self._file.writing() as transaction:
            return sqlite_batches.record(transaction, epoch, evidence, moves)

    def release(self, epoch: int, *, set_aside: Collection[int] = ()) -> None:
        with self._file.writing() as transaction:
            sqlite_batches.release(transaction, epoch, set_aside)

    # -------------------------------------------------------------------------------------------------- looking

    def counts(self, operation_id: str) -> Mapping[Outcome, int]:
        with self._file.reading() as transaction:
            return counts_of(transaction, operation_named(transaction, operation_id))

    def reviews(self, operation_id: str) -> int:
        with self._file.reading() as transaction:
            number = operation_named(transaction, operation_id).number
            [(count,)] = transaction.rows(ROWS["reviews"], {"operation": number})
            return int(count)

    def rows(
        self,
        operation_id: str | None = None,
        *,
        outcome: Outcome | None = None,
        in_review: bool = False,
        after: int = 0,
        limit: int = 1000,
    ) -> list[Row]:
        with self._file.reading() as transaction:
            operation = None
            if operation_id is not None:
                operation = sqlite_operations.find_named(transaction, operation_id)
                if operation is None:
                    return []
            return page_of(transaction, operation, outcome=outcome, in_review=in_review, after=after, limit=limit)

    def row(self, number: int) -> Row:
        with self._file.reading() as transaction:
            return row_of(transaction, number)

    def find(self, operation_id: str, item_id: str) -> Row | None:
        with self._file.reading() as transaction:
            found = transaction.one(ROWS["find"], {"operation_id": operation_id, "item_id": item_id})
            return None if found is None else row_of(transaction, found[0])

    def batch(self, epoch: int) -> Batch:
        with self._file.reading() as transaction:
            return batch_of(transaction, epoch)

    def history(self, number: int) -> list[HistoryEntry]:
        with self._file.reading() as transaction:
            return history_of(transaction, number)

    @contextmanager
    def snapshot(self, operation_id: str) -> Iterator[Snapshot]:
        with self._file.reading_aside() as transaction:
            stored = operation_named(transaction, operation_id)
            rows = all_rows(transaction, stored)
            try:
                yield Snapshot(stored.operation, transaction.now, counts_of(transaction, stored), rows)
            finally:
                rows.close()

    # -------------------------------------------------------------------------------------- persons, retention

    def decide(self, number: int, decided: Decided, *, who: str, why: str) -> Row:
        check_person(who, why)
        with self._file.writing() as transaction:
            before = row_of(transaction, number)
            event, _ = choice(before, decided)
            operation = operation_named(transaction, before.operation_id)
            after = decided_row(before, decided, operation.operation.effect, transaction.now)
            detail = {"decided": decided.value, "who": who, "why": why}
            write(transaction, operation, [Change(before, after, event or "reviewed", detail=detail)])
            return after

    def prune(self, operation_id: str, *, older_than_s: float) -> Pruned:
        deleted, kept, last = 0, Counter[str](), 0
        while True:  # ends with the operation's last row; a transaction for each page, so that nobody waits long
            with self._file.writing() as transaction:
                gone, end = sqlite_retention.prune_page(transaction, operation_id, older_than_s, last, kept)
            deleted += gone
            if end is None:
                return Pruned(deleted, dict(kept))
            last = end

    def restore(self, operation: Operation, rows: Iterable[Row]) -> int:
        with self._file.writing() as transaction:
            return sqlite_retention.restore(transaction, operation, rows)
