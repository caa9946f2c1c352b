"""Time that moves when told, and jitter that repeats."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from itemledger.testing import FakeClock, seeded_jitter


def test_time_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(start_s=100.0)
    assert [100.0, 100.0] == [clock(), clock()]
    clock.advance(2.5)
    assert clock() == 102.5


def test_a_sleep_moves_the_time_and_is_remembered_and_an_advance_is_no_sleep() -> None:
    clock = FakeClock()
    clock.sleep(0.25)
    clock.advance(10)
    clock.sleep(0)
    assert [0.25, 0] == clock.sleeps
    assert clock() == 10.25


def test_sleeps_is_a_copy() -> None:
    clock = FakeClock()
    clock.sleeps.append(1.0)
    assert [] == clock.sleeps


@pytest.mark.parametrize("seconds", [-0.001, math.nan])
def test_a_monotonic_clock_refuses_to_go_back(seconds: float) -> None:
    clock = FakeClock(start_s=1.0)
    with pytest.raises(ValueError, match="monotonic"):
        clock.sleep(seconds)
    assert clock() == 1.0
    assert [] == clock.sleeps


def test_other_tasks_run_during_an_async_sleep() -> None:
    clock = FakeClock()
    order: list[str] = []

    async def task(name: str) -> None:
        order.append(f"{name} sleeps")
        await clock.asleep(1.0)
        order.append(f"{name} wakes")

    async def both() -> None:
        await asyncio.gather(task("a"), task("b"))

    asyncio.run(both())
    assert ["a sleeps", "b sleeps", "a wakes", "b wakes"] == order
    assert [1.0, 1.0] == clock.sleeps


def test_no_sleep_is_lost_between_threads() -> None:
    clock = FakeClock()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(clock.sleep, [1.0] * 800))
    assert clock() == 800.0
    assert len(clock.sleeps) == 800


def test_one_seed_gives_one_sequence_within_the_range() -> None:
    draws = [[jitter(2.0, 3.0) for _ in range(50)] for jitter in (seeded_jitter(7), seeded_jitter(7), seeded_jitter(8))]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]
    assert all(2.0 <= draw <= 3.0 for draw in draws[0])
