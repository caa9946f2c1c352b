"""The completion report of an operation, line by line: what was planned, and where every item of it stands.

Each line carries the SHA-256 of the line before it, the trailer that of all lines before it. Payloads, their places
and error messages are not in it. ``schemas/report-1.json`` describes a line for those who read it without itemledger.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from itemledger.core.evidence import encode
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Row, Snapshot
from itemledger.errors import LedgerError

SCHEMA = "itemledger/report/1"
SENT, NOT_SENT = "sent", "not sent"


def report_lines(snapshot: Snapshot) -> Iterator[bytes]:
    """Header, a line per row, trailer. LedgerError, before the trailer, when the store's rows are not its counts."""
    chain = Chain()
    yield chain.line(header_line(snapshot))
    found: Counter[Outcome] = Counter()
    for row in snapshot.rows:
        found[row.outcome] += 1
        yield chain.line(item_line(row))
    told = {outcome: snapshot.counts.get(outcome, 0) for outcome in Outcome}
    if told != {outcome: found[outcome] for outcome in Outcome}:
        raise LedgerError(
            f"the ledger counts {sum(told.values())} rows of {snapshot.operation.operation_id!r} by outcome and has "
            f"{found.total()} of them, which is not the same; keep the ledger as it is and have it looked at"
        )
    yield chain.trailer(found.total())


def header_line(snapshot: Snapshot) -> dict[str, Any]:
    """The operation, its moment, and what its items must add up to."""
    operation = snapshot.operation
    return {
        "kind": "header",
        "schema": SCHEMA,
        "operation": operation.operation_id,
        "api": operation.api,
        "target": dict(operation.target),
        "policy": operation.policy.to_json(),
        "former_policies": [{"until": each.until, "policy": each.policy.to_json()} for each in operation.former],
        "effect": operation.effect.value,
        "endpoint": operation.endpoint,
        "created_at": operation.created_at,
        "planned_at": operation.planned_at,
        "at": snapshot.at,
        "planned": sum(snapshot.counts.values()),
        "outcomes": {outcome.value: snapshot.counts.get(outcome, 0) for outcome in Outcome},
    }


def item_line(row: Row) -> dict[str, Any]:
    """One item as its line tells of it."""
    return {
        "kind": "item",
        "row": row.number,
        "item_id": row.item_id,
        "group_id": row.group_id,
        "idempotency_key": row.idempotency_key,
        "payload_hash": row.payload_hash,
        "size_bytes": row.size_bytes,
        "outcome": row.outcome.value,
        "sent": NOT_SENT if row.dispatches == 0 else SENT,
        "dispatches": row.dispatches,
        "attempts": row.attempts,
        "lost_attempts": row.lost_attempts,
        "possible_duplicates": row.possible_duplicates,
        "request_id": row.request_id,
        "object_ref": row.object_ref,
        "error_code": row.error_code,
        "review": row.review and row.review.value,
        "late_success": row.late_epoch is not None,
        "replay_until": row.replay_until,
        "due_at": row.due_at,
        "updated_at": row.updated_at,
    }


class Chain:
    """The lines that were, as hashes; the writer makes each next one by it, the reader compares."""

    def __init__(self) -> None:
        self.lines = 0
        self.previous = ""
        self._whole = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._whole.hexdigest()

    def add(self, raw: bytes) -> None:
        self.lines += 1
        self.previous = hashlib.sha256(raw).hexdigest()
        self._whole.update(raw)

    def line(self, told: Mapping[str, Any]) -> bytes:
        raw = encode({**told, "prev": self.previous})
        self.add(raw)
        return raw

    def trailer(self, items: int) -> bytes:
        return self.line({"kind": "trailer", "items": items, "lines": self.lines + 1, "sha256": self.sha256})
