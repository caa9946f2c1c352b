"""Planning in SQLite: many rows by few statements, and the same items again change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from itemledger.core import moves
from itemledger.core.outcome import Event, Outcome
from itemledger.core.rows import Conflict, NewItem, Planned, Review, Row, Source
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.sqlite_rows import (
    ROWS,
    Change,
    Stored,
    note,
    numbers_of,
    operation_named,
    rows_of,
    state_of,
    wake,
    write,
)
from itemledger.ledger.statements import statements

SQL = statements("planning")


def plan(transaction: Transaction, operation_id: str, items: Sequence[NewItem]) -> Planned:
    """``Store.plan`` inside a transaction."""
    operation = operation_named(transaction, operation_id)
    last = last_number(transaction)
    rows = [_new_row(number, operation_id, item, transaction.now) for number, item in enumerate(items, last + 1)]
    inserted = insert(transaction, operation, rows, last)
    transaction.run(SQL["note_planned"], {"last": last, "now": transaction.now})
    new = [row for row in rows if row.number in inserted]
    note(transaction, [_refusal(row) for row in new if row.outcome is Outcome.TERMINAL])
    wake(transaction, operation.number, [row.group_id for row in new if row.group_id is not None])
    if len(new) == len(items):
        return Planned(len(new))
    there = [(position, items[position]) for position, row in enumerate(rows) if row.number not in inserted]
    return _compare(transaction, operation, there, len(new))


def last_number(transaction: Transaction) -> int:
    found = transaction.one(ROWS["last_number"])
    assert found is not None
    return int(found[0])


def insert(transaction: Transaction, operation: Stored, rows: Sequence[Row], last: int) -> set[int]:
    """Inserts rows numbered from ``last`` on; the numbers of those whose key and item id were free come back."""
    paths = {path: _path(transaction, path) for path in {row.source.path for row in rows} if path is not None}
    transaction.run_many(
        ROWS["insert"],
        [
            (
                row.number,
                operation.number,
                row.item_id,
                row.idempotency_key,
                row.payload_hash,
                row.size_bytes,
                None if row.source.path is None else paths[row.source.path],
                row.source.offset,
                row.source.length,
                row.group_id,
                *state_of(row),
            )
            for row in rows
        ],
    )
    inserted = set(numbers_of(transaction.rows(ROWS["inserted"], {"last": last})))
    _put_payloads(transaction, [(row.number, row.source) for row in rows if row.number in inserted])
    return inserted


def _new_row(number: int, operation_id: str, item: NewItem, now: float) -> Row:
    """Due at once; in a group, ``wake`` says which row is."""
    row = moves.planned(number, operation_id, item, now if item.group_id is None else None, now)
    return row if item.refused is None else moves.refused_locally(row, item.refused, now)


def _refusal(row: Row) -> Change:
    planned = moves.planned(row.number, row.operation_id, _as_item(row), None, row.updated_at)
    return Change(planned, row, Event.REFUSED_LOCALLY)


def _as_item(row: Row) -> NewItem:
    return NewItem(row.item_id, row.idempotency_key, row.payload_hash, row.size_bytes, row.source, row.group_id)


def _compare(transaction: Transaction, operation: Stored, there: Iterable[tuple[int, NewItem]], new: int) -> Planned:
    """What the items mean that have a row already, or whose key or id has."""
    repeated, refused = 0, []
    # One item may come twice in one call, and the second time finds what the first one left.
    moved: dict[int, Source] = {}
    again: dict[int, Change] = {}
    for position, item in there:
        row = _taken(transaction, operation, item)
        if moves.is_same(row, operation.operation.operation_id, item):
            repeated += 1
            lies_at = moved.get(row.number, row.source)
            if row.outcome is not Outcome.SUCCEEDED and item.source not in (Source(), lies_at):
                moved[row.number] = item.source
            if row.review is Review.SOURCE_CHANGED:
                again[row.number] = Change(row, moves.planned_again(row, transaction.now), "planned_again")
        else:
            refused.append(Conflict(position, row.number, row.operation_id))
    _move_sources(transaction, list(moved.items()))
    write(transaction, operation, list(again.values()))
    return Planned(new, repeated, tuple(refused))


def _taken(transaction: Transaction, operation: Stored, item: NewItem) -> Row:
    found = transaction.one(ROWS["by_key"], {"idempotency_key": item.idempotency_key}) or transaction.one(
        ROWS["by_item_id"], {"operation": operation.number, "item_id": item.item_id}
    )
    assert found is not None, "an item was neither inserted nor is there"
    [row] = rows_of(transaction, found)
    return row


def _move_sources(transaction: Transaction, moved: Sequence[tuple[int, Source]]) -> None:
    parameters: list[tuple[Any, ...]] = []
    for number, source in moved:
        path = None if source.path is None else _path(transaction, source.path)
        parameters.append((path, source.offset, source.length, number))
    transaction.run_many(SQL["move_source"], parameters)
    transaction.run_many(SQL["drop_payload"], [(number,) for number, source in moved if source.stored is None])
    _put_payloads(transaction, moved)


def _put_payloads(transaction: Transaction, sources: Iterable[tuple[int, Source]]) -> None:
    stored = [(number, source.stored) for number, source in sources if source.stored is not None]
    transaction.run_many(SQL["put_payload"], stored)


def _path(transaction: Transaction, path: str) -> int:
    transaction.run(SQL["insert_path"], {"path": path})
    found = transaction.one(SQL["path"], {"path": path})
    assert found is not None
    return int(found[0])
