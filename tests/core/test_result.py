"""The result: sets, outcomes in the caller's order, the list adapter, and what a summary of a stream must not do."""

from __future__ import annotations

import pytest

from itemledger.core.decision import NONE
from itemledger.errors import IncompleteReadError
from tests.core.support import answer, one_call, read_of, result_of, settings


def test_the_summary_of_a_stream_gives_no_list_of_items_it_does_not_hold() -> None:
    read = read_of((settings(), ["A", "B"]), keep=False)
    call = one_call(read.due(0.0))
    read.answered(call, answer(call, absent="B"), 1.0)
    with pytest.raises(IncompleteReadError, match="hands out its items as they settle"):
        result_of(read).items(required=NONE)


def test_the_summary_of_a_stream_that_found_nothing_gives_an_empty_list() -> None:
    read = read_of((settings(), ["A", "B"]), keep=False)
    call = one_call(read.due(0.0))
    read.answered(call, answer(call, absent="AB"), 1.0)
    assert [] == result_of(read).items(required=NONE)


def test_folded_input_gets_an_outcome_at_each_position_and_the_first_is_no_duplicate() -> None:
    read = read_of((settings(), ["B", "A", "B", "A", "B"]), fold=True)
    call = one_call(read.due(0.0))
    read.answered(call, answer(call, absent="A"), 1.0)
    result = result_of(read)
    assert [("B", 0, None), ("A", 1, None), ("B", 2, 0), ("A", 3, 1), ("B", 4, 0)] == [
        (outcome.key, outcome.position, outcome.duplicate_of) for outcome in result.outcomes
    ]
    assert ("B", "A") == result.requested_order
    assert 3 == len(result.items(required=NONE))
