"""Laws of capacity: more is never cheaper, parts add up, and the bounds hold whatever the service decides."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from itemledger.tables.capacity import Change, Consistency, item_read, item_written, items_read, page_read
from itemledger.tables.pages_cost import PAGE_BYTES, pages_as_they_came, pages_read, whole_read
from itemledger.tables.prices import UnitPrice
from itemledger.tables.units import Size, Units, total_size

# Near the boundaries of 1 KB, 4 KB and 1 MB, where a byte decides.
edges = st.sampled_from([1_024, 4_096, 8_192, PAGE_BYTES // 4, PAGE_BYTES // 3])
byte_counts = st.one_of(
    st.integers(1, 409_600), st.integers(1, 200), st.builds(lambda edge, off: edge + off, edges, st.integers(-2, 2))
)
sizes = st.builds(Size, byte_counts, st.sampled_from([0, 0, 1, 5]))
lists = st.lists(sizes, max_size=40)
plain = st.sampled_from([Consistency.EVENTUAL, Consistency.STRONG])
limits = st.none() | st.integers(1, 12)


@given(sizes, sizes, st.sampled_from(Consistency))
def test_a_larger_item_is_never_cheaper(one: Size, other: Size, consistency: Consistency) -> None:
    small, large = sorted((one, other), key=lambda size: size.size_bytes)
    assert item_read(small, consistency).units <= item_read(large, consistency).units
    assert item_written(Change(after=small)).units <= item_written(Change(after=large)).units


@given(sizes, sizes)
def test_a_write_does_not_mind_which_came_first(one: Size, other: Size) -> None:
    assert item_written(Change(one, other)) == item_written(Change(other, one))
    assert item_written(Change(one, None)) == item_written(Change(None, one)) == item_written(Change(one, one))


@given(lists, lists, st.sampled_from(Consistency))
def test_items_read_one_by_one_add_up(some: list[Size], more: list[Size], consistency: Consistency) -> None:
    assert items_read([*some, *more], consistency) == items_read(some, consistency).plus(items_read(more, consistency))


@given(lists, lists, plain)
def test_one_page_is_never_dearer_than_two_and_saves_at_most_one_block(
    some: list[Size], more: list[Size], consistency: Consistency
) -> None:
    together = page_read([*some, *more], consistency).units
    apart = page_read(some, consistency).plus(page_read(more, consistency)).units
    assert together <= apart <= together + consistency.units_per_block


@given(lists.filter(bool), plain)
def test_a_page_is_never_dearer_than_its_items_one_by_one(items: list[Size], consistency: Consistency) -> None:
    assert page_read(items, consistency).units <= items_read(items, consistency).units


@given(lists, limits)
def test_strong_is_twice_eventual_and_transactional_twice_strong(items: list[Size], limit: int | None) -> None:
    eventual, strong = (pages_read(items, each, limit).units for each in (Consistency.EVENTUAL, Consistency.STRONG))
    assert eventual.times(2) == strong
    assert items_read(items, Consistency.TRANSACTIONAL) == items_read(items, Consistency.STRONG).times(2)


@given(lists, limits, plain)
def test_pages_examine_every_item_once_in_order(items: list[Size], limit: int | None, consistency: Consistency) -> None:
    cost = pages_read(items, consistency, limit)
    assert len(items) == cost.examined
    assert pages_as_they_came(items, [page.examined for page in cost.pages], consistency).pages == cost.pages
    assert all(page.examined <= (limit or len(items)) for page in cost.pages)


@given(lists, limits, plain)
def test_half_units_are_the_smallest_step(items: list[Size], limit: int | None, consistency: Consistency) -> None:
    units = pages_read(items, consistency, limit).units
    assert all(each % Decimal("0.5") == 0 for each in (units.units, units.least_units, units.most_units))


@given(st.data(), st.lists(sizes, min_size=1, max_size=40), limits, plain)
def test_whatever_the_service_counts_and_wherever_it_cuts_lies_within_the_bounds(
    data: st.DataObject, items: list[Size], limit: int | None, consistency: Consistency
) -> None:
    true = [data.draw(st.integers(item.least_bytes, item.most_bytes)) for item in items]
    crossing_belongs, follows_up = data.draw(st.booleans()), data.draw(st.booleans())
    blocks = sum(max(1, -(-held // 4_096)) for held in _service(true, limit, crossing_belongs, follows_up))
    charged = consistency.units_per_block * blocks
    assert pages_read(items, consistency, limit).units.admits(charged)
    if limit is None:
        assert whole_read(total_size(items), consistency).admits(charged)


def _service(true: list[int], limit: int | None, crossing_belongs: bool, follows_up: bool) -> list[int]:
    """Bytes of each page, by a service with habits of its own: written apart from the code under test."""
    pages: list[int] = []
    held: list[int] = []
    for size in true:
        if held and not crossing_belongs and sum(held) + size > PAGE_BYTES:
            pages.append(sum(held))
            held = []
        held.append(size)
        if len(held) == limit or (crossing_belongs and sum(held) > PAGE_BYTES):
            pages.append(sum(held))
            held = []
    if held:
        pages.append(sum(held))
    elif follows_up:
        pages.append(0)
    return pages


@given(sizes, st.sampled_from(Consistency), st.data())
def test_a_size_within_its_slack_costs_what_the_bounds_allow(
    size: Size, consistency: Consistency, data: st.DataObject
) -> None:
    true = data.draw(st.integers(size.least_bytes, size.most_bytes))
    assert item_read(size, consistency).admits(item_read(Size(true), consistency).units)
    assert item_written(Change(size)).admits(item_written(Change(Size(true))).units)


@given(st.decimals(min_value=0, max_value=1_000, places=9), st.integers(0, 10**9), st.integers(1, 1_000))
def test_prices_and_units_are_exact(price: Decimal, halves: int, count: int) -> None:
    units = Units.exactly(Decimal(halves) / 2)
    per_million = UnitPrice(price).of_million_calls(units).price
    assert Fraction(price) * Fraction(halves, 2) == Fraction(per_million)
    assert Fraction(halves, 2) * count == Fraction(units.times(count).units)


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=30))
def test_a_mean_lies_between_its_bounds(halves: list[int]) -> None:
    total = Units.exactly(Decimal(sum(halves)) / 2)
    mean = total.mean(len(halves))
    true = Fraction(sum(halves), 2 * len(halves))
    assert mean.least_units <= true <= mean.most_units
    assert abs(Fraction(mean.units) - true) <= Fraction(1, 200)
