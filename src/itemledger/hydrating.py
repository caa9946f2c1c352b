"""From the entries of an index to the full items of its table, each with a word on whether the entry still holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Unpack

from itemledger.apis.attribute_values import AttributeValueError
from itemledger.apis.dynamodb_look_up import canonical_item
from itemledger.core.manifest import KeyNames
from itemledger.core.result import Disposition, Item, KeyOutcome, ReadResult
from itemledger.errors import ManifestError
from itemledger.opening import ReadOptions
from itemledger.sync import SyncOptions, read_batch
from itemledger.tables.page import Page, Row


class EntryState(StrEnum):
    """How an index entry stands to its item. A global index follows its table after a while; where the item is not read
    strongly either, it may be the item that is behind."""

    CURRENT = "current"
    """Every attribute of the entry is the item's, too."""
    STALE = "stale"
    """The item is there, and an attribute of the entry is another in it, or is gone."""
    GONE = "gone"
    """The item was asked for, processed, and is not there."""
    UNRESOLVED = "unresolved"
    """The read ended before it was known; the entry proves nothing about it."""


@dataclass(frozen=True, slots=True)
class Hydrated:
    """An entry and its item; ``item`` is ``None`` where it is gone or unresolved."""

    entry: Item
    item: Item | None
    state: EntryState


@dataclass(frozen=True, slots=True)
class HydratedPage:
    """A page's entries in its order, and the read behind them with its ledger; ``None`` for an empty page.

    Entries and items are spelled as the page's are, ``read`` has AttributeValues always.
    """

    page: Page
    entries: tuple[Hydrated, ...]
    read: ReadResult | None

    @property
    def items(self) -> tuple[Item, ...]:
        """The items that are there and still match their entry."""
        return tuple(each.item for each in self.entries if each.state is EntryState.CURRENT and each.item is not None)

    @property
    def complete(self) -> bool:
        return self.read is None or self.read.complete


def hydrate(
    client: Any,
    pages: Iterable[Page],
    table_name: str,
    key: KeyNames,
    *,
    consistent_read: bool = False,
    **options: Unpack[SyncOptions],
) -> Iterator[HydratedPage]:
    """Reads the items behind each page of an index through ``read_batch``, page by page, in the entries' order.

    ``pages`` are those of a query or scan of one of the table's indexes, ``key`` names the table's own key. Options are
    those of ``read_batch``, a read for each page; ``values`` is that of the pages. A read that ends early leaves its
    entries unresolved, never gone. Raises ManifestError for entries without the table's key.
    """
    for page in pages:
        if not (keys := keys_of(page, key, options)):
            yield HydratedPage(page, (), None)
            continue
        asking: SyncOptions = {**options, "values": "typed", "fold_duplicates": True}
        yield hydrated(page, read_batch(client, table_name, keys, key, consistent_read=consistent_read, **asking))


def keys_of(page: Page, key: KeyNames, options: ReadOptions) -> list[Row]:
    """The table's key in each entry; ManifestError for what cannot be hydrated."""
    if "values" in options:
        raise ManifestError("items are spelled as those of the pages; give values= to the query or scan")
    if page.returned != len(page.rows):
        raise ManifestError("these pages were only counted (Select=COUNT); query or scan with their entries")
    names = [key] if isinstance(key, str) else list(key)
    for row in page.rows:
        for name in names:
            if name not in row:
                raise ManifestError(f"an entry has no {name!r}, a part of its table's key; project it too")
    return [{name: row[name] for name in names} for row in page.rows]


def hydrated(page: Page, read: ReadResult) -> HydratedPage:
    """Each entry beside its item."""
    paired = zip(page.items, page.rows, read.outcomes, strict=True)
    return HydratedPage(page, tuple(_hydrated(page, *each) for each in paired), read)


def _hydrated(page: Page, entry: Item, row: Row, outcome: KeyOutcome) -> Hydrated:
    match outcome.disposition:
        case Disposition.RETURNED:
            assert outcome.item is not None, "what was returned has an item"
            state = EntryState.CURRENT if _holds(row, outcome.item) else EntryState.STALE
            return Hydrated(entry, page.decode(outcome.item), state)
        case Disposition.PROCESSED_NOT_RETURNED:
            return Hydrated(entry, None, EntryState.GONE)
        case _:
            return Hydrated(entry, None, EntryState.UNRESOLVED)


def _holds(row: Row, item: Row) -> bool:
    """Whether every attribute of the entry is the item's, by value and type: a set's order is no difference."""
    if not row.keys() <= item.keys():
        return False
    same = {name: item[name] for name in row}
    if same == row:
        return True
    try:
        return canonical_item(same) == canonical_item(row)
    except AttributeValueError:
        return False
