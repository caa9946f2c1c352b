"""What can be seen of a SQLite ledger beside single rows: pages, counts, histories."""

from __future__ import annotations

import json
from collections.abc import Generator

from itemledger.core.batches import HistoryEntry
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Row
from itemledger.errors import LedgerError
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.sqlite_rows import ROWS, Stored, evidence_of, numbers_of, rows_of

#: Rows that are held at a time where all are gone through.
PAGE = 500


def row_of(transaction: Transaction, number: int) -> Row:
    """LedgerError when there is none."""
    found = rows_of(transaction, [number])
    if not found:
        raise LedgerError(f"this ledger has no row {number}")
    return found[0]


def page_of(
    transaction: Transaction,
    operation: Stored | None,
    *,
    outcome: Outcome | None = None,
    in_review: bool = False,
    after: int,
    limit: int,
) -> list[Row]:
    """Rows by number, those after ``after``."""
    name = "page" + ("" if operation is None else "_of_operation") + ("_in_review" if in_review else "")
    bound = {"outcome": None if outcome is None else outcome.value, "after": after, "limit": limit}
    if operation is not None:
        bound["operation"] = operation.number
    return rows_of(transaction, numbers_of(transaction.rows(ROWS[name], bound)))


def all_rows(transaction: Transaction, operation: Stored) -> Generator[Row, None, None]:
    """Every row of the operation, a page at a time."""
    last = 0
    while page := page_of(transaction, operation, after=last, limit=PAGE):
        yield from page
        last = page[-1].number


def counts_of(transaction: Transaction, operation: Stored) -> dict[Outcome, int]:
    """How many rows stand where."""
    found = dict(transaction.rows(ROWS["counts"], {"operation": operation.number}))
    return {outcome: found.get(outcome.value, 0) for outcome in Outcome}


def history_of(transaction: Transaction, number: int) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            entry,
            item,
            epoch,
            event,
            None if before is None else Outcome(before),
            Outcome(after),
            at,
            {} if detail is None else json.loads(detail),
            evidence_of(evidence),
        )
        for entry, item, epoch, event, before, after, at, detail, evidence in transaction.rows(
            ROWS["history"], {"number": number}
        )
    ]
