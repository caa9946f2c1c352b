"""The queue of keys that wait: order, pauses, how many to a call, and that every key leaves for good."""

from __future__ import annotations

import pytest

from itemledger.core.passes import LeftoverCause
from itemledger.core.pending import Pending
from itemledger.core.terms import Bounds
from tests.core.support import longest

SIZE, UNKNOWN = LeftoverCause.RESPONSE_SIZE, LeftoverCause.UNKNOWN


def pending(count: int, call_items: int, **bounds: float) -> Pending:
    return Pending(count, call_items, Bounds(**bounds), longest)  # type: ignore[arg-type]


def test_nothing_asked_is_empty_at_once() -> None:
    queue = pending(0, 100)
    assert queue.empty
    assert not queue.ready(0.0)
    assert queue.pause_ends is None


def test_fresh_keys_go_out_in_manifest_order_as_many_as_a_call_takes() -> None:
    queue = pending(5, 2)
    assert [((0, 1), 1), ((2, 3), 1), ((4,), 1)] == [queue.take(0.0) for _ in range(3)]
    assert queue.empty


def test_leftovers_wait_and_are_then_asked_before_fresh_keys() -> None:
    queue = pending(4, 2)
    queue.take(0.0)
    queue.left_over([1], UNKNOWN, processed=1, now=10.0)
    assert 10.05 == queue.pause_ends
    assert ((2, 3), 1) == queue.take(10.04)
    assert not queue.ready(10.04)
    assert not queue.empty
    assert queue.ready(10.05)
    assert ((1,), 2) == queue.take(10.05)


def test_leftovers_go_before_fresh_keys_and_share_their_call() -> None:
    queue = pending(4, 3)
    queue.take(0.0)
    queue.left_over([2, 0], UNKNOWN, processed=1, now=0.0)
    assert ((2, 0, 3), 2) == queue.take(1.0)


def test_leftovers_of_several_calls_share_one_pause_and_one_call() -> None:
    queue = pending(4, 2)
    queue.take(0.0)
    queue.take(0.0)
    queue.left_over([1], UNKNOWN, processed=1, now=0.0)
    queue.left_over([3], UNKNOWN, processed=1, now=0.04)
    assert 0.05 == queue.pause_ends
    assert ((1, 3), 2) == queue.take(0.05)


def test_a_pause_that_is_over_is_not_lent_to_later_leftovers() -> None:
    """With every call in flight nobody could ask when the first pause ended; the later keys still get their own."""
    queue = pending(4, 2)
    queue.take(0.0)
    queue.take(0.0)
    queue.left_over([0, 1], UNKNOWN, processed=0, now=0.0)
    queue.left_over([2, 3], UNKNOWN, processed=0, now=5.0)
    assert 5.05 == queue.pause_ends
    assert ((0, 1), 2) == queue.take(5.0)
    assert not queue.ready(5.0)
    assert ((2, 3), 2) == queue.take(5.05)


def test_pauses_double_up_to_the_cap_and_count_charged_passes_only() -> None:
    asked: list[tuple[float, float]] = []

    def jitter(low: float, high: float) -> float:
        asked.append((low, high))
        return high

    queue = Pending(1, 1, Bounds(max_passes=7, backoff_base_s=0.1, backoff_cap_s=1.0), jitter)
    now = 0.0
    for _ in range(6):
        queue.take(now)
        queue.left_over([0], UNKNOWN, processed=0, now=now)
        assert queue.pause_ends is not None
        now = queue.pause_ends
    assert [(0.0, high) for high in (0.1, 0.2, 0.4, 0.8, 1.0, 1.0)] == asked


def test_a_huge_number_of_passes_does_not_overflow_the_pause() -> None:
    queue = pending(1, 1, max_passes=5_000)
    for number in range(4_999):
        queue.take(float(number))
        queue.left_over([0], UNKNOWN, processed=0, now=float(number) - 1)
    assert 4_998.0 == queue.pause_ends


def test_a_key_leaves_for_good_on_its_last_charged_pass_without_a_pause() -> None:
    queue = pending(2, 2, max_passes=2)
    queue.take(0.0)
    queue.left_over([0, 1], UNKNOWN, processed=0, now=0.0)
    queue.take(9.0)
    queue.left_over([1], UNKNOWN, processed=1, now=9.0)
    assert queue.empty
    assert queue.pause_ends is None


def test_max_passes_of_one_never_asks_twice() -> None:
    queue = pending(3, 3, max_passes=1)
    queue.take(0.0)
    queue.left_over([0, 1, 2], UNKNOWN, processed=0, now=0.0)
    assert queue.empty


def test_leftovers_by_size_are_asked_again_at_once_in_their_order_and_not_charged() -> None:
    queue = pending(6, 4, max_passes=1)
    queue.take(0.0)
    queue.left_over([2, 3], SIZE, processed=2, now=0.0)
    assert queue.ready(0.0)
    assert queue.pause_ends is None
    assert ((2, 3), 2) == queue.take(0.0)


def test_a_size_limited_answer_that_settled_nothing_is_charged_like_any_other() -> None:
    queue = pending(2, 2, max_passes=2)
    queue.take(0.0)
    queue.left_over([0, 1], SIZE, processed=0, now=0.0)
    assert 0.05 == queue.pause_ends
    queue.take(1.0)
    queue.left_over([0, 1], SIZE, processed=0, now=1.0)
    assert queue.empty


def test_a_size_limit_sizes_the_next_calls_to_what_fitted() -> None:
    queue = pending(100, 50)
    queue.take(0.0)
    queue.left_over(list(range(3, 50)), SIZE, processed=3, now=0.0)
    assert ((3, 4, 5), 2) == queue.take(0.0)


def test_the_size_grows_again_only_after_a_full_call_without_leftovers_and_never_beyond_the_limit() -> None:
    queue = pending(1_000, 10)
    queue.take(0.0)
    queue.left_over([4, 5, 6, 7, 8, 9], SIZE, processed=4, now=0.0)
    queue.all_fitted(3)
    assert 4 == len(queue.take(0.0)[0])
    sizes = []
    for _ in range(5):
        queue.all_fitted(10)
        sizes.append(len(queue.take(0.0)[0]))
    assert [6, 8, 10, 10, 10] == sizes


def test_keys_put_back_come_first_in_their_order_and_are_not_charged() -> None:
    queue = pending(6, 3, max_passes=1)
    first, _ = queue.take(0.0)
    queue.put_back(first)
    assert ((0, 1, 2), 2) == queue.take(0.0)
    assert ((3, 4, 5), 1) == queue.take(0.0)


@pytest.mark.parametrize("size_limited", [True, False])
def test_a_call_that_mixes_old_and_new_keys_is_numbered_by_its_oldest(size_limited: bool) -> None:
    queue = pending(3, 2)
    queue.take(0.0)
    queue.left_over([1], SIZE if size_limited else UNKNOWN, processed=1, now=0.0)
    slots, application_pass = queue.take(9.0)
    assert 1 == slots[0]
    assert 2 == application_pass
