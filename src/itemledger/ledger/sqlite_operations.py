"""Operations in SQLite: made once under their name, opened again with another policy."""

from __future__ import annotations

import json
from dataclasses import replace

from itemledger.core.rows import Operation
from itemledger.ledger.rules import same_target
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.sqlite_rows import OPERATIONS, Stored, operation_named, stored_operation


def open_operation(transaction: Transaction, operation: Operation) -> Operation:
    """``Store.open_operation`` inside a transaction."""
    known = find(transaction, operation)
    if known is None:
        made = replace(operation, created_at=transaction.now, planned_at=None)
        insert(transaction, made)
        return made
    bound = {"operation_id": operation.operation_id, "policy": json.dumps(operation.policy.to_json())}
    transaction.run(OPERATIONS["set_policy"], bound)
    return replace(known, policy=operation.policy)


def find(transaction: Transaction, operation: Operation) -> Operation | None:
    """The operation of that name; LedgerError when it is for another API or target."""
    known = find_named(transaction, operation.operation_id)
    if known is None:
        return None
    same_target(known.operation, operation)
    return known.operation


def find_named(transaction: Transaction, operation_id: str) -> Stored | None:
    found = transaction.one(OPERATIONS["named"], {"operation_id": operation_id})
    return None if found is None else stored_operation(found)


def insert(transaction: Transaction, operation: Operation) -> None:
    transaction.run(
        OPERATIONS["insert"],
        {
            "operation_id": operation.operation_id,
            "api": operation.api,
            "target": json.dumps(dict(operation.target)),
            "policy": json.dumps(operation.policy.to_json()),
            "created_at": operation.created_at,
            "planned_at": operation.planned_at,
        },
    )


def all_of(transaction: Transaction) -> list[Operation]:
    return [stored_operation(found).operation for found in transaction.rows(OPERATIONS["all"])]


def end_planning(transaction: Transaction, operation_id: str) -> None:
    number = operation_named(transaction, operation_id).number
    transaction.run(OPERATIONS["end_planning"], {"operation": number, "now": transaction.now})
