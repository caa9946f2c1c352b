"""How many of the due rows share a request, at each border."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemledger.core.outcome import Outcome
from itemledger.core.packing import pack, pack_look_ups
from itemledger.core.reconcile import Limits
from itemledger.core.rows import Row, Source

PLAIN = Row(1, "orders", "i", "k", "h", 10, Source(), Outcome.PENDING, 0.0)
REPLAYED = replace(PLAIN, replay_of=7)


def sized(*sizes: int) -> list[Row]:
    return [replace(PLAIN, size_bytes=size) for size in sizes]


def limited(*limits: int | None) -> list[Row]:
    return [replace(PLAIN, batch_limit=limit) for limit in limits]


@pytest.mark.parametrize(
    ("expected", "rows", "limits"),
    [
        (0, [], Limits(25, 100)),
        (3, sized(10, 10, 10), Limits(25)),
        (3, sized(10, 10, 10), Limits(3)),
        (2, sized(10, 10, 10), Limits(2)),
        (2, sized(10, 10, 10), Limits(25, 20)),
        (1, sized(10, 10, 10), Limits(25, 19)),
        (1, sized(30, 10), Limits(25, 20)),  # too large alone: the service says so
        (2, sized(0, 0, 21), Limits(25, 20)),
        (2, limited(2, None, None), Limits(25)),
        (2, limited(None, 2, None), Limits(25)),
        (1, limited(1, None), Limits(25)),
        (1, limited(None, 1), Limits(25)),  # it must go alone: not with the first one
        (2, limited(None, None, 2), Limits(25)),
        (3, limited(5, 4, 3, None), Limits(25)),
        (2, limited(30, None), Limits(2)),
        (1, [REPLAYED, REPLAYED, PLAIN], Limits(25)),
        (1, [PLAIN, REPLAYED], Limits(25)),
        (2, [PLAIN, PLAIN, REPLAYED, PLAIN], Limits(25)),
    ],
)
def test_a_request_takes_as_many_as_every_limit_allows(expected: int, rows: list[Row], limits: Limits) -> None:
    assert expected == pack(rows, limits)


ROWS = st.lists(
    st.builds(
        lambda size, limit, replayed: replace(
            PLAIN, size_bytes=size, batch_limit=limit, replay_of=7 if replayed else None
        ),
        st.integers(0, 30),
        st.none() | st.integers(1, 4),
        st.booleans(),
    ),
    max_size=8,
)
LIMITS = st.builds(Limits, st.integers(1, 6), st.none() | st.integers(1, 60))


@given(ROWS, LIMITS)
def test_what_is_packed_keeps_every_limit_and_one_more_would_not(rows: list[Row], limits: Limits) -> None:
    count = pack(rows, limits)

    assert bool(rows) <= count <= len(rows)
    assert count <= 1 or _fits(rows[:count], limits)
    assert count == len(rows) or not _fits(rows[: count + 1], limits)


def _fits(rows: list[Row], limits: Limits) -> bool:
    return (
        len(rows) <= min([limits.items, *(row.batch_limit for row in rows if row.batch_limit is not None)])
        and (limits.request_bytes is None or sum(row.size_bytes for row in rows) <= limits.request_bytes)
        and (len(rows) == 1 or all(row.replay_of is None for row in rows))
    )


@pytest.mark.parametrize(
    ("expected", "sizes", "limits"),
    [
        (0, [], Limits(100)),
        (3, [10, 10, 10], Limits(3, 30)),
        (2, [10, 10, 10], Limits(2)),
        (2, [10, 10, 10], Limits(100, 29)),
        (1, [50, 10], Limits(100, 40)),
    ],
)
def test_a_look_up_takes_as_many_as_its_answer_may_carry(expected: int, sizes: list[int], limits: Limits) -> None:
    assert expected == pack_look_ups(sized(*sizes), limits)


def test_a_look_up_asks_for_any_rows_together() -> None:
    assert 3 == pack_look_ups([REPLAYED, replace(PLAIN, batch_limit=1), REPLAYED], Limits(100))
