"""What each operation on items consumes in capacity units, by the developer guide's rules.

Facts: developer guide, "Capacity unit consumption for read operations" and "... for write operations", "Capacity
management for transactions"; what is only inferred says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from itemledger.errors import ManifestError
from itemledger.tables.units import Size, Units, total_size, total_units, units_for

READ_BLOCK_BYTES = 4_096
WRITE_BLOCK_BYTES = 1_024


class Consistency(StrEnum):
    """How an item is read, which decides what 4 KB of it take."""

    EVENTUAL = "eventual"
    """Half a unit; the default of every read, and the only way to read a global index."""
    STRONG = "strong"
    """One unit."""
    TRANSACTIONAL = "transactional"
    """Two units: TransactGetItems reads once to prepare and once to commit."""

    @property
    def units_per_block(self) -> Decimal:
        return _UNITS_PER_BLOCK[self]


_UNITS_PER_BLOCK = {
    Consistency.EVENTUAL: Decimal("0.5"),
    Consistency.STRONG: Decimal(1),
    Consistency.TRANSACTIONAL: Decimal(2),
}
_NOTHING = Size(0)


def consistency_of(request: Mapping[str, Any]) -> Consistency:
    """What a Query, Scan or GetItem asks for."""
    return Consistency.STRONG if request.get("ConsistentRead") else Consistency.EVENTUAL


def item_read(size: Size | None, consistency: Consistency) -> Units:
    """GetItem: its item rounded up to 4 KB, whatever is projected; an item that is not there (``None``) takes one."""
    return units_for(size or _NOTHING, READ_BLOCK_BYTES, consistency.units_per_block)


def items_read(sizes: Iterable[Size | None], consistency: Consistency) -> Units:
    """BatchGetItem and TransactGetItems: each item is rounded up by itself, and each missing one takes the least."""
    return total_units(item_read(size, consistency) for size in sizes)


def page_read(sizes: Iterable[Size], consistency: Consistency) -> Units:
    """One page of a Query or Scan: all that was examined is added up, then rounded up once.

    Neither a filter, a projection nor ``Select="COUNT"`` lowers it. An empty Query takes the least there is. An empty
    Scan takes that of each partition that it touches (recorded on AWS), whose number no answer tells.
    """
    if consistency is Consistency.TRANSACTIONAL:
        raise ManifestError("a Query or Scan cannot be part of a transaction; read it eventual or strong")
    return units_for(total_size(sizes), READ_BLOCK_BYTES, consistency.units_per_block)


def fetching_page_read(entries: Iterable[Size], items: Iterable[Size], consistency: Consistency) -> Units:
    """A page of a local index that is asked for attributes it does not have: DynamoDB fetches each whole item.

    Beside the entries' page, each item is rounded up by itself (developer guide, "Read capacity units" of local
    indexes). A global index cannot fetch.
    """
    return page_read(entries, consistency).plus(items_read(items, consistency))


@dataclass(frozen=True, slots=True)
class Change:
    """An item's size before and after a write; ``None`` where it is not there.

    Both are needed: a put over a large item, and its deletion, are charged by what was there.
    """

    before: Size | None = None
    after: Size | None = None


def item_written(change: Change, *, transactional: bool = False) -> Units:
    """PutItem, UpdateItem, DeleteItem: the larger of before and after, rounded up to 1 KB; nothing at all takes one.

    An update is charged for the whole item, however little it changes. In a transaction everything is written twice;
    so is, as far as is known, an item that is only checked there (inferred from "of every item in the transaction").
    """
    return units_for(_larger(change.before, change.after), WRITE_BLOCK_BYTES, Decimal(1 + transactional))


def items_written(changes: Iterable[Change], *, transactional: bool = False) -> Units:
    """BatchWriteItem and TransactWriteItems: each item is rounded up by itself."""
    return total_units(item_written(change, transactional=transactional) for change in changes)


def condition_failed(change: Change) -> Units:
    """A write whose condition was false: it has changed nothing and is charged all the same.

    Without an item it takes one unit. With one, pages of the developer guide differ on whether the item there or the
    new one counts: the former is taken here, and the bounds hold both. The error itself tells no units.
    """
    if change.before is None:
        return Units.exactly(1)
    there = item_written(Change(change.before))
    new = there if change.after is None else item_written(Change(after=change.after))
    return Units(there.units, min(there.least_units, new.least_units), max(there.most_units, new.most_units))


def _larger(before: Size | None, after: Size | None) -> Size:
    """The larger of two sizes of which each may be a few bytes off: so may be which one it is."""
    one, other = before or _NOTHING, after or _NOTHING
    size = max(one.size_bytes, other.size_bytes)
    least = max(one.least_bytes, other.least_bytes)
    most = max(one.most_bytes, other.most_bytes)
    return Size(size, max(size - least, most - size))
