"""What a Query or Scan of many items consumes: page by page, as 1 MB and ``Limit`` cut them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from itemledger.errors import ManifestError
from itemledger.tables.capacity import READ_BLOCK_BYTES, Consistency, page_read
from itemledger.tables.units import EXACT, Size, Units, blocks_of, total_size, total_units

#: A page ends at 1 MB of evaluated data (service model 2012-08-10, Query and Scan).
PAGE_BYTES = 1_048_576
#: The largest item there is (developer guide, "Item size"): by so much a page may be shorter than 1 MB.
LARGEST_ITEM_BYTES = 409_600


@dataclass(frozen=True, slots=True)
class PageCost:
    """One page: how many items it examines, their size, its units."""

    examined: int
    size: Size
    units: Units


@dataclass(frozen=True, slots=True)
class PagesCost:
    """All pages and their sum. Without ``certain_pages`` they may end elsewhere; the bounds of ``units`` hold that."""

    pages: Sequence[PageCost]
    units: Units
    certain_pages: bool

    @property
    def examined(self) -> int:
        return sum(page.examined for page in self.pages)


def pages_read(sizes: Iterable[Size], consistency: Consistency, limit: int | None = None) -> PagesCost:
    """The pages of a Query or Scan that examines items of these sizes in this order.

    Whether the item that crosses 1 MB belongs to the page is not documented, and engines differ. It is taken to, since
    on AWS full pages of 128.5 eventual units have been published; the bounds hold the other way, too. A page that ends
    by its ``Limit`` has a last key even if there is no more, so one empty page follows.
    """
    if limit is not None and limit < 1:
        raise ManifestError(f"limit must be at least 1; got {limit}")
    sizes = tuple(sizes)
    cuts = _cut(sizes, limit, _crossing_belongs, lambda size: size.size_bytes)
    most = _cut(sizes, limit, _crossing_waits, lambda size: size.most_bytes)
    certain = cuts == most  # then no item crosses, however its numbers are counted
    pages = tuple(_pages(sizes, cuts, consistency))
    units = total_units(page.units for page in pages)
    # That one more page follows a full Limit is a habit of the service and no promise: the least there is goes without.
    follow_up = len(pages) > 1 and not pages[-1].examined
    if not certain:
        units = _bounded(units.units, total_size(sizes), len(most), consistency)
    elif follow_up:
        units = Units(units.units, total_units(page.units for page in pages[:-1]).least_units, units.most_units)
    return PagesCost(pages, units, certain)


def pages_as_they_came(sizes: Iterable[Size], examined: Sequence[int], consistency: Consistency) -> PagesCost:
    """The pages of a run, given how many items each of them examined: what differs from ``pages_read`` is the cut."""
    sizes = tuple(sizes)
    if sum(examined) != len(sizes):
        raise ManifestError(f"the pages examined {sum(examined):,} items and {len(sizes):,} sizes are given")
    pages = tuple(_pages(sizes, examined, consistency))
    return PagesCost(pages, total_units(page.units for page in pages), True)


def whole_read(total: Size, consistency: Consistency) -> Units:
    """A Scan of a table or index of which only the size is known, such as DescribeTable's ``TableSizeBytes``.

    Where its pages end is not known then, and each end may take one more block: so far apart are the bounds.
    """
    most_pages = blocks_of(total.most_bytes, PAGE_BYTES - LARGEST_ITEM_BYTES)
    return _bounded(page_read([total], consistency).units, total, most_pages, consistency)


def _cut(
    sizes: Sequence[Size], limit: int | None, ends: Callable[[int, int], tuple[bool, bool]], of: Callable[[Size], int]
) -> list[int]:
    """How many items each page examines; ``ends`` says whether a page ends before an item, or after it."""
    cuts: list[int] = []
    count = held = 0
    for size in sizes:
        before, after = ends(held, of(size))
        if before and count:
            cuts.append(count)
            count = held = 0
        count += 1
        held += of(size)
        if after or count == limit:
            cuts.append(count)
            count = held = 0
    if count or not cuts or cuts[-1] == limit:
        cuts.append(count)
    return cuts


def _crossing_belongs(held: int, size_bytes: int) -> tuple[bool, bool]:
    return False, held + size_bytes > PAGE_BYTES


def _crossing_waits(held: int, size_bytes: int) -> tuple[bool, bool]:
    return held + size_bytes > PAGE_BYTES, False


def _pages(sizes: Sequence[Size], cuts: Iterable[int], consistency: Consistency) -> Iterator[PageCost]:
    start = 0
    for count in cuts:
        part = sizes[start : start + count]
        yield PageCost(count, total_size(part), page_read(part, consistency))
        start += count


def _bounded(units: Decimal, total: Size, most_pages: int, consistency: Consistency) -> Units:
    """However pages are cut: all data fills its blocks, and each page begins one more at most."""
    least_blocks = blocks_of(total.least_bytes, READ_BLOCK_BYTES)
    most_blocks = blocks_of(total.most_bytes, READ_BLOCK_BYTES) + most_pages
    block = consistency.units_per_block
    return Units(units, EXACT.multiply(block, least_blocks), EXACT.multiply(block, most_blocks))
