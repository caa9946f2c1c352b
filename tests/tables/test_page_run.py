"""Runs of pages: where they go on, where they end, and what they know at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.tables.budget import Budget
from itemledger.tables.page import Consumed
from itemledger.tables.page_answer import PageCall
from itemledger.tables.page_result import PageStop, SegmentState
from itemledger.tables.page_run import PageBounds
from tests.tables.page_world import Pages, answer, failure, key, row, world


def script(*ends: Answer | Failure) -> Any:
    """Answers in this order, whoever asks."""
    left: Iterator[Answer | Failure] = iter(ends)
    return lambda call: next(left)


def test_only_an_absent_key_is_the_end_and_fifty_empty_pages_go_on() -> None:
    """T25, FC-25a."""
    there = world(Pages({0: [[]] * 50 + [["a"]]}))
    assert 51 == len(there.through())
    result = there.run.result()
    assert (["a"], 51, True) == (there.names, result.totals.pages, result.complete)


def test_a_key_on_what_turns_out_to_be_the_last_page_leads_to_an_empty_one() -> None:
    there = world(Pages({0: [["a"], ["b"]]}, dangling=frozenset({0})))
    there.through()
    assert (["a", "b"], 3, PageStop.COMPLETE) == (there.names, len(there.pages), there.run.result().stop_reason)


def test_a_page_that_ends_where_it_began_is_refused_and_what_came_before_stays() -> None:
    """T24."""
    there = world(script(answer(["a"], last=key(0, 1)), answer(["b"], last=key(0, 1))))
    there.step()
    with pytest.raises(LedgerInvariantError, match="ask the same for ever"):
        there.step()
    result = there.run.result()
    assert (PageStop.INVARIANT_BROKEN, key(0, 1)) == (result.stop_reason, result.last_key)
    assert (1, 2, 1, None) == (
        result.totals.pages,
        result.totals.calls,
        result.totals.untold_calls,
        result.totals.consumed,
    )


def test_units_are_summed_per_table_and_index_and_one_page_that_did_not_tell_makes_the_sum_unknown() -> None:
    """FC-27, T15."""

    def told(units: float, index: float, last: int | None) -> Answer:
        page = answer(["a"], last=None if last is None else key(0, last), units=None)
        capacity = {
            "CapacityUnits": units + index,
            "Table": {"CapacityUnits": units},
            "GlobalSecondaryIndexes": {"by-day": {"CapacityUnits": index}},
        }
        return Answer({**page.response, "ConsumedCapacity": capacity}, "r", 0, page.label)

    there = world(script(told(10, 1, 1), told(20, 2, 2), told(30, 3, None)))
    there.through()
    totals = there.run.result().totals
    assert Consumed(66.0, 60.0, {"by-day": 6.0}) == totals.consumed
    unknown = world(script(told(10, 1, 1), answer(["b"], units=None)))
    unknown.through()
    totals = unknown.run.result().totals
    assert (None, 11.0, 1) == (totals.consumed, totals.reported.units, totals.untold_calls)


@pytest.mark.parametrize("told", [[{"CapacityUnits": 1.0}], {}, {"CapacityUnits": None}, {"CapacityUnits": -1}, "1"])
def test_capacity_in_another_shape_is_unknown_and_never_0(told: object) -> None:
    page = answer(["a"], units=None)
    there = world(script(Answer({**page.response, "ConsumedCapacity": told}, "r", 0, page.label)))
    there.through()
    assert None is there.run.result().totals.consumed


def test_a_failed_call_makes_the_sum_unknown_and_the_page_is_asked_for_again() -> None:
    there = world(script(failure(), answer(["a"])))
    there.through()
    totals = there.run.result().totals
    assert (["a"], 1, 2, None, 0.5) == (there.names, totals.pages, totals.calls, totals.consumed, totals.reported.units)
    assert [0.05] == there.waits


def test_a_page_is_asked_for_so_often_and_no_more_with_pauses_that_double_up_to_the_cap() -> None:
    there = world(lambda call: failure(), bounds=PageBounds(max_attempts=5, backoff_base_s=1, backoff_cap_s=3))
    there.through()
    result = there.run.result()
    assert (5, [1, 2, 3, 3], PageStop.REQUEST_FAILED) == (len(there.calls), there.waits, result.stop_reason)
    assert result.terminal_error is not None
    assert ("InternalServerError", True) == (result.terminal_error.code, result.terminal_error.transient)
    assert {0: None} == result.starts


def test_attempts_are_counted_page_by_page() -> None:
    ends: list[Answer | Failure] = [
        failure(),
        answer(["a"], last=key(0, 1)),
        failure(),
        answer(["b"], last=key(0, 2)),
        failure(),
        answer(["c"]),
    ]
    there = world(script(*ends), bounds=PageBounds(max_attempts=2))
    there.through()
    assert ["a", "b", "c"] == there.names


def test_a_segment_that_is_refused_ends_with_its_reason_while_the_others_go_on() -> None:
    pages = Pages({0: [["a"], ["b"]], 1: [["c"], ["d"], ["e"]], 2: []})

    def respond(call: PageCall) -> Answer | Failure:
        if call.segment == 1 and call.page == 2:
            return failure(FailureCause.REFUSED, "ValidationException")
        return pages(call)

    there = world(respond, starts=dict.fromkeys(range(3)), total=3)
    there.through()
    result = there.run.result()
    assert {"a", "b", "c"} == set(there.names)
    assert [SegmentState.DONE, SegmentState.FAILED, SegmentState.DONE] == [each.state for each in result.segments]
    assert ({1: key(1, 1)}, PageStop.REQUEST_FAILED) == (result.starts, result.stop_reason)


def test_an_error_in_the_last_page_of_a_segment_leaves_it_where_it_stood() -> None:
    """T26."""
    pages = Pages({0: [["a"], ["b"]]})
    there = world(lambda call: failure(FailureCause.REFUSED, "X") if call.page == 2 else pages(call))
    there.through()
    assert {0: key(0, 1)} == there.run.result().starts
    again = world(pages, starts=there.run.result().starts)
    again.through()
    assert ["a", "b"] == there.names + again.names


def test_credentials_that_expire_between_pages_get_one_more_try() -> None:
    """T29, FC-09."""
    expired = failure(FailureCause.CREDENTIALS, "ExpiredTokenException")
    renewed = world(script(answer(["a"], last=key(0, 1)), expired, answer(["b"])))
    renewed.through()
    assert (["a", "b"], []) == (renewed.names, renewed.waits)
    lost = world(script(answer(["a"], last=key(0, 1)), expired, expired))
    lost.through()
    assert {0: key(0, 1)} == lost.run.result().starts


def test_the_vector_of_segments_says_of_each_where_it_stands_at_any_moment() -> None:
    """FC-31."""
    pages = Pages({0: [["a"]], 1: [["b"], ["c"], ["d"]], 2: [["e"], ["f"]], 3: [["g"]]})
    there = world(pages, starts=dict.fromkeys(range(4)), total=4, bounds=PageBounds(concurrency=1))
    for _ in range(5):
        there.step()
    there.run.stop(PageStop.INTERRUPTED)
    result = there.run.result()
    states = [(each.state, each.last_key) for each in result.segments]
    assert [
        (SegmentState.DONE, None),
        (SegmentState.UNDER_WAY, key(1, 2)),
        (SegmentState.UNDER_WAY, key(2, 1)),
        (SegmentState.DONE, None),
    ] == states
    assert PageStop.INTERRUPTED is result.stop_reason


def test_fewer_calls_than_segments_bring_all_of_them_on_by_turns() -> None:
    pages = Pages({number: [[f"{number}{page}"] for page in range(3)] for number in range(4)})
    there = world(pages, starts=dict.fromkeys(range(4)), total=4, bounds=PageBounds(concurrency=2))
    there.through()
    assert [0, 1, 2, 3] == [call.segment for call in there.calls[:4]]
    assert all({"Segment", "TotalSegments"} <= call.request.keys() for call in there.calls)
    assert [1] * 4 == [call.page for call in there.calls[:4]]


@pytest.mark.parametrize(
    ("reasons", "code", "slowed"),
    [
        (("TableReadKeyRangeThroughputExceeded",), "ThrottlingException", [1]),
        (("IndexReadKeyRangeThroughputExceeded",), "ProvisionedThroughputExceededException", [1]),
        (("TableReadAccountLimitExceeded",), "ThrottlingException", [0, 1, 2]),
        (("TableReadKeyRangeThroughputExceeded", "TableReadProvisionedThroughputExceeded"), "X", [0, 1, 2]),
        ((), "RequestLimitExceeded", [0, 1, 2]),
    ],
)
def test_a_hot_range_of_keys_slows_its_segment_and_a_busy_table_all_of_them(
    reasons: tuple[str, ...], code: str, slowed: list[int]
) -> None:
    pages = Pages({number: [["a"], ["b"], ["c"]] for number in range(3)})
    throttle = failure(FailureCause.THROTTLED, code, throttled_by=reasons)
    there = world(
        lambda call: throttle if (call.segment, call.page, there.now) == (1, 1, 0.0) else pages(call),
        starts=dict.fromkeys(range(3)),
        total=3,
        bounds=PageBounds(concurrency=3, backoff_base_s=5.0),
    )
    there.step(lambda count: 1)  # the throttled one answers first
    while there.flying:
        call = there.flying.pop()
        there.run.answered(call, pages(call), 0.0)
    begun = [each.segment for each in there.run.due(0.0) if isinstance(each, PageCall)]
    assert sorted({0, 1, 2} - set(slowed)) == sorted(begun)


def test_a_deadline_ends_the_run_and_leaves_calls_where_their_segments_stood() -> None:
    there = world(Pages({0: [["a"], ["b"]]}), bounds=PageBounds(timeout_s=10))
    there.step()
    [call] = there.run.due(9.9)
    assert isinstance(call, PageCall)
    assert [] == there.run.due(10.0)
    result = there.run.result()
    assert (True, PageStop.DEADLINE, {0: key(0, 1)}, 1) == (
        there.run.done,
        result.stop_reason,
        result.starts,
        result.abandoned_calls,
    )


class TestMatchingItems:
    def test_without_a_filter_the_service_itself_ends_the_last_page(self) -> None:
        there = world(
            script(answer("abc", last=key(0, 1)), answer("de", last=key(0, 2))), bounds=PageBounds(max_items=5), Limit=3
        )
        there.through()
        result = there.run.result()
        assert ([3, 2], PageStop.MAX_ITEMS, key(0, 2)) == (
            [call.request["Limit"] for call in there.calls],
            result.stop_reason,
            result.last_key,
        )

    def test_with_a_filter_the_page_is_cut_and_goes_on_after_the_last_item(self) -> None:
        """FC-24: the next row is row 4."""
        there = world(
            script(answer("ab", examined=90, last=key(0, 1)), answer("cdefg", examined=90, last=key(0, 2))),
            bounds=PageBounds(max_items=5),
            FilterExpression="f",
        )
        there.through()
        result = there.run.result()
        assert (list("abcde"), row("e"), 180) == (there.names, result.last_key, result.totals.examined)
        assert (PageStop.MAX_ITEMS, 5) == (result.stop_reason, result.totals.returned)

    def test_where_no_key_is_told_the_names_that_were_given_make_it(self) -> None:
        there = world(
            script(answer("abc", examined=9)), bounds=PageBounds(max_items=2), known_key=("pk",), FilterExpression="f"
        )
        there.through()
        assert ([*"ab"], row("b"), False) == (there.names, there.run.result().last_key, there.run.result().complete)

    def test_rows_without_their_key_are_refused_on_the_first_page_and_not_where_it_is_cut(self) -> None:
        page = answer("ab", last=key(0, 1))
        bare = Answer({**page.response, "Items": [{"v": {"N": "1"}}] * 2}, "r", 0, page.label)
        there = world(script(bare), bounds=PageBounds(max_items=9), FilterExpression="f")
        with pytest.raises(ManifestError, match="project it too"):
            there.step()
        assert {0: None} == there.run.result().starts

    def test_the_end_of_the_table_is_the_end_even_at_just_so_many_items(self) -> None:
        there = world(script(answer("ab")), bounds=PageBounds(max_items=2))
        there.through()
        assert there.run.result().complete

    def test_a_bound_on_what_is_examined_is_exact(self) -> None:
        there = world(
            script(answer([], examined=50, last=key(0, 1)), answer("a", examined=27, last=key(0, 2))),
            bounds=PageBounds(max_examined=77),
            FilterExpression="f",
            Limit=50,
        )
        there.through()
        result = there.run.result()
        assert ([50, 27], PageStop.MAX_EXAMINED, 77) == (
            [call.request["Limit"] for call in there.calls],
            result.stop_reason,
            result.totals.examined,
        )


def test_empty_pages_behind_a_filter_with_a_limit_are_told_once_with_what_they_cost() -> None:
    """REQUIREMENTS Q3: 50 read, 0 returned, more to come."""
    ends = [answer([], examined=50, last=key(0, 1)), answer("a", examined=50, last=key(0, 2))]
    ends += [answer([], examined=50, last=key(0, 3), units=6.0), answer([], examined=3)]
    there = world(script(*ends), FilterExpression="f", Limit=50)
    there.through()
    finding = there.run.result().finding
    assert finding is not None
    assert (50, 1, 50, 2, 100, 6.5) == (
        finding.limit,
        finding.page,
        finding.examined,
        finding.pages,
        finding.all_examined,
        finding.units,
    )
    assert "page 1 read 50 items, returned 0, and there is more to come" in str(finding)
    for request in ({"Limit": 50}, {"FilterExpression": "f"}):
        quiet = world(script(*ends), **request)
        quiet.through()
        assert None is quiet.run.result().finding


class TestBudget:
    def test_the_mean_keeps_to_the_budget(self) -> None:
        pages = Pages({number: [["a"]] * 20 for number in range(4)}, units=128.0)
        there = world(
            pages,
            starts=dict.fromkeys(range(4)),
            total=4,
            bounds=PageBounds(concurrency=4),
            budget=Budget(100.0, consistent_read=False),
        )
        there.through()
        spent = 80 * 128.0
        assert (spent - 5 * 128) / 100 <= there.now <= spent / 100

    def test_a_page_that_does_not_tell_counts_as_a_full_one(self) -> None:
        budget = Budget(10.0, consistent_read=True)
        budget.settle(budget.begin(0.0), None, 0.0)
        assert 25.6 == budget.ready_at()

    def test_a_throttle_of_the_table_halves_the_pace_and_it_comes_back(self) -> None:
        budget = Budget(100.0, consistent_read=False)
        budget.throttled(0.0)
        assert (50.0, 55.0, 100.0) == (budget.pace(0.0), round(budget.pace(1.0), 9), budget.pace(60.0))
        for _ in range(20):
            budget.throttled(0.0)
        assert 100.0 / 64 == budget.pace(0.0)

    def test_a_page_that_failed_gives_its_estimate_back(self) -> None:
        budget = Budget(1.0, consistent_read=False)
        budget.settle(budget.begin(0.0), 128.0, 0.0)
        estimate = budget.begin(200.0)
        budget.give_back(estimate, 200.0)
        assert 200.0 == budget.ready_at()
