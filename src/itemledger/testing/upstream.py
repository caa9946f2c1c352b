"""Answers in an engine's place, for faults that need an answer to spoil where no engine runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from itemledger.testing.answers import TypedItem
from itemledger.testing.injector import Upstream
from itemledger.testing.script import ScriptError
from itemledger.testing.wire import Attempt, Json, encode


def serve_rows(tables: Mapping[str, Iterable[TypedItem]], *, key: tuple[str, ...] = ("pk",)) -> Upstream:
    """An upstream for ``FaultInjector``: ``BatchGetItem`` over typed rows in memory, nothing else.

    Every table has the key attributes ``key``. Rows come whole and in request order, absent keys are left out. A
    projection, or another operation, is refused: use an engine.
    """
    stored = {
        table: {_identity(row, key): row for row in json.loads(encode({"rows": list(rows)}))["rows"]}
        for table, rows in tables.items()
    }

    def answer(attempt: Attempt) -> Json:
        if attempt.operation != "batch_get_item":
            raise ScriptError(f"serve_rows answers batch_get_item only, not {attempt.operation}; use an engine")
        responses: Json = {}
        for table, asked in attempt.request["RequestItems"].items():
            if table not in stored:
                raise ScriptError(f"serve_rows has no table {table}, only {sorted(stored)}")
            if "ProjectionExpression" in asked or "AttributesToGet" in asked:
                raise ScriptError("serve_rows gives whole rows, the request has a projection; use an engine")
            found = (stored[table].get(_identity(wanted, key)) for wanted in asked["Keys"])
            responses[table] = [row for row in found if row is not None]
        return {"Responses": responses, "UnprocessedKeys": {}}

    return answer


def _identity(item: Mapping[str, Any], key: tuple[str, ...]) -> tuple[tuple[str, object], ...]:
    """The key's types and values; numbers by value, as the service compares them."""
    parts: list[tuple[str, object]] = []
    for name in key:
        ((tag, value),) = item[name].items()
        parts.append((tag, Decimal(value) if tag == "N" else value))
    return tuple(parts)
