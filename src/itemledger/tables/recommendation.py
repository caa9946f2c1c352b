"""Which projection to take, and why: by price where prices are given, else as far as units alone can tell."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal

from itemledger.tables.prices import UnitPrice
from itemledger.tables.projections import ProjectionCost, Projections
from itemledger.tables.units import EXACT, figure

_TWO_DIGITS = Context(prec=2, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """``cost`` is the projection to take; ``None`` where that depends on prices that were not given."""

    cost: ProjectionCost | None
    reason: str


def recommend(
    projections: Projections, read_price: UnitPrice | None = None, write_price: UnitPrice | None = None
) -> Recommendation:
    """The cheapest for its pattern by units as computed; among equals the one that stores least.

    Without both prices one is recommended only if no other takes fewer units of either kind. Else the reason says at
    which relation of the two prices they are even.
    """
    # The costs begin with the smallest entries, and min takes the first of equals.
    if read_price is not None and write_price is not None:
        prices = [_price(projections, cost, read_price, write_price) for cost in projections.costs]
        best = projections.costs[prices.index(min(prices))]
        compared = ", ".join(
            f"{_name(cost)} {figure(price)}" for cost, price in zip(projections.costs, prices, strict=True)
        )
        return Recommendation(best, f"{_name(best)} is the cheapest ({compared}): {_merit(best)}")
    few_reads = min(projections.costs, key=lambda cost: _units(projections, cost))
    few_writes = min(projections.costs, key=lambda cost: _units(projections, cost)[::-1])
    (least_reads, more_writes), (more_reads, least_writes) = (
        _units(projections, cost) for cost in (few_reads, few_writes)
    )
    if (least_reads, more_writes) == (more_reads, least_writes):
        return Recommendation(few_reads, f"{_name(few_reads)} takes no more than any other: {_merit(few_reads)}")
    saved, added = EXACT.subtract(more_reads, least_reads), EXACT.subtract(more_writes, least_writes)
    return Recommendation(
        None,
        f"it depends on prices: {_name(few_reads)} saves {figure(saved)} read units and adds {figure(added)} write "
        f"units to {_name(few_writes)}, so it is cheaper while a write unit costs less than "
        f"{figure(_TWO_DIGITS.divide(saved, added))} read units",
    )


def _units(projections: Projections, cost: ProjectionCost) -> tuple[Decimal, Decimal]:
    return projections.reads_of(cost).units, projections.writes_of(cost).units


def _price(projections: Projections, cost: ProjectionCost, read_price: UnitPrice, write_price: UnitPrice) -> Decimal:
    reads, writes = _units(projections, cost)
    return EXACT.add(read_price.of(reads), write_price.of(writes))


def _name(cost: ProjectionCost) -> str:
    include = cost.index.include
    return f"{cost.index.projected} ({', '.join(include)})" if include else str(cost.index.projected)


def _merit(cost: ProjectionCost) -> str:
    if cost.covers:
        return "the index alone has what is needed"
    second = figure(cost.second_read.units)
    return f"a second read of {second} units costs no more than keeping copies in the index up to date"
