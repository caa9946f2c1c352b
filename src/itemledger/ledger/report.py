"""Completion reports out of a store, all of one moment, and back into another one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from itemledger.core.report import report_lines
from itemledger.core.report_check import report_rows, verify_report
from itemledger.ledger.store import Store


def export_report(store: Store, operation_id: str) -> Iterator[bytes]:
    """The report's lines; LedgerError when the ledger's rows and counts do not agree. Memory holds one line."""
    with store.snapshot(operation_id) as snapshot:
        yield from report_lines(snapshot)


def import_report(store: Store, lines: Iterable[bytes]) -> int:
    """Puts a report's rows into this ledger; how many it were. Nothing is written before the whole report is proven,
    and then all of it or nothing.

    What only the first ledger could know stays behind: claims, open windows, late answers. A row that was in flight
    there, or that was to be sent again because of one of these, is in reconcile here. Payloads come back by planning
    the same items again. Other writers wait meanwhile. Raises EvidenceError for a report that is not whole, LedgerError
    when the ledger has the operation, or one of the keys, already.
    """
    with tempfile.TemporaryFile() as spool:
        report = verify_report(_copied(lines, spool))
        spool.seek(0)
        return store.restore(report.operation, report_rows(spool))


def _copied(lines: Iterable[bytes], spool: BinaryIO) -> Iterator[bytes]:
    for line in lines:
        spool.write(line)
        yield line
