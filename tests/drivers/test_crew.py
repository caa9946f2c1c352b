"""A crew between its driver and its store: nothing else happens between a dispatch and its call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from itemledger import aio
from itemledger.core.answer import Answer
from itemledger.core.batches import Ask, CallEvidence, Claimed, Move, Recorded
from itemledger.core.steps import WaitUntil
from itemledger.crew.crew import Crew, WorkerCall
from itemledger.crew.opening import WorkOptions, open_work
from itemledger.crew.result import WorkStop
from itemledger.ledger import Ledger, MemoryStore, Policy
from itemledger.testing import FakeClock, ScriptedClient
from tests.drivers.work_scenarios import OPERATION, PUTS, put, value

NAMES = [f"k{n:02}" for n in range(60)]  # three requests


class _Logged(MemoryStore):
    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock=clock)
        self.log: list[str] = []

    def claim(self, operation_id: str, ask: Ask) -> Claimed:
        self.log.append("claim")
        return super().claim(operation_id, ask)

    def dispatch(self, epoch: int, replay: Any = None) -> None:
        self.log.append("dispatch")
        super().dispatch(epoch, replay)

    def record(self, epoch: int, evidence: CallEvidence, moves_: Sequence[Move]) -> Recorded:
        self.log.append("record")
        return super().record(epoch, evidence, moves_)


def crew_of(
    clock: FakeClock, concurrency: int = 1, timeout_s: float = 3600.0, store: _Logged | None = None
) -> tuple[Crew, _Logged]:
    store = store or _Logged(clock)
    Ledger(store).plan(OPERATION, PUTS, map(value, NAMES), policy=Policy(), store_payloads=True)
    bounds: WorkOptions = {"clock": clock, "concurrency": concurrency, "timeout_s": timeout_s}
    return open_work(ScriptedClient([]), store, OPERATION, bounds).crew, store


def test_a_dispatched_call_is_given_out_before_the_store_is_asked_anything_else() -> None:
    clock = FakeClock()
    crew, store = crew_of(clock, concurrency=4)
    calls: list[WorkerCall] = []
    for step in crew.due(clock()):
        if isinstance(step, WorkerCall):
            calls.append(step)
            assert ["claim", "dispatch"] == store.log
        else:
            assert WaitUntil(0.0) == step  # the others' turn comes at once
    assert 1 == len(calls)
    while len(calls) < 3:
        del store.log[:]
        (call, _) = crew.due(clock())
        assert isinstance(call, WorkerCall)
        assert ["claim", "dispatch"] == store.log
        calls.append(call)
    assert 3 == len({call.number for call in calls})
    assert 3 == crew.in_flight


def test_under_asyncio_a_dispatched_call_has_begun_before_the_next_claim() -> None:
    clock = FakeClock()
    _, store = crew_of(clock)

    class Client:
        async def batch_write_item(self, **_: object) -> dict[str, Any]:
            store.log.append("call")
            await asyncio.sleep(0)
            return put()

    asyncio.run(aio.work(Client(), Ledger(store), OPERATION, clock=clock, sleep=clock.asleep, concurrency=3))

    began = [verb for verb in store.log if verb != "record"]
    assert ["claim", "dispatch", "call"] * 3 == began[:9]


def test_the_end_of_a_call_is_told_before_the_next_claim() -> None:
    clock = FakeClock()
    crew, store = crew_of(clock)
    (call, _) = crew.due(clock())
    assert isinstance(call, WorkerCall)
    del store.log[:]
    progress = crew.answered(call, Answer(put()), clock())
    assert (["record"], 1, 25) == (store.log, progress.calls, sum(progress.moved.values()))
    (call, _) = crew.due(clock())
    assert ["record", "claim", "dispatch"] == store.log


def test_an_answer_after_the_deadline_is_recorded_and_nothing_is_claimed_after_it() -> None:
    clock = FakeClock()
    crew, store = crew_of(clock, timeout_s=10.0)
    (call, _) = crew.due(clock())
    assert isinstance(call, WorkerCall)
    clock.advance(15.0)
    crew.answered(call, Answer(put()), clock())
    assert [] == list(crew.due(clock()))
    assert ["claim", "dispatch", "record"] == store.log
    assert (True, WorkStop.DEADLINE) == (crew.done, crew.result().stop)


def test_after_a_stop_what_is_in_flight_has_the_timeout_of_a_call_and_no_more() -> None:
    clock = FakeClock(100.0)
    crew, _ = crew_of(clock)
    (_, wait) = crew.due(clock())
    assert (WaitUntil(3700.0), 3720.0) == (wait, crew.deadline)
    crew.stop(WorkStop.INTERRUPTED)
    assert 120.0 == crew.deadline
    assert [WaitUntil(120.0)] == list(crew.due(clock()))
    assert [] == list(crew.due(120.0))
    assert (True, 1) == (crew.done, crew.result().abandoned_calls)


def test_when_nothing_is_left_to_move_those_of_the_crew_that_wait_end_too() -> None:
    clock = FakeClock()
    crew, _ = crew_of(clock, concurrency=4)  # three requests: the fourth waits for the others' leases
    calls: list[WorkerCall] = []
    for _ in range(4):
        calls += [step for step in crew.due(clock()) if isinstance(step, WorkerCall)]
    for call in calls:
        crew.answered(call, Answer(put()), clock())
    for _ in range(4):
        assert not [step for step in crew.due(clock()) if isinstance(step, WorkerCall)]
    assert (3, True) == (len(calls), crew.done)


def test_a_calls_time_begins_when_it_is_given_out_and_not_before_the_store_was_waited_for() -> None:
    clock = FakeClock()

    class Slow(_Logged):
        def claim(self, operation_id: str, ask: Ask) -> Claimed:
            clock.advance(5.0)  # another process has the file
            return super().claim(operation_id, ask)

        def dispatch(self, epoch: int, replay: Any = None) -> None:
            super().dispatch(epoch, replay)
            clock.advance(0.5)

    crew, store = crew_of(clock, store=Slow(clock))
    (call, _) = crew.due(clock())
    assert isinstance(call, WorkerCall)
    assert 5.5 == call.started_at
    clock.advance(2.0)
    crew.answered(call, Answer(put()), clock())
    evidence = store.history(1)[-1].evidence
    assert evidence is not None
    assert 2000.0 == evidence.duration_ms
