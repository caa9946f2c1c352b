"""Retention and re-import in SQLite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from itemledger.core import moves
from itemledger.core.rows import Operation, Row
from itemledger.errors import LedgerError
from itemledger.ledger import sqlite_operations
from itemledger.ledger.rules import check_new, kept_because
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.sqlite_looks import page_of
from itemledger.ledger.sqlite_planning import insert, last_number
from itemledger.ledger.sqlite_rows import ROWS, Stored, operation_named
from itemledger.ledger.statements import statements

SQL = statements("retention")
#: Rows that one transaction looks at: others get their turn in between.
PRUNED_AT_ONCE = 1000
#: Rows that are in memory at a time.
RESTORED_AT_ONCE = 1000


def prune_page(
    transaction: Transaction, operation_id: str, older_than_s: float, after: int, kept: Counter[str]
) -> tuple[int, int | None]:
    """Deletes what may go among the next rows; how many it were, and the last one looked at, ``None`` at the end."""
    operation = operation_named(transaction, operation_id)
    page = page_of(transaction, operation, after=after, limit=PRUNED_AT_ONCE)
    windows = dict(transaction.rows(SQL["last_window"], {"numbers": json.dumps([row.number for row in page])}))
    gone = []
    for row in page:
        window = windows.get(row.number, 0.0)
        reason = kept_because(row, operation.operation.policy, transaction.now, older_than_s, window)
        if reason is None:
            gone.append(row.number)
        elif reason:
            kept[reason] += 1
    for name in ("delete_history", "delete_payloads", "delete_items"):
        transaction.run(SQL[name], {"numbers": json.dumps(gone)})
    if len(page) == PRUNED_AT_ONCE:
        return len(gone), page[-1].number
    transaction.run(SQL["delete_claims"], {"operation": operation.number})
    return len(gone), None


def restore(transaction: Transaction, operation: Operation, rows: Iterable[Row]) -> int:
    """``Store.restore`` inside a transaction."""
    found = sqlite_operations.find_named(transaction, operation.operation_id)
    check_new(None if found is None else found.operation)
    sqlite_operations.insert(transaction, operation)
    stored = operation_named(transaction, operation.operation_id)
    rows, count = iter(rows), 0
    while chunk := list(islice(rows, RESTORED_AT_ONCE)):
        _restore(transaction, stored, chunk)
        count += len(chunk)
    return count


def _restore(transaction: Transaction, stored: Stored, rows: Sequence[Row]) -> None:
    operation_id = stored.operation.operation_id
    last = last_number(transaction)
    now = transaction.now
    restored = [moves.restored(row, number, operation_id, now) for number, row in enumerate(rows, last + 1)]
    inserted = insert(transaction, stored, restored, last)
    for row, ours in zip(rows, restored, strict=True):
        if ours.number not in inserted:
            raise LedgerError(f"row {row.number} of the report is in this ledger already; import into a new one")
    transaction.run_many(
        ROWS["note"],
        [(row.number, None, "restored", None, row.outcome.value, now, None) for row in restored],
    )
