"""Operations in SQLite: made once under their name, opened again with another policy."""

from __future__ import annotations

import json
from dataclasses import replace

from itemledger.core.rows import Operation
from itemledger.ledger.rules import same_target, with_endpoint, with_policy
from itemledger.ledger.sqlite_file import Transaction
from itemledger.ledger.sqlite_rows import OPERATIONS, Stored, operation_named, stored_operation


def open_operation(transaction: Transaction, operation: Operation, *, keep_policy: bool) -> Operation:
    """``Store.open_operation`` inside a transaction."""
    found = find_named(transaction, operation.operation_id)
    if found is None:
        made = replace(operation, created_at=transaction.now, planned_at=None)
        insert(transaction, made)
        return made
    same_target(found.operation, operation)
    if keep_policy:
        return found.operation
    after = with_policy(found.operation, operation.policy, transaction.now)
    _save(transaction, Stored(found.number, after))
    return after


def set_endpoint(transaction: Transaction, operation_id: str, endpoint: str, *, moved: bool) -> None:
    """``Store.set_endpoint`` inside a transaction."""
    found = operation_named(transaction, operation_id)
    _save(transaction, Stored(found.number, with_endpoint(found.operation, endpoint, moved=moved)))


def _save(transaction: Transaction, stored: Stored) -> None:
    operation = stored.operation
    transaction.run(
        OPERATIONS["save"],
        {
            "number": stored.number,
            "policy": json.dumps(operation.policy.to_json()),
            "former": _former_text(operation),
            "endpoint": operation.endpoint,
        },
    )


def _former_text(operation: Operation) -> str:
    return json.dumps([{"until": each.until, "policy": each.policy.to_json()} for each in operation.former])


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
            "effect": operation.effect.value,
            "created_at": operation.created_at,
            "planned_at": operation.planned_at,
            "endpoint": operation.endpoint,
            "former": _former_text(operation),
        },
    )


def all_of(transaction: Transaction) -> list[Operation]:
    return [stored_operation(found).operation for found in transaction.rows(OPERATIONS["all"])]


def end_planning(transaction: Transaction, operation_id: str) -> None:
    number = operation_named(transaction, operation_id).number
    transaction.run(OPERATIONS["end_planning"], {"operation": number, "now": transaction.now})
