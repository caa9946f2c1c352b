"""An answer to Query or Scan as a page; what cannot be true is refused.

Facts: service model 2012-08-10, Query and Scan. A page ends at 1 MB or ``Limit`` evaluated items, before the filter;
only an absent LastEvaluatedKey is the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from itemledger.core.answer import Answer
from itemledger.core.reconcile import shape_of
from itemledger.core.result import Item
from itemledger.errors import LedgerInvariantError
from itemledger.tables.page import Consumed, LastKey, Page, Row


@dataclass(frozen=True, slots=True)
class PageCall:
    """Send ``request`` now: the page after ``start_key`` of one segment. ``limit`` is what the request says."""

    number: int
    operation: str
    request: dict[str, Any]
    segment: int
    page: int
    start_key: LastKey | None
    limit: int | None
    started_at: float
    estimate: float = 0.0


def page_of(call: PageCall, answer: Answer, duration_ms: float, decode: Callable[[Row], Item]) -> Page:
    """The page; raises LedgerInvariantError for counts that contradict one another, and a key that leads nowhere."""
    response = answer.response
    rows = response.get("Items")
    counted_only = call.request.get("Select") == "COUNT"
    returned = _count(response, "Count")
    examined = _count(response, "ScannedCount")
    if rows is None and not counted_only:
        raise LedgerInvariantError(f"the answer to {call.operation} has no Items", structure=shape_of(response))
    rows = () if rows is None else rows
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        raise LedgerInvariantError("Items is no list of items", structure=shape_of(response))
    if returned is None:
        returned = len(rows)
    if returned != len(rows) and not (counted_only and not rows):
        raise LedgerInvariantError(f"Count says {returned:,} where Items holds {len(rows):,}")
    if examined is not None and examined < returned:
        raise LedgerInvariantError(f"ScannedCount says {examined:,}, fewer than the {returned:,} returned")
    read = returned if examined is None else examined
    if call.limit is not None and read > call.limit:
        raise LedgerInvariantError(f"the page examined {read:,} items where Limit allows {call.limit:,}")
    return Page(
        tuple(rows),
        returned,
        examined,
        consumed_of(response.get("ConsumedCapacity")),
        _last_key(response, call.start_key),
        call.segment,
        call.page,
        call.start_key,
        answer.request_id,
        answer.sdk_retry_attempts,
        answer.label,
        answer.response_bytes,
        duration_ms,
        decode,
    )


def consumed_of(told: object) -> Consumed | None:
    """ConsumedCapacity of a call to one table; ``None``, "unknown", for anything but numbers of units."""
    if not isinstance(told, Mapping):
        return None
    units = _units(told)
    if units is None:
        return None
    indexes = {**(told.get("LocalSecondaryIndexes") or {}), **(told.get("GlobalSecondaryIndexes") or {})}
    by_index = {name: _units(each) for name, each in indexes.items()}
    return Consumed(units, _units(told.get("Table")), {n: each for n, each in by_index.items() if each is not None})


def _units(told: object) -> float | None:
    units = told.get("CapacityUnits") if isinstance(told, Mapping) else None
    if isinstance(units, bool) or not isinstance(units, int | float) or not 0 <= units < math.inf:
        return None
    return float(units)


def _count(response: Mapping[str, Any], member: str) -> int | None:
    count = response.get(member)
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise LedgerInvariantError(f"{member} is no count", structure=shape_of(response))
    return count


def _last_key(response: Mapping[str, Any], start_key: LastKey | None) -> LastKey | None:
    last = response.get("LastEvaluatedKey")
    if last is None:
        return None
    if not isinstance(last, Mapping) or not last:
        raise LedgerInvariantError("LastEvaluatedKey is there and holds no key", structure=shape_of(response))
    if last == start_key:
        raise LedgerInvariantError(
            "the page ends at the key that it began after, so asking on would ask the same for ever",
            structure=shape_of(last),
        )
    return last
