"""The read as an object: what is due, what an answer means, when it is over, and what each stop leaves behind."""

from __future__ import annotations

import pytest

from itemledger.core.answer import Answer, FailureCause
from itemledger.core.decision import Decision
from itemledger.core.passes import LeftoverCause
from itemledger.core.result import StopReason
from itemledger.core.steps import WaitUntil
from itemledger.errors import LedgerInvariantError
from tests.core.support import answer, calls, failure, one_call, read_of, result_of, settings

CREDENTIALS = failure(FailureCause.CREDENTIALS, "ExpiredTokenException")


def test_credentials_refused_once_are_tried_again_with_a_call_signed_anew() -> None:
    read = read_of((settings(), ["A"]))
    read.answered(one_call(read.due(0.0)), CREDENTIALS, 1.0)
    again = one_call(read.due(1.0))
    read.answered(again, answer(again), 2.0)
    assert result_of(read).complete
    assert result_of(read).terminal_error is None


def test_credentials_refused_on_all_calls_in_flight_are_one_refusal() -> None:
    """The token was one and the same; only calls signed after the first refusal tell whether a fresh one helps."""
    read = read_of((settings(), "ABCD"), call_items=1)
    for call in calls(read.due(0.0)):
        read.answered(call, CREDENTIALS, 1.0)
    fresh = calls(read.due(1.0))
    assert ["A", "B", "C", "D"] == sorted(key for call in fresh for _, key in call.sent if isinstance(key, str))
    for call in fresh:
        read.answered(call, answer(call), 2.0)
    assert result_of(read).complete


def test_credentials_refused_again_end_the_read_resumably() -> None:
    read = read_of((settings(), "ABCD"), call_items=2)
    first, second = calls(read.due(0.0))
    read.answered(first, answer(first), 1.0)
    read.answered(second, CREDENTIALS, 1.0)
    read.answered(one_call(read.due(1.0)), CREDENTIALS, 2.0)
    result = result_of(read)
    assert StopReason.REQUEST_FAILED is result.stop_reason
    assert "ExpiredTokenException; request_id=r-failed" == str(result.terminal_error)
    assert {"A", "B"} == result.returned
    assert {"C", "D"} == result.unresolved
    assert Decision.HOLD is result.decide()


def test_impossible_evidence_outranks_a_request_that_failed_before() -> None:
    read = read_of((settings(), "AB"), call_items=1)
    first, second = calls(read.due(0.0))
    read.answered(first, failure(), 1.0)
    with pytest.raises(LedgerInvariantError) as caught:
        read.answered(second, Answer({}), 2.0)
    assert Decision.REPAIR is caught.value.decision
    assert StopReason.INVARIANT_BROKEN is result_of(read).stop_reason
    assert Decision.REPAIR is result_of(read).decide()


def test_nothing_is_started_at_the_deadline_itself() -> None:
    read = read_of((settings(), "AB"), call_items=1, concurrency=1, timeout_s=2.0)
    call = one_call(read.due(1.999))
    read.answered(call, answer(call), 2.0)
    assert [] == read.due(2.0)
    result = result_of(read)
    assert (StopReason.DEADLINE, {"B"}, 0) == (result.stop_reason, set(result.unresolved), result.abandoned_calls)


def test_a_read_that_ended_before_its_deadline_is_complete_when_it_is_looked_at_after_it() -> None:
    read = read_of((settings(), "A"), timeout_s=2.0)
    call = one_call(read.due(0.0))
    read.answered(call, answer(call), 9.0)
    assert [] == read.due(9.0)
    assert StopReason.COMPLETE is result_of(read).stop_reason


@pytest.mark.parametrize(("timeout_s", "waits"), [(1.05, False), (1.06, True)])
def test_a_pause_that_would_end_at_the_deadline_or_after_it_is_not_begun(timeout_s: float, waits: bool) -> None:
    read = read_of((settings(), "A"), timeout_s=timeout_s)
    call = one_call(read.due(0.0))
    read.answered(call, answer(call, left="A"), 1.0)
    assert ([WaitUntil(1.05)] if waits else []) == read.due(1.0)
    assert (StopReason.INTERRUPTED if waits else StopReason.DEADLINE) is result_of(read).stop_reason
    assert waits is not read.done


def test_no_more_calls_than_the_bound_are_in_flight() -> None:
    read = read_of((settings(), "ABCDE"), call_items=1, concurrency=2)
    first, second = calls(read.due(0.0))
    assert ([], 2) == (read.due(0.0), read.in_flight)
    read.answered(second, answer(second), 1.0)
    third = one_call(read.due(1.0))
    assert ([1, 2, 3], ["C"]) == ([first.number, second.number, third.number], [key for _, key in third.sent])


def test_calls_in_flight_at_a_stop_are_abandoned_and_counted() -> None:
    read = read_of((settings(), "ABC"), call_items=1)
    first, *_ = calls(read.due(0.0))
    read.answered(first, answer(first), 1.0)
    read.stop(StopReason.INTERRUPTED)
    result = result_of(read)
    assert (2, StopReason.INTERRUPTED, {"B", "C"}) == (
        result.abandoned_calls,
        result.stop_reason,
        set(result.unresolved),
    )
    assert (True, 0, []) == (read.done, read.in_flight, read.due(1.0))


def test_after_a_failed_request_calls_in_flight_still_count_and_none_is_started() -> None:
    read = read_of((settings(), "ABC"), call_items=1, concurrency=2)
    first, second = calls(read.due(0.0))
    read.answered(first, failure(), 1.0)
    assert (False, []) == (read.done, read.due(1.0))
    read.answered(second, answer(second), 1.0)
    result = result_of(read)
    assert (True, {"B"}, {"A", "C"}) == (read.done, set(result.returned), set(result.unresolved))
    assert 0 == result.abandoned_calls


@pytest.mark.parametrize("lasting_first", [True, False])
def test_of_two_failures_the_one_that_does_not_pass_by_itself_decides_whichever_came_first(lasting_first: bool) -> None:
    read = read_of((settings(), "AB"), call_items=1)
    started = calls(read.due(0.0))
    failures = [failure(FailureCause.REFUSED, "ValidationException"), failure()]
    for call, failed in zip(started, failures if lasting_first else reversed(failures), strict=True):
        read.answered(call, failed, 1.0)
    assert "ValidationException; request_id=r-failed" == str(result_of(read).terminal_error)
    assert Decision.HOLD is result_of(read).decide()


def test_an_interrupt_after_a_failed_call_is_on_hold_and_no_retry() -> None:
    read = read_of((settings(), "AB"), call_items=1)
    first, _ = calls(read.due(0.0))
    read.answered(first, failure(), 1.0)
    read.stop(StopReason.INTERRUPTED)
    assert (StopReason.INTERRUPTED, Decision.HOLD) == (result_of(read).stop_reason, result_of(read).decide())


def test_what_an_answer_proved_is_kept_when_the_callers_jitter_raises() -> None:
    def broken(low: float, high: float) -> float:
        raise ZeroDivisionError

    read = read_of((settings(), "AB"), jitter=broken)
    call = one_call(read.due(0.0))
    with pytest.raises(ZeroDivisionError):
        read.answered(call, answer(call, left="B"), 1.0)
    result = result_of(read)
    assert {"A"} == result.returned
    assert {"B"} == result.unresolved
    assert 1 == len(result.ledger)


def test_a_table_that_is_complete_has_no_error_though_another_table_s_call_failed() -> None:
    read = read_of((settings("T1"), "A"), (settings("T2"), "B"), call_items=1)
    first, second = calls(read.due(0.0))
    read.answered(first, answer(first), 1.0)
    read.answered(second, failure(), 1.0)
    one, two = read.results()
    assert (StopReason.COMPLETE, None, Decision.ACCEPT) == (one.stop_reason, one.terminal_error, one.decide())
    assert (StopReason.REQUEST_FAILED, Decision.RETRY) == (two.stop_reason, two.decide())
    assert two.terminal_error is not None


def test_leftovers_of_a_call_that_was_throttled_on_the_way_are_put_down_to_that() -> None:
    for throttled, cause in ((True, LeftoverCause.THROTTLE), (False, LeftoverCause.UNKNOWN)):
        read = read_of((settings(), "AB"))
        call = one_call(read.due(0.0))
        (entry,) = read.answered(call, answer(call, left="B", throttled=throttled), 1.0).evidence
        assert cause is entry.leftover_cause
        assert 1000.0 == entry.duration_ms


def test_request_ids_of_answers_and_failures_are_kept_in_order() -> None:
    read = read_of((settings(), "AB"), call_items=1)
    first, second = calls(read.due(0.0))
    read.answered(second, answer(second), 1.0)
    read.answered(first, failure(), 1.0)
    assert ("r-2", "r-failed") == result_of(read).request_ids


def test_a_failed_call_is_a_call_and_no_application_pass() -> None:
    read = read_of((settings(), "A"))
    read.answered(one_call(read.due(0.0)), failure(), 1.0)
    totals = result_of(read).totals
    assert (1, 0, 3, None) == (totals.calls, totals.application_passes, totals.sdk_retry_attempts, totals.label)
