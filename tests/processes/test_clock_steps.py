"""Processes whose clocks are wrong, or step while they work: leases lie then, and still nothing is sent on a guess."""

from __future__ import annotations

import random
import threading

import pytest

from tests.engines.launch import Engine
from tests.processes.bench import orders
from tests.processes.conftest import MakeBench
from tests.processes.wire import Passed, Weather, Wire

HOUR_S = 3600.0
UNHURRIED = {"lease_s": 60.0, "call_timeout_s": 40.0}
READ_TIMEOUT_S = 30.0


class Holding:
    """Holds the answer of the first write, which the engine has carried out."""

    def __init__(self, wire: Wire) -> None:
        self.written, self.answer = threading.Event(), threading.Event()
        wire.answering = self

    def __call__(self, passed: Passed) -> None:
        if passed.writes and not self.written.is_set():
            self.written.set()
            assert self.answer.wait(60)


def test_a_clock_that_is_ahead_of_the_lease_makes_nobody_send_again(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    bench = make_bench(moto, wire, orders(20), **UNHURRIED)
    holding = Holding(wire)
    first = bench.start(read_timeout_s=READ_TIMEOUT_S)
    assert holding.written.wait(60)

    bench.start(clock=[[0, HOUR_S]], read_timeout_s=READ_TIMEOUT_S).ends_well()
    holding.answer.set()
    first.ends_well()

    assert bench.each(1) == wire.sends()
    assert ["planned", "dispatched", "lease_expired", "found", "late"] == bench.events("order-0000")
    bench.check_all_written(moto.client())


def test_a_clock_that_is_behind_makes_nobody_send_again(moto: Engine, wire: Wire, make_bench: MakeBench) -> None:
    bench = make_bench(moto, wire, orders(20), **UNHURRIED)
    holding = Holding(wire)
    first = bench.start(read_timeout_s=READ_TIMEOUT_S)
    assert holding.written.wait(60)

    behind = bench.start(clock=[[0, -HOUR_S]], read_timeout_s=READ_TIMEOUT_S)
    assert behind.reaches("claim<")
    holding.answer.set()
    first.ends_well()
    behind.ends_well()

    assert bench.each(1) == wire.sends()
    assert ["planned", "dispatched", "confirmed"] == bench.events("order-0000")
    bench.check_all_written(moto.client())


@pytest.mark.parametrize("seed", range(3))
def test_a_clock_that_steps_back_and_forth_while_workers_run_and_die_makes_nobody_send_on_a_guess(
    moto: Engine, wire: Wire, make_bench: MakeBench, seed: int
) -> None:
    draw = random.Random(seed)
    wire.deciding = Weather(seed, losses=0.3)
    bench = make_bench(moto, wire, orders(150))
    for _ in range(3):
        steps = sorted(draw.sample(range(5, 60), 4))
        clock = [[reading, draw.choice([-HOUR_S, -5.0, 5.0, HOUR_S])] for reading in steps]
        life = bench.start(clock=clock, concurrency=3, timeout_s=0.3)
        if life.reaches(draw.choice(["call>", "record>"]), draw.randint(2, 5)):
            life.kill()
        else:
            life.ends_well()

    bench.start(clock=[[0, 3 * HOUR_S]], concurrency=3).ends_well()

    bench.check_all_written(moto.client())
    assert [] == wire.unproven()
