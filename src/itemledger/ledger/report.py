"""Completion reports out of a store, all of one moment, and back into another one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

from itemledger.core.report import report_lines
from itemledger.core.report_check import verify_report
from itemledger.core.rows import Operation, Row
from itemledger.errors import LedgerError
from itemledger.ledger.store import Store

#: Rows of one transaction.
CHUNK = 1000


def export_report(store: Store, operation_id: str) -> Iterator[bytes]:
    """The report's lines; LedgerError when the ledger's rows and counts do not agree. Memory holds one line."""
    with store.snapshot(operation_id) as snapshot:
        yield from report_lines(snapshot)


def import_report(store: Store, lines: Iterable[bytes]) -> int:
    """Puts a report's rows into this ledger; how many it were. Nothing is written before the whole report is proven.

    What only the first ledger could know stays behind: claims, open windows, late answers. A row that was in flight
    there, or that was to be sent again because of one of these, is in reconcile here. Payloads come back by planning
    the same items again. Raises EvidenceError for a report that is not whole, LedgerError when the ledger has the
    operation, or one of the keys, already.
    """
    with tempfile.TemporaryFile() as spool:
        report = verify_report(_copied(lines, spool))
        operation = report.operation
        if any(known.operation_id == operation.operation_id for known in store.operations()):
            raise LedgerError(f"operation {operation.operation_id!r} is in this ledger already; import into a new one")
        spool.seek(0)
        _Import(store, operation).all(spool)
    if operation.planned_at is not None:
        store.planning_ended(operation.operation_id)
    return report.planned


def _copied(lines: Iterable[bytes], spool: BinaryIO) -> Iterator[bytes]:
    for line in lines:
        spool.write(line)
        yield line


class _Import:
    """Chunks of rows on their way in; until all are there the operation counts as not planned, so none is sent."""

    def __init__(self, store: Store, operation: Operation) -> None:
        self._store = store
        self._operation = replace(operation, planned_at=None)
        self._rows: list[Row] = []

    def all(self, lines: Iterable[bytes]) -> None:
        verify_report(lines, self._take)
        self._flush()

    def _take(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        self._store.restore(self._operation, self._rows)
        self._rows = []
