"""Other designs for the same answer, each with what it would consume: a key, a sparse index, an index on everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from itemledger.errors import ManifestError
from itemledger.tables.capacity import Change, Consistency, item_written
from itemledger.tables.index_entry import ENTRY_OVERHEAD_BYTES, Index, Projected
from itemledger.tables.page import Row
from itemledger.tables.pages_cost import pages_read
from itemledger.tables.units import NO_UNITS, Size, SizeOf, Units, measured, total_size, total_units

#: Of the attributes of a key (developer guide, "Primary key").
KEY_TYPES = frozenset({"S", "N", "B"})


class Design(StrEnum):
    """How a request could find its items without reading others."""

    KEY_CONDITION = "key_condition"
    """By the table's own key, laid out so that what is wanted together lies together."""
    SPARSE_INDEX = "sparse_index"
    """By an index whose key only the wanted items have."""
    PROJECTED_INDEX = "projected_index"
    """By a global index keyed by what the filter compares, with an entry for every item."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One design. ``read`` replaces what the request consumes now.

    ``stored`` is what it adds to storage, for the items examined. ``kept`` of them have an entry, and putting one into
    the index, or taking it out, takes ``entry_write`` units in the mean.
    """

    design: Design
    read: Units
    stored: Size
    kept: int
    entry_write: Units
    index: Index | None = None

    def __str__(self) -> str:
        if self.design is Design.KEY_CONDITION:
            return f"a key condition that finds just these items: {self.read} units, and nothing more to store"
        what = {
            Design.SPARSE_INDEX: "a sparse index, whose key only these items have",
            Design.PROJECTED_INDEX: "a global index keyed by what the filter compares",
        }[self.design]
        projected = "" if self.index is None else f", {self.index.projected}"
        return (
            f"{what}{projected}: {self.read} units, eventual; {self.kept:,} entries, {self.stored.size_bytes:,} bytes "
            f"in all with overhead; writing one, or removing it, takes {self.entry_write}"
        )


def alternatives(
    examined: Sequence[Row],
    wanted: Sequence[bool],
    *,
    filtered_by: tuple[str, ...],
    table_key: tuple[str, ...],
    size_of: SizeOf,
    consistency: Consistency = Consistency.EVENTUAL,
    needs: tuple[str, ...] | None = None,
) -> tuple[Alternative, ...]:
    """What the request's answer would take by each design, the cheapest to read first.

    ``examined`` are the typed items that it reads now, ``wanted`` says which of them it returns, ``filtered_by`` names
    the attributes that its filter compares, ``needs`` those that the caller uses (``None``: all). Indexes are read
    eventually: global ones cannot be read otherwise. There is none where a wanted item could not be in it, because it
    lacks one of ``filtered_by`` or has it in a type that no key can have.
    """
    if len(examined) != len(wanted):
        raise ManifestError(f"{len(examined):,} items are examined and {len(wanted):,} are said to be wanted or not")
    if not filtered_by:
        raise ManifestError("filtered_by must name the attributes that the filter compares")
    chosen = [item for item, want in zip(examined, wanted, strict=True) if want]
    by_key = pages_read((measured(item, size_of) for item in chosen), consistency).units
    designs = [Alternative(Design.KEY_CONDITION, by_key, Size(0), 0, NO_UNITS)]
    by_index = ((Design.SPARSE_INDEX, chosen), (Design.PROJECTED_INDEX, examined))
    for design, kept in by_index if all(_keyed(item, filtered_by) for item in chosen) else ():
        designs.append(_by_index(design, _index(design, filtered_by, table_key, needs), chosen, kept, size_of))
    return tuple(sorted(designs, key=lambda each: each.read.units))  # stable: of equals the one that stores least


def _keyed(item: Row, key: Iterable[str]) -> bool:
    return all(name in item and item[name].keys() <= KEY_TYPES for name in key)


def _index(design: Design, key: tuple[str, ...], table_key: tuple[str, ...], needs: tuple[str, ...] | None) -> Index:
    """The smallest projection that has what is needed."""
    rest = None if needs is None else tuple(name for name in dict.fromkeys(needs) if name not in (*key, *table_key))
    match rest:
        case None:
            return Index(design, key, table_key)
        case ():
            return Index(design, key, table_key, Projected.KEYS_ONLY)
        case _:
            return Index(design, key, table_key, Projected.INCLUDE, rest)


def _by_index(design: Design, index: Index, chosen: Iterable[Row], kept: Iterable[Row], size_of: SizeOf) -> Alternative:
    read = pages_read(_entries(index, chosen, size_of), Consistency.EVENTUAL).units
    entries = _entries(index, kept, size_of)
    written = total_units(item_written(Change(after=entry)) for entry in entries)
    return Alternative(
        design,
        read,
        total_size([*entries, Size(ENTRY_OVERHEAD_BYTES * len(entries))]),
        len(entries),
        written.mean(len(entries)) if entries else NO_UNITS,
        index,
    )


def _entries(index: Index, items: Iterable[Row], size_of: SizeOf) -> list[Size]:
    return [measured(entry, size_of) for item in items if (entry := index.entry_of(item)) is not None]
