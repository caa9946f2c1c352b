"""Whatever ends a run of work early leaves every row where its evidence puts it, and nothing is sent twice after it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

import itemledger as il
from itemledger import Decision, LedgerError, WorkStop
from itemledger.core.batches import Ask, CallEvidence, Claimed, Move, Recorded
from itemledger.ledger import Ledger, MemoryStore, Outcome, Policy
from itemledger.sync import work_stream
from itemledger.testing import Call, FakeClock, Step
from tests.drivers.both import DRIVERS, GIVE_UP_S, Driver, every_thread_ends
from tests.drivers.scenarios import highest
from tests.drivers.work_scenarios import OPERATION, PUTS, failed, got, planned, put, standing, story, value

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)
concurrencies = pytest.mark.parametrize("concurrency", [1, 4])

NAMES = [f"k{n:02}" for n in range(50)]  # two requests
NEVER_MIND_S = 100  # a process that has to be waited for so long has failed


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with every_thread_ends():
        yield


def options(driver: Driver, clock: FakeClock, **more: Any) -> dict[str, Any]:
    return {"clock": clock, "sleep": driver.pause(clock), "jitter": highest, **more}


def filled(store: MemoryStore, names: Sequence[str] = NAMES, policy: Policy | None = None) -> Ledger:
    ledger = Ledger(store)
    ledger.plan(OPERATION, PUTS, map(value, names), policy=policy or Policy(), store_payloads=True)
    return ledger


def hasty(client: Any, policy: Policy) -> Any:
    """The client with the timeouts that the policy wants."""
    client.meta = replace(client.meta, config=il.client_config(policy))
    return client


def rest_is_looked_up(driver: Driver, ledger: Ledger, clock: FakeClock, found: Sequence[str]) -> il.WorkResult:
    """The next run after the lease: what was in flight is found, and nothing of it is sent again."""
    clock.advance(60.0)
    client = hasty(driver.client([got(found)], clock=clock), ledger.operation(OPERATION).policy)
    result = driver.run(driver.work(client, ledger, OPERATION, **options(driver, clock)))
    client.check()
    assert ["batch_get_item"] == [call.operation for call in client.calls]
    return result


# ------------------------------------------------------------------------------------------------------ the deadline


@both_drivers
@concurrencies
def test_after_the_deadline_nothing_is_claimed_and_open_rows_mean_retry(driver: Driver, concurrency: int) -> None:
    clock = FakeClock()
    ledger = planned(NAMES, Policy(), clock)

    async def respond(call: Call) -> Any:
        raise failed("ThrottlingException")

    client = driver.client(respond=respond, clock=clock)
    run = options(driver, clock, timeout_s=30.0, concurrency=concurrency)
    result = driver.run(driver.work(client, ledger, OPERATION, **run))

    assert (WorkStop.DEADLINE, Decision.RETRY, 0) == (result.stop, result.decision, result.abandoned_calls)
    assert "R" * 50 == standing(ledger)
    assert 30.0 == pytest.approx(clock())
    assert [(None, 0)] * 50 == [(row.epoch, row.attempts) for row in ledger.rows(OPERATION)]


@both_drivers
@pytest.mark.parametrize("takes_s", [10.0, 29.9])
def test_a_call_in_flight_at_the_deadline_is_recorded_when_it_ends_within_its_timeout(
    driver: Driver, takes_s: float
) -> None:
    clock = FakeClock()
    ledger = planned(NAMES, Policy(call_timeout_s=20.0), clock)
    client = driver.client([Step(put(), takes_s=takes_s)], clock=clock)
    run = options(driver, clock, timeout_s=10.0, concurrency=1)
    result = driver.run(driver.work(client, ledger, OPERATION, **run))

    assert (WorkStop.DEADLINE, Decision.RETRY, 1, 0) == (
        result.stop,
        result.decision,
        result.calls,
        result.abandoned_calls,
    )
    assert "S" * 25 + "P" * 25 == standing(ledger)


@both_drivers
def test_a_call_that_ends_too_late_is_abandoned_counted_and_looked_up_after_its_lease(driver: Driver) -> None:
    clock = FakeClock()
    policy = Policy(call_timeout_s=0.05, lease_s=60.0)
    ledger = planned(NAMES[:25], policy, clock)

    async def body() -> il.WorkResult:
        gate, open_gate = driver.event()

        async def respond(call: Call) -> Any:
            await gate.wait()
            return put()

        client = hasty(driver.client(respond=respond), policy)
        result = await driver.work(client, ledger, OPERATION, **options(driver, clock, timeout_s=0.05, concurrency=2))
        open_gate()
        return result

    result = driver.run(body())

    assert (WorkStop.DEADLINE, Decision.RETRY, 0, 1) == (
        result.stop,
        result.decision,
        result.calls,
        result.abandoned_calls,
    )
    assert "F" * 25 == standing(ledger)
    assert 25 == result.counts[Outcome.IN_FLIGHT]
    second = rest_is_looked_up(driver, ledger, clock, NAMES[:25])
    assert Decision.ACCEPT is second.decision
    assert ["dispatched", "lease_expired", "found"] == story(ledger, NAMES[0])


# ---------------------------------------------------------------------------------------------------------- interrupts


@both_drivers
@concurrencies
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit], ids=lambda kind: kind.__name__)
def test_an_interrupt_out_of_a_call_comes_as_it_is_with_the_result_and_at_once(
    driver: Driver, concurrency: int, interrupt: type[BaseException]
) -> None:
    clock = FakeClock()
    ledger = planned(NAMES[:25], Policy(), clock)
    raised = interrupt()
    client = driver.client([raised], clock=clock)

    with pytest.raises(interrupt) as caught:
        driver.run(driver.work(client, ledger, OPERATION, **options(driver, clock, concurrency=concurrency)))

    assert raised is caught.value
    result = carried(caught.value)
    assert (WorkStop.INTERRUPTED, Decision.HOLD, 0, 1) == (
        result.stop,
        result.decision,
        result.calls,
        result.abandoned_calls,
    )
    assert "F" * 25 == standing(ledger)
    assert Decision.ACCEPT is rest_is_looked_up(driver, ledger, clock, NAMES[:25]).decision


def test_what_is_in_flight_beside_an_interrupted_call_is_recorded_first() -> None:
    (driver,) = [each for each in DRIVERS if not each.is_async]
    clock = FakeClock()
    store = _Watched(clock)
    ledger = filled(store)
    raised = KeyboardInterrupt()

    async def body() -> None:
        both = driver.barrier(2)

        async def respond(call: Call) -> Any:
            await both.wait()
            if "k00" in str(call.request):
                raise raised
            return put()

        client = driver.client(respond=respond, clock=clock)
        await driver.work(client, ledger, OPERATION, **options(driver, clock))

    with pytest.raises(KeyboardInterrupt) as caught:
        driver.run(body())

    assert raised is caught.value
    assert "F" * 25 + "S" * 25 == standing(ledger)
    assert (WorkStop.INTERRUPTED, 1, 1) == (
        carried(raised).stop,
        carried(raised).calls,
        carried(raised).abandoned_calls,
    )


def test_an_interrupt_while_it_waits_records_what_is_in_flight_first() -> None:
    """A blocking run in a thread of its own cannot be interrupted, so the wait is where one comes."""
    (driver,) = [each for each in DRIVERS if not each.is_async]
    clock = FakeClock()
    ledger = planned(NAMES, Policy(), clock)
    gate, open_gate = driver.event()
    waits = 0

    async def respond(call: Call) -> Any:
        await gate.wait()
        return put()

    class Waiting:
        def __enter__(self) -> None:
            nonlocal waits
            waits += 1
            if waits == 1:
                open_gate()
                raise KeyboardInterrupt

        def __exit__(self, *_: object) -> None:
            pass

    steps = work_stream(
        driver.client(respond=respond), ledger.store, OPERATION, {"clock": clock}, sleep=clock.sleep, waiting=Waiting
    )
    with pytest.raises(KeyboardInterrupt) as caught:
        list(steps)

    assert 2 == carried(caught.value).calls
    assert "S" * 50 == standing(ledger)


def test_a_cancelled_run_leaves_its_calls_in_flight_to_a_look_up_after_the_lease() -> None:
    (driver,) = [each for each in DRIVERS if each.is_async]
    clock = FakeClock()
    ledger = planned(NAMES, Policy(), clock)

    async def body() -> asyncio.CancelledError:
        never = asyncio.Event()
        both = asyncio.Barrier(3)

        async def respond(call: Call) -> Any:
            await both.wait()
            await never.wait()

        client = driver.client(respond=respond)
        task = asyncio.create_task(driver.work(client, ledger, OPERATION, **options(driver, clock)))
        async with asyncio.timeout(GIVE_UP_S):
            await both.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        left = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("itemledger")]
        assert [] == left
        return caught.value

    result = carried(driver.run(body()))

    assert (WorkStop.INTERRUPTED, Decision.HOLD, 0, 2) == (
        result.stop,
        result.decision,
        result.calls,
        result.abandoned_calls,
    )
    assert "F" * 50 == standing(ledger)
    assert Decision.ACCEPT is rest_is_looked_up(driver, ledger, clock, NAMES).decision


@both_drivers
@concurrencies
def test_what_the_callers_own_sleep_raises_comes_as_it_is_with_the_result(driver: Driver, concurrency: int) -> None:
    clock = FakeClock()
    ledger = planned("ABC", Policy(), clock)
    broken = ZeroDivisionError("in sleep")

    def sleep(seconds: float) -> Any:
        raise broken

    client = driver.client([put(left="B")], clock=clock)
    run = options(driver, clock, sleep=sleep, concurrency=concurrency)
    with pytest.raises(ZeroDivisionError) as caught:
        driver.run(driver.work(client, ledger, OPERATION, **run))

    assert broken is caught.value
    assert (WorkStop.INTERRUPTED, 2, 1) == (
        carried(broken).stop,
        carried(broken).counts[Outcome.SUCCEEDED],
        carried(broken).calls,
    )


def test_a_second_interrupt_is_not_waited_for_and_carries_the_result_too() -> None:
    (driver,) = [each for each in DRIVERS if not each.is_async]
    clock = FakeClock()
    ledger = planned(NAMES, Policy(), clock)
    first, second = KeyboardInterrupt("first"), KeyboardInterrupt("second")

    async def body() -> None:
        both = driver.barrier(2)

        async def respond(call: Call) -> Any:
            await both.wait()
            raise first if "k00" in str(call.request) else second

        await driver.work(driver.client(respond=respond), ledger, OPERATION, **options(driver, clock))

    with pytest.raises(KeyboardInterrupt) as caught:
        driver.run(body())

    assert caught.value in (first, second)
    assert (WorkStop.INTERRUPTED, 2) == (carried(caught.value).stop, carried(caught.value).abandoned_calls)


@both_drivers
def test_an_interrupt_in_a_claim_leaves_what_was_dispatched_before_to_its_end(driver: Driver) -> None:
    clock = FakeClock()
    store = _Watched(clock)
    ledger = filled(store)
    raised = KeyboardInterrupt()
    store.on_claim = _at(2, raised)
    client = driver.client([put()], clock=clock)

    with pytest.raises(KeyboardInterrupt) as caught:
        driver.run(driver.work(client, ledger, OPERATION, **options(driver, clock)))

    assert raised is caught.value
    assert ("P" * 25, []) == (standing(ledger)[25:], clock.sleeps)
    if driver.is_async:  # its call is cancelled, and may have been on its way
        assert standing(ledger)[:25] in ("F" * 25, "S" * 25)
    else:
        assert ("S" * 25, 1) == (standing(ledger)[:25], carried(raised).calls)


@both_drivers
def test_an_interrupt_comes_as_it_is_even_if_the_ledger_cannot_be_asked_any_more(driver: Driver) -> None:
    clock = FakeClock()
    store = _Watched(clock)
    ledger = filled(store)
    raised = KeyboardInterrupt()
    store.on_claim = _at(1, raised)
    store.on_counts = store.close

    with pytest.raises(KeyboardInterrupt) as caught:
        driver.run(driver.work(driver.client([]), ledger, OPERATION, **options(driver, clock)))

    assert raised is caught.value


# Python ignores SIGINT when it was started in the background of a shell; the second line makes it an ordinary process.
PREAMBLE = """
    import asyncio, signal, time
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import itemledger as il
    from itemledger import aio
    from itemledger.apis.dynamodb_write import BatchWriteItem
    from itemledger.ledger import open_ledger
    from itemledger.testing import AsyncScriptedClient, ScriptedClient

    ledger = open_ledger("memory://")
    api = BatchWriteItem(table_name="T", key={"pk": "S"})
    ledger.plan("orders", api, [{"pk": str(n)} for n in range(26)], store_payloads=True)
    calls = 0

    def hang(*_):
        global calls
        calls += 1
        if calls == 1:
            return {"UnprocessedItems": {}}
        print("ready", flush=True)
        for _ in range(36_000):  # a signal that comes just before a wait does not end it
            time.sleep(0.1)

    async def ahang(*_):
        global calls
        calls += 1
        if calls == 1:
            return {"UnprocessedItems": {}}
        print("ready", flush=True)
        await asyncio.sleep(3600)

    def told(error):
        result = error.result
        print(type(error).__name__, result.stop, result.counts["succeeded"], result.counts["in_flight"],
              result.abandoned_calls, result.decision)
"""

PROGRAMS = {
    "inline": """
        try:
            il.work(ScriptedClient(respond=hang), ledger, "orders", concurrency=1)
        except KeyboardInterrupt as error:
            told(error)
    """,
    "asyncio": """
        try:
            asyncio.run(aio.work(AsyncScriptedClient(respond=ahang), ledger, "orders", concurrency=1))
        except KeyboardInterrupt as error:
            told(error.__context__)
    """,
}


@pytest.mark.parametrize("where", PROGRAMS)
def test_ctrl_c_in_a_call_that_hangs_ends_the_run_at_once_with_its_result(where: str) -> None:
    error = "CancelledError" if where == "asyncio" else "KeyboardInterrupt"
    assert f"{error} interrupted 25 1 1 hold" == _interrupted(PROGRAMS[where])


def _interrupted(program: str) -> str:
    source = textwrap.dedent(PREAMBLE) + textwrap.dedent(program)
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert "ready\n" == process.stdout.readline()
            process.send_signal(signal.SIGINT)
            said, complaints = process.communicate(timeout=NEVER_MIND_S)
        finally:
            process.kill()
    assert (0, "") == (process.returncode, complaints)
    return said.strip()


# ------------------------------------------------------------------------------------------------ a store that fails


@both_drivers
def test_fc_51_what_had_its_effect_before_the_record_failed_is_not_sent_again(driver: Driver) -> None:
    clock = FakeClock()
    store = _Watched(clock)
    ledger = filled(store, NAMES[:25])
    store.on_record = _at(1, LedgerError("the disk is full"))

    with pytest.raises(LedgerError, match="the disk is full"):
        driver.run(driver.work(driver.client([put()], clock=clock), ledger, OPERATION, **options(driver, clock)))

    assert "F" * 25 == standing(ledger)
    assert Decision.ACCEPT is rest_is_looked_up(driver, ledger, clock, NAMES[:25]).decision
    assert [1] * 25 == [row.dispatches for row in ledger.rows(OPERATION)]


@both_drivers
def test_other_calls_in_flight_are_recorded_before_the_error_of_a_store_is_raised(driver: Driver) -> None:
    clock = FakeClock()
    store = _Watched(clock)
    ledger = filled(store, [*NAMES, *(f"x{n:02}" for n in range(50))])
    broken = LedgerError("the disk is full")
    store.on_record = _at(1, broken)

    async def body() -> Any:
        two = driver.barrier(2)
        gate, open_gate = driver.event()
        store.after_record = open_gate  # the failed one, too

        async def respond(call: Call) -> Any:
            await two.wait()
            if "k00" not in str(call.request):
                await gate.wait()
            return put()

        client = driver.client(respond=respond, clock=clock)
        try:
            await driver.work(client, ledger, OPERATION, **options(driver, clock, concurrency=2))
        except LedgerError as error:
            return error, client
        raise AssertionError("nothing was raised")

    error, client = driver.run(body())

    assert broken is error
    assert "F" * 25 + "S" * 25 + "P" * 50 == standing(ledger)
    assert 2 == len(client.calls)  # and nothing was claimed after it


@both_drivers
@pytest.mark.parametrize("verb", ["claim", "dispatch"])
def test_a_store_that_fails_before_the_call_sends_nothing(driver: Driver, verb: str) -> None:
    clock = FakeClock()
    store = _Watched(clock)
    ledger = filled(store, NAMES[:25])
    broken = LedgerError("the disk is full")
    setattr(store, f"on_{verb}", _at(1, broken))

    async def respond(call: Call) -> Any:
        return put()

    client = driver.client(respond=respond, clock=clock)
    with pytest.raises(LedgerError) as caught:
        driver.run(driver.work(client, ledger, OPERATION, **options(driver, clock)))

    assert broken is caught.value
    assert ([], "P" * 25) == (client.calls, standing(ledger))
    clock.advance(60.0)
    assert Decision.ACCEPT is driver.run(driver.work(client, ledger, OPERATION, **options(driver, clock))).decision


# ------------------------------------------------------------------------------------------------------------- helpers


def carried(error: BaseException) -> il.WorkResult:
    result = vars(error)["result"]
    assert isinstance(result, il.WorkResult)
    return result


def _at(number: int, error: BaseException) -> Callable[[], None]:
    """Raises at the n-th time that it is called."""
    times = 0

    def check() -> None:
        nonlocal times
        times += 1
        if times == number:
            raise error

    return check


def _nothing() -> None:
    pass


class _Watched(MemoryStore):
    """The store in memory, with something happening at its verbs."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock=clock)
        self.on_claim: Callable[[], None] = _nothing
        self.on_dispatch: Callable[[], None] = _nothing
        self.on_record: Callable[[], None] = _nothing
        self.after_record: Callable[[], None] = _nothing
        self.on_counts: Callable[[], None] = _nothing

    def claim(self, operation_id: str, ask: Ask) -> Claimed:
        self.on_claim()
        return super().claim(operation_id, ask)

    def dispatch(self, epoch: int, replay: Any = None) -> None:
        self.on_dispatch()
        super().dispatch(epoch, replay)

    def record(self, epoch: int, evidence: CallEvidence, moves_: Sequence[Move]) -> Recorded:
        try:
            self.on_record()
            return super().record(epoch, evidence, moves_)
        finally:
            self.after_record()

    def counts(self, operation_id: str) -> Any:
        self.on_counts()
        return super().counts(operation_id)
