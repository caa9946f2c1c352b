"""What an operation's rows add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from itemledger.core.outcome import Outcome
from itemledger.core.rows import Operation, Review, Row


@dataclass(frozen=True, slots=True)
class Stats:
    """Sums over an operation's rows.

    ``planned`` are all of them, ``not_sent`` those that never went out, ``due`` those that a worker could take now.
    ``dispatches`` counts sends of items, ``lost_attempts`` those of them whose end is open.
    """

    operation: Operation
    planned: int
    outcomes: Mapping[Outcome, int]
    reviews: Mapping[Review, int]
    not_sent: int
    due: int
    dispatches: int
    lost_attempts: int
    possible_duplicates: int


def stats_of(operation: Operation, rows: Iterable[Row], now: float) -> Stats:
    """One pass over the rows."""
    outcomes: Counter[Outcome] = Counter()
    reviews: Counter[Review] = Counter()
    sums: Counter[str] = Counter()
    for row in rows:
        outcomes[row.outcome] += 1
        if row.review is not None:
            reviews[row.review] += 1
        sums["not_sent"] += row.dispatches == 0
        sums["due"] += row.epoch is None and row.due_at is not None and row.due_at <= now
        sums["dispatches"] += row.dispatches
        sums["lost_attempts"] += row.lost_attempts
        sums["possible_duplicates"] += row.possible_duplicates
    return Stats(
        operation,
        outcomes.total(),
        {outcome: outcomes[outcome] for outcome in Outcome},
        dict(reviews),
        not_sent=sums["not_sent"],
        due=sums["due"],
        dispatches=sums["dispatches"],
        lost_attempts=sums["lost_attempts"],
        possible_duplicates=sums["possible_duplicates"],
    )
