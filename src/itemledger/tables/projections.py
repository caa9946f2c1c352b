"""What KEYS_ONLY, INCLUDE and ALL cost for one access pattern: storage, updates, reads, and which one to take."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from itemledger.errors import ManifestError
from itemledger.tables.capacity import Change, Consistency, item_written, items_read
from itemledger.tables.index_entry import ENTRY_OVERHEAD_BYTES, MOST_INCLUDED, Index, Projected
from itemledger.tables.page import Row
from itemledger.tables.pages_cost import pages_read
from itemledger.tables.units import NO_UNITS, Size, SizeOf, Units, blocks_of, measured, total_size, total_units


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """What is asked of an index, and what happens to its table, both for the same span of time.

    Each of ``reads`` takes ``entries_per_read`` entries and ``needs`` these attributes of each (``None``: all). Each
    of ``updates`` changes the attributes ``changes`` of one item that is in the index, and not their sizes.
    """

    needs: tuple[str, ...] | None
    entries_per_read: int
    reads: Decimal = Decimal(1)
    updates: Decimal = Decimal(0)
    changes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.entries_per_read < 1:
            raise ManifestError(f"entries_per_read must be at least 1; got {self.entries_per_read}")
        for name in ("reads", "updates"):
            value = getattr(self, name)
            if not isinstance(value, Decimal) or not value.is_finite() or value < 0:
                raise ManifestError(f"{name} must be a Decimal, 0 or more; got {value!r}")


@dataclass(frozen=True, slots=True)
class ProjectionCost:
    """One projection. ``stored`` are the bytes of all entries of the sample, overhead included.

    ``update`` is what one update writes to the index. A read takes ``index_read`` and, where the index does not have
    what is needed, ``second_read``: a BatchGetItem of the whole items behind it, eventual like the index. (A local
    index fetches them by itself, at the same units.)
    """

    index: Index
    entries: int
    stored: Size
    update: Units
    index_read: Units
    second_read: Units
    covers: bool

    @property
    def bytes_per_entry(self) -> int:
        """The mean, rounded up, with its overhead of 100 bytes."""
        return blocks_of(self.stored.size_bytes, self.entries)

    @property
    def read(self) -> Units:
        return self.index_read.plus(self.second_read)


@dataclass(frozen=True, slots=True)
class Projections:
    """The table of all projections that are possible for a pattern, the smallest first."""

    pattern: AccessPattern
    sampled: int
    costs: Sequence[ProjectionCost]

    def reads_of(self, cost: ProjectionCost) -> Units:
        """Read units in the pattern's span of time."""
        return cost.read.times(self.pattern.reads)

    def writes_of(self, cost: ProjectionCost) -> Units:
        """Write units of the index in the pattern's span of time."""
        return cost.update.times(self.pattern.updates)


def projections_for(
    pattern: AccessPattern, items: Iterable[Row], key: tuple[str, ...], table_key: tuple[str, ...], size_of: SizeOf
) -> Projections:
    """``items`` are a sample of the table's, typed; those without the index's key have no entry and count for nothing.

    Raises ManifestError where none of them has one.
    """
    items = tuple(items)
    indexed = [item for item in items if all(name in item for name in key)]
    if not indexed:
        raise ManifestError(f"none of the {len(items):,} items of the sample has the index's key {', '.join(key)}")
    whole = [measured(item, size_of) for item in indexed]
    costs = [_cost(index, pattern, indexed, whole, size_of) for index in _candidates(pattern, key, table_key)]
    return Projections(pattern, len(items), costs)


def _candidates(pattern: AccessPattern, key: tuple[str, ...], table_key: tuple[str, ...]) -> Iterable[Index]:
    yield Index("keys_only", key, table_key, Projected.KEYS_ONLY)
    rest = tuple(name for name in dict.fromkeys(pattern.needs or ()) if name not in (*key, *table_key))
    if 0 < len(rest) <= MOST_INCLUDED:
        yield Index("include", key, table_key, Projected.INCLUDE, rest)
    yield Index("all", key, table_key, Projected.ALL)


def _cost(
    index: Index, pattern: AccessPattern, indexed: Sequence[Row], whole: Sequence[Size], size_of: SizeOf
) -> ProjectionCost:
    entries = [measured(entry, size_of) for item in indexed if (entry := index.entry_of(item)) is not None]
    covers = index.projected is Projected.ALL if pattern.needs is None else index.covers(pattern.needs)
    count = pattern.entries_per_read
    second = NO_UNITS if covers else items_read(_so_many(whole, count), Consistency.EVENTUAL)
    return ProjectionCost(
        index,
        len(entries),
        total_size([*entries, Size(ENTRY_OVERHEAD_BYTES * len(entries))]),
        _update(index, pattern.changes, entries),
        pages_read(_so_many(entries, count), Consistency.EVENTUAL).units,
        second,
        covers,
    )


def _so_many(sizes: Sequence[Size], count: int) -> Iterable[Size]:
    """As many as a read takes, the sample over and over where it has fewer."""
    return itertools.islice(itertools.cycle(sizes), count)


def _update(index: Index, changes: Iterable[str], entries: Sequence[Size]) -> Units:
    """The mean over the sample: a changed key is a deletion and a put, a changed copy one write, all else nothing."""
    changed = set(changes)
    if index.kept is not None and not changed & set(index.kept):
        return NO_UNITS
    if not changed:
        return NO_UNITS
    written = total_units(item_written(Change(size, size)) for size in entries).mean(len(entries))
    return written.times(2) if changed & set(index.key) else written
