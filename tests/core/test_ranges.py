"""Positions written short, read back, and refused when they are none."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.core.ranges import from_ranges, to_ranges


@pytest.mark.parametrize(
    ("positions", "short"),
    [
        ([], []),
        ([0], [0]),
        ([0, 1], [[0, 1]]),
        ([0, 2, 3, 4, 5, 9], [0, [2, 5], 9]),
        ([5, 4, 3], [5, 4, 3]),
        ([3, 4, 0, 1], [[3, 4], [0, 1]]),
        ([1, 1], [1, 1]),
    ],
    ids=str,
)
def test_runs_of_neighbours_are_pairs_and_the_order_stays(positions: list[int], short: list[Any]) -> None:
    assert short == to_ranges(positions)
    assert positions == [*from_ranges(short)]


@pytest.mark.parametrize(
    "ranges",
    [
        None,
        "01",
        {},
        {"0": 1},
        [True],
        [-1],
        [1.0],
        ["1"],
        [None],
        [[]],
        [[1]],
        [[1, 2, 3]],
        [[2, 1]],
        [[1, 1]],
        [[-1, 1]],
        [[False, 3]],
        [[0, 2.0]],
        [(0, 1)],
    ],
    ids=repr,
)
def test_what_is_no_list_of_positions_is_refused(ranges: Any) -> None:
    with pytest.raises(ValueError, match="position"):
        list(from_ranges(ranges))


def test_a_range_is_not_spread_out_before_it_is_used() -> None:
    assert 0 == next(from_ranges([[0, 10**18]]))
