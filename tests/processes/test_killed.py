"""SIGKILL at random moments of real workers on a real engine: the engine's items and the wire are the judges."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from itemledger.core.outcome import Outcome
from itemledger.core.rows import Review
from tests.cli.conftest import Itemledger
from tests.engines.launch import Engine
from tests.processes.bench import Bench, messages, orders
from tests.processes.conftest import MakeBench, MakeQueue, Queue
from tests.processes.wire import Passed, Way, Weather, Wire, wire_to

KILLS, SOAK_KILLS, KILLS_OF_SENDERS = 25, 2_000, 12
KILLS_PER_ROUND = 25
ORDERS, MESSAGES = 400, 120
PHASES = ("plan", "claim", "dispatch", "call", "record")
SEED = 3


def test_every_item_of_killed_workers_is_written_and_none_again_on_a_guess(moto: Engine, make_bench: MakeBench) -> None:
    landed, _ = kill_writers(KILLS, moto, make_bench)

    assert KILLS == landed.total()
    assert set(PHASES) <= {step.rstrip("<>") for step in landed}


def test_messages_of_killed_workers_are_in_the_queue_once_or_before_a_person(
    moto: Engine, make_queue: MakeQueue
) -> None:
    assert KILLS_OF_SENDERS == kill_senders(KILLS_OF_SENDERS, moto, make_queue, "review").total()


def test_at_least_once_loses_no_message_of_killed_workers_and_counts_every_double(
    moto: Engine, make_queue: MakeQueue
) -> None:
    assert KILLS_OF_SENDERS == kill_senders(KILLS_OF_SENDERS, moto, make_queue, "at_least_once").total()


def test_the_command_killed_at_a_write_and_at_a_look_up_is_run_again_until_all_is_written(
    moto: Engine, wire: Wire, make_bench: MakeBench, itemledger: Itemledger
) -> None:
    bench = make_bench(moto, wire, orders(60))
    line = bench.command_line()
    for operation in ("BatchWriteItem", "BatchGetItem"):
        there, gone = threading.Event(), threading.Event()
        wire.answering = hold_answers(operation, there, gone)
        process = itemledger.start(*line)
        assert there.wait(60), f"the command ended with {process.poll()}"
        process.kill()
        itemledger.end(process)
        gone.set()
    wire.answering = lambda passed: None

    assert 0 == itemledger(*line).exit_code

    assert bench.each(1) == wire.sends()
    bench.check_all_written(moto.client())


def hold_answers(operation: str, there: threading.Event, gone: threading.Event) -> Callable[[Passed], None]:
    """Answers to this operation do not come back before whoever asked is gone."""

    def answering(passed: Passed) -> None:
        if passed.operation == operation:
            there.set()
            assert gone.wait(60)

    return answering


def test_of_a_planning_that_was_killed_nothing_is_sent_until_it_is_planned_to_its_end(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    bench = make_bench(moto, wire, orders(100))
    planning = bench.start(chunk=40, halt_at=["plan<", 2])
    assert planning.reaches("plan<", 2)
    planning.kill()
    assert 80 == len(bench.rows())

    hasty = bench.start(plan=False)

    assert 1 == hasty.end()
    assert "planning of 'orders' was interrupted, so nothing of it is sent; plan it again" == hasty.told()["error"]
    assert {} == wire.sends()
    bench.start(chunk=40).ends_well()
    assert bench.each(1) == wire.sends()
    bench.check_all_written(moto.client())


@pytest.mark.soak
def test_the_same_of_many_more_kills(engine: Engine, make_bench: MakeBench) -> None:
    landed, ways = kill_writers(SOAK_KILLS // 2, engine, make_bench)

    assert SOAK_KILLS // 2 == landed.total()
    assert {f"{phase}>" for phase in PHASES} <= set(landed)
    assert set(Way) == set(ways)


@pytest.mark.soak
@pytest.mark.parametrize("on_unknown", ["review", "at_least_once"])
def test_the_same_of_many_more_kills_of_senders(moto: Engine, make_queue: MakeQueue, on_unknown: str) -> None:
    assert SOAK_KILLS // 4 == kill_senders(SOAK_KILLS // 4, moto, make_queue, on_unknown).total()


# ------------------------------------------------------------------------------------------------ rounds of kills


def kill_writers(kills: int, engine: Engine, make_bench: MakeBench) -> tuple[Counter[str], Counter[Way]]:
    """Where the kills landed, and what the calls met."""
    ways: Counter[Way] = Counter()

    def one(wire: Wire, draw: random.Random, left: int) -> Counter[str]:
        bench = make_bench(engine, wire, orders(ORDERS))
        landed = kill_round(bench, draw, left)
        bench.check_all_written(engine.client())
        assert [] == wire.unproven()
        ways.update(passed.way for passed in wire.journal)
        return landed

    return in_rounds(kills, engine, one), ways


def kill_senders(kills: int, moto: Engine, make_queue: MakeQueue, on_unknown: str) -> Counter[str]:
    def one(wire: Wire, draw: random.Random, left: int) -> Counter[str]:
        queue = make_queue()
        bench = queue.bench(wire, messages(MESSAGES), on_unknown=on_unknown)
        landed = kill_round(bench, draw, left)
        bench.wire.wait_until_idle()
        bench.check_books()
        check = check_once_or_in_review if on_unknown == "review" else check_at_least_once
        check(bench, queue)
        return landed

    return in_rounds(kills, moto, one)


def in_rounds(kills: int, engine: Engine, one: Callable[[Wire, random.Random, int], Counter[str]]) -> Counter[str]:
    """Round after round on a new ledger, until there were so many kills."""
    landed: Counter[str] = Counter()
    number = 0
    while (left := kills - landed.total()) > 0:
        number += 1
        draw = random.Random(f"{SEED} {engine.name} {number}")
        with wire_to(engine.endpoint_url) as wire:
            wire.deciding = Weather(draw.randrange(1 << 30))
            try:
                landed += one(wire, draw, min(left, KILLS_PER_ROUND))
            except AssertionError as error:
                error.add_note(f"in round {number}, after {landed}")
                raise
    return landed


def kill_round(bench: Bench, draw: random.Random, kills: int) -> Counter[str]:
    """One operation from its planning to its end, its workers killed so often, or less if it is done before."""
    landed: Counter[str] = Counter()
    for number in range(kills):
        phase = PHASES[number % len(PHASES)]
        step, nth = f"{phase}{'>' if phase == 'call' else draw.choice('><')}", draw.randint(1, 2)
        # Some are halted there until they are killed, exactly between two steps; the others die where they are.
        halt = {"halt_at": [step, nth]} if draw.random() < 0.4 else {}
        delay_s = 0.0 if halt else draw.uniform(0, 0.008)
        life = bench.start(chunk=40, concurrency=draw.choice([1, 3]), **halt)
        if not life.reaches(step, nth):
            life.ends_well()
            return landed
        time.sleep(delay_s)  # not to wait for anything: the kill is to fall into this step or one of the next
        landed[life.kill() or step] += 1
    bench.start(concurrency=3).ends_well()
    return landed


# ------------------------------------------------------------------------------------------------ what a queue shows


def check_once_or_in_review(bench: Bench, queue: Queue) -> None:
    """No message is there twice; what is not there, or was never confirmed, waits for a person."""
    there = queue.messages()
    assert set(there.values()) <= {1}
    assert [] == bench.wire.unproven()
    for name, row in zip(bench.items, bench.rows(), strict=True):
        match row.outcome, row.review:
            case Outcome.SUCCEEDED, None:
                assert 1 == there[name], f"row {row.number}"
            case ending:
                assert (Outcome.RECONCILE, Review.NO_LOOK_UP) == ending, f"row {row.number}"


def check_at_least_once(bench: Bench, queue: Queue) -> None:
    there = queue.messages()
    assert set(bench.items) == set(there)
    for name, row in zip(bench.items, bench.rows(), strict=True):
        assert Outcome.SUCCEEDED is row.outcome
        assert there[name] - 1 <= row.possible_duplicates, f"row {row.number}"
