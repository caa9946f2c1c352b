"""What an index keeps of an item, and what keeping it up to date consumes.

Facts: developer guide, "Write capacity units" and "Storage considerations" of global and of local secondary indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from itemledger.core.numbers import parse_number
from itemledger.errors import ManifestError
from itemledger.tables.capacity import Change, item_written
from itemledger.tables.page import Row
from itemledger.tables.units import EXACT, NO_UNITS, SizeOf, Units, measured, total_units

#: Stored with each entry and read for free (developer guide, "Storage considerations").
ENTRY_OVERHEAD_BYTES = 100
#: Over all indexes of a table together (service model 2012-08-10, NonKeyAttributes).
MOST_INCLUDED = 100


class Projected(StrEnum):
    """What an index copies beside its own key and its table's."""

    KEYS_ONLY = "KEYS_ONLY"
    """Nothing."""
    INCLUDE = "INCLUDE"
    """The attributes that it names."""
    ALL = "ALL"
    """Everything."""


@dataclass(frozen=True, slots=True)
class Index:
    """A global or local index. ``key`` is its own, of up to eight attributes; ``include`` goes with INCLUDE only."""

    name: str
    key: tuple[str, ...]
    table_key: tuple[str, ...]
    projected: Projected = Projected.ALL
    include: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.key or not self.table_key:
            raise ManifestError(f"index {self.name} needs the attributes of its key and of its table's key")
        if (self.projected is Projected.INCLUDE) is not bool(self.include):
            raise ManifestError(f"index {self.name}: include= names attributes with INCLUDE, and with nothing else")

    @property
    def kept(self) -> tuple[str, ...] | None:
        """The attributes of an entry; ``None`` for all there are."""
        if self.projected is Projected.ALL:
            return None
        return tuple(dict.fromkeys((*self.table_key, *self.key, *self.include)))

    def covers(self, needs: Iterable[str]) -> bool:
        """Whether a query of the index alone returns these attributes."""
        return self.kept is None or set(needs) <= set(self.kept)

    def entry_of(self, item: Row | None) -> Row | None:
        """The item's entry; ``None`` where there is none, because an attribute of the index's key is missing."""
        if item is None or not all(name in item for name in self.key):
            return None
        kept = self.kept
        return item if kept is None else {name: item[name] for name in kept if name in item}


@dataclass(frozen=True, slots=True)
class WriteCost:
    """Write units of one item: the table's own, and each index's."""

    table: Units
    indexes: Mapping[str, Units]

    @property
    def units(self) -> Units:
        return self.table.plus(total_units(self.indexes.values()))


def write_cost(
    before: Row | None, after: Row | None, indexes: Iterable[Index], size_of: SizeOf, *, transactional: bool = False
) -> WriteCost:
    """One write of a typed item, from what was there to what is there then; ``None`` is no item.

    A transaction writes its items twice. Whether it writes their index entries twice is not documented: once is taken,
    since indexes follow after it has ended, and the bounds hold both.
    """
    change = Change(*(None if item is None else measured(item, size_of) for item in (before, after)))
    maintained = {index.name: entry_written(index, before, after, size_of) for index in indexes}
    if transactional:
        maintained = {
            name: Units(u.units, u.least_units, EXACT.multiply(u.most_units, 2)) for name, u in maintained.items()
        }
    return WriteCost(item_written(change, transactional=transactional), maintained)


def entry_written(index: Index, before: Row | None, after: Row | None, size_of: SizeOf) -> Units:
    """The writes to one index: none where its entry does not change, two where the entry's key does.

    Entries are rounded up to 1 KB like items, without their overhead in storage.
    """
    old, new = index.entry_of(before), index.entry_of(after)
    if _same(old, new):
        return NO_UNITS
    removed = Change(before=None if old is None else measured(old, size_of))
    put = Change(after=None if new is None else measured(new, size_of))
    if old is None:
        return item_written(put)
    if new is None:
        return item_written(removed)
    if any(not _same(old[name], new[name]) for name in index.key):
        return item_written(removed).plus(item_written(put))
    return item_written(Change(removed.before, put.after))


def _same(one: Any, other: Any) -> bool:
    return bool(_by_value(one) == _by_value(other))


def _by_value(value: Any) -> Any:
    """Typed values in a form whose equality is DynamoDB's: numbers by value, sets without order."""
    if not isinstance(value, Mapping):
        return value
    plain: dict[str, Any] = {}
    for tag, content in value.items():
        match tag, content:
            case "N", str():
                plain[tag] = _number(content)
            case "NS", list():
                plain[tag] = frozenset(map(_number, content))
            case "SS" | "BS", list():
                plain[tag] = frozenset(content)
            case "L", list():
                plain[tag] = [_by_value(member) for member in content]
            case _:
                plain[tag] = _by_value(content)
    return plain


def _number(text: str) -> Decimal | str:
    try:
        return parse_number(text)
    except ValueError:
        return text
