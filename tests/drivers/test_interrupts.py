"""Whatever interrupts a read leaves it as it came, with everything settled so far on it, and no call works on."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

import itemledger as il
from itemledger import Decision, StopReason, aio, sync
from itemledger.testing import (
    AsyncScriptedClient,
    Call,
    FakeClock,
    ScriptedClient,
    Step,
    batch_get_response,
    describe_table_response,
)
from tests.drivers.both import DRIVERS, GIVE_UP_S, Driver, every_thread_ends
from tests.drivers.scenarios import TABLE, ok, standings

NEVER_MIND_S = 100  # a process that has to be waited for so long has failed
both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with every_thread_ends():
        yield


# ------------------------------------------------------------------------------------------------- Ctrl-C in a process

# Python ignores SIGINT when it was started in the background of a shell; the first line makes it an ordinary process.
PREAMBLE = """
    import asyncio, signal, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import itemledger as il
    from itemledger import aio
    from itemledger.testing import AsyncScriptedClient, ScriptedClient, batch_get_response

    def answer(call, found, left):
        keys = call.request["RequestItems"]["T"]["Keys"]
        return batch_get_response(keys[:found], table="T", unprocessed=keys[len(keys) - left:])

    def hang(*_):
        print("ready", flush=True)
        for _ in range(36_000):  # a signal that comes just before a wait does not end it
            time.sleep(0.1)

    async def ahang(*_):
        print("ready", flush=True)
        await asyncio.sleep(3600)

    def told(error):
        result = error.result
        print(type(error).__name__, result.stop_reason, len(result.returned), len(result.processed_not_returned),
              len(result.unresolved), result.abandoned_calls, result.decide())

    def first_then(rest):
        return lambda call: answer(call, 2, 1) if len(call.request["RequestItems"]["T"]["Keys"]) > 1 else rest(call)

    keys = ["A", "B", "C", "D"]
"""

PROGRAMS = {
    "in a call, inline": """
        client = ScriptedClient(respond=first_then(hang))
        try:
            il.read_batch(client, "T", keys, ("pk",), concurrency=1, timeout_s=3600)
        except KeyboardInterrupt as error:
            told(error)
    """,
    "in a call, threads": """
        client = ScriptedClient(respond=first_then(hang))
        try:
            il.read_batch(client, "T", keys, ("pk",), concurrency=4, timeout_s=3600)
        except KeyboardInterrupt as error:
            told(error)
    """,
    "in a pause": """
        client = ScriptedClient(respond=first_then(None))
        try:
            il.read_batch(client, "T", keys, ("pk",), sleep=hang, jitter=max)
        except KeyboardInterrupt as error:
            told(error)
    """,
    "in a stream": """
        client = ScriptedClient(respond=first_then(hang))
        try:
            for outcome in il.iter_read(client, "T", keys, ("pk",), concurrency=4, timeout_s=3600):
                pass
        except KeyboardInterrupt as error:
            told(error)
    """,
    "asyncio, in a call": """
        client = AsyncScriptedClient(respond=first_then(ahang))
        try:
            asyncio.run(aio.read_batch(client, "T", keys, ("pk",), timeout_s=3600))
        except KeyboardInterrupt as error:
            told(error.__context__)
    """,
    "asyncio, in a pause": """
        client = AsyncScriptedClient(respond=first_then(None))
        try:
            asyncio.run(aio.read_batch(client, "T", keys, ("pk",), sleep=ahang, jitter=max))
        except KeyboardInterrupt as error:
            told(error.__context__)
    """,
}


@pytest.mark.parametrize("where", PROGRAMS)
def test_ctrl_c_carries_the_result_so_far(where: str) -> None:
    in_flight = 0 if "pause" in where else 1
    error = "CancelledError" if "asyncio" in where else "KeyboardInterrupt"
    assert f"{error} interrupted 2 1 1 {in_flight} hold" == _interrupted(PROGRAMS[where])


def test_ctrl_c_while_the_table_is_described_carries_a_result_too() -> None:
    program = """
        client = ScriptedClient(respond=hang)
        try:
            il.read_batch(client, "T", keys, timeout_s=3600)
        except KeyboardInterrupt as error:
            told(error)
    """
    assert "KeyboardInterrupt interrupted 0 0 4 0 hold" == _interrupted(program)


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


# --------------------------------------------------------------------------------------------- whatever else is raised


@both_drivers
@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit], ids=lambda kind: kind.__name__)
def test_an_interrupt_out_of_a_call_reaches_the_caller_with_the_result_so_far(
    driver: Driver, concurrency: int, interrupt: type[BaseException]
) -> None:
    raised = interrupt()
    clock = FakeClock()
    client = driver.client([ok("A", "B"), raised], clock=clock)
    options = {"clock": clock, "sleep": driver.pause(clock), "concurrency": concurrency}
    with pytest.raises(interrupt) as caught:
        driver.run(driver.read_batch(client, TABLE, list("ABZ"), ("pk",), **options))
    assert raised is caught.value
    assert (StopReason.INTERRUPTED, "RUN", 1) == _carried(caught.value)


@both_drivers
def test_what_the_callers_own_sleep_raises_carries_the_result_so_far(driver: Driver) -> None:
    broken = ZeroDivisionError("in sleep")

    def sleep(seconds: float) -> Any:
        raise broken

    client = driver.client([ok("A", "B")])
    with pytest.raises(ZeroDivisionError) as caught:
        driver.run(driver.read_batch(client, TABLE, list("ABZ"), ("pk",), sleep=sleep))
    assert broken is caught.value
    assert (StopReason.INTERRUPTED, "RUN", 0) == _carried(caught.value)


@both_drivers
def test_what_the_callers_own_clock_raises_carries_the_result_so_far(driver: Driver) -> None:
    clock = FakeClock()

    def until_one() -> float:
        if clock() >= 1.0:
            raise ZeroDivisionError("in clock")
        return clock()

    client = driver.client([ok("A", "B"), Step(ok("B"), takes_s=1.0)], clock=clock)
    options = {"clock": until_one, "sleep": driver.pause(clock)}
    with pytest.raises(ZeroDivisionError) as caught:
        driver.run(driver.read_batch(client, TABLE, list("ABZ"), ("pk",), **options))
    assert (StopReason.INTERRUPTED, "RUN", 1) == _carried(caught.value)


@both_drivers
def test_several_tables_ride_along_as_several_results(driver: Driver) -> None:
    reads = [il.TableRead("T", ["A"], ("pk",)), il.TableRead("U", ["A", "B"], ("pk",))]
    client = driver.client([KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt) as caught:
        driver.run(driver.read_tables(client, reads))
    assert ["U", "UU"] == [standings(result.outcomes) for result in vars(caught.value)["result"]]


@both_drivers
def test_an_interrupt_goes_before_a_fault_of_the_manifest(driver: Driver) -> None:
    client = driver.client([KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        driver.run(driver.read_batch(client, TABLE, ["A", "A"]))


@both_drivers
def test_a_manifest_refused_after_the_table_was_described_leaves_nothing_behind(driver: Driver) -> None:
    # That no thread is left is the fixture's business.
    client = driver.client([describe_table_response(TABLE, {"pk": "S"})])
    with pytest.raises(il.ManifestError):
        driver.run(driver.read_batch(client, TABLE, ["A", "A"], concurrency=4))


@both_drivers
def test_keys_that_break_off_make_no_result(driver: Driver) -> None:
    # A result of the keys that came before would call itself complete as soon as those are read.
    def keys() -> Iterator[str]:
        yield from "AB"
        raise ZeroDivisionError("in the caller's generator")

    client = driver.client([describe_table_response(TABLE, {"pk": "S"})])
    with pytest.raises(ZeroDivisionError) as caught:
        driver.run(driver.read_batch(client, TABLE, keys(), concurrency=4))
    assert "result" not in vars(caught.value)


# --------------------------------------------------------------------------------------------------- leaving a stream


@both_drivers
def test_a_stream_closed_early_starts_no_further_call(driver: Driver) -> None:
    async def body() -> Any:
        blocked, release = driver.event()

        async def respond(call: Call) -> Any:
            keys = call.request["RequestItems"][TABLE]["Keys"]
            if keys[0] != {"pk": {"S": "k000"}}:
                await blocked.wait()
            return batch_get_response(keys, table=TABLE)

        client = driver.client(respond=respond)
        keys = [f"k{i:03}" for i in range(900)]
        async with aclosing(driver.iter_read(client, TABLE, keys, ("pk",), concurrency=4)) as outcomes:
            first = await anext(outcomes)
        if driver.is_async:
            assert {asyncio.current_task()} == asyncio.all_tasks()
        release()
        return client, first

    client, first = driver.run(body())
    assert "k000" == first.key
    for thread in threading.enumerate():
        if thread.name.startswith("itemledger-call-"):
            thread.join(GIVE_UP_S)
    assert len(client.requests) <= 4


def test_a_stream_that_nobody_takes_from_any_more_ends_its_threads() -> None:
    outcomes = sync.iter_read(ScriptedClient([ok("AB")]), TABLE, list("AB"), ("pk",), concurrency=4)
    assert "A" == getattr(next(outcomes), "key", None)
    del outcomes  # the fixture sees that the thread ends


# -------------------------------------------------------------------------------------------------------- cancellation


def test_a_cancelled_task_raises_the_same_cancellation_with_the_result() -> None:
    async def body() -> None:
        reached = asyncio.Event()
        caught: list[BaseException] = []

        async def respond(call: Call) -> Any:
            if len(call.request["RequestItems"][TABLE]["Keys"]) == 3:
                return ok("A", "B")
            reached.set()
            await asyncio.sleep(3600)

        async def reader() -> None:
            client = AsyncScriptedClient(respond=respond)
            try:
                await aio.read_batch(client, TABLE, list("ABZ"), ("pk",), timeout_s=3600)
            except asyncio.CancelledError as error:
                caught.append(error)
                raise

        task = asyncio.create_task(reader())
        await reached.wait()
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert [raised.value] == caught
        assert ("enough",) == raised.value.args
        assert (StopReason.INTERRUPTED, "RUN", 1) == _carried(raised.value)
        assert {asyncio.current_task()} == asyncio.all_tasks()

    asyncio.run(body())


def test_a_cancellation_in_the_pause_carries_the_result() -> None:
    async def body() -> None:
        reached = asyncio.Event()

        async def asleep(seconds: float) -> None:
            reached.set()
            await asyncio.sleep(3600)

        client = AsyncScriptedClient([ok("A", "B")])
        task = asyncio.create_task(aio.read_batch(client, TABLE, list("ABZ"), ("pk",), sleep=asleep, jitter=max))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert (StopReason.INTERRUPTED, "RUN", 0) == _carried(raised.value)

    asyncio.run(body())


@pytest.mark.parametrize("what", ["timeout", "wait_for"])
def test_a_timeout_of_the_caller_has_the_result_at_its_cause(what: str) -> None:
    async def body() -> None:
        async def respond(call: Call) -> Any:
            if len(call.request["RequestItems"][TABLE]["Keys"]) == 3:
                return ok("A", "B")
            await asyncio.sleep(3600)

        async def read() -> None:
            await aio.read_batch(AsyncScriptedClient(respond=respond), TABLE, list("ABZ"), ("pk",), timeout_s=3600)

        async def within() -> None:
            if what == "wait_for":
                await asyncio.wait_for(read(), 0.3)
            else:
                async with asyncio.timeout(0.3):
                    await read()

        with pytest.raises(TimeoutError) as raised:
            await within()
        assert isinstance(raised.value.__cause__, asyncio.CancelledError)
        assert (StopReason.INTERRUPTED, "RUN", 1) == _carried(raised.value.__cause__)
        assert {asyncio.current_task()} == asyncio.all_tasks()

    asyncio.run(body())


def test_a_task_group_that_fails_leaves_the_result_with_its_task() -> None:
    async def body() -> None:
        reached = asyncio.Event()
        tasks: list[asyncio.Task[il.ReadResult]] = []

        async def respond(call: Call) -> Any:
            reached.set()
            await asyncio.sleep(3600)

        async def fail() -> None:
            await reached.wait()
            raise ZeroDivisionError

        async def group() -> None:
            async with asyncio.TaskGroup() as group:
                client = AsyncScriptedClient(respond=respond)
                tasks.append(group.create_task(aio.read_batch(client, TABLE, ["A"], ("pk",))))
                group.create_task(fail())

        with pytest.raises(ExceptionGroup):
            await group()
        with pytest.raises(asyncio.CancelledError) as raised:
            tasks[0].result()
        assert (StopReason.INTERRUPTED, "U", 1) == _carried(raised.value)

    asyncio.run(body())


def test_a_second_cancellation_while_the_first_is_cleaned_up_carries_the_result_too() -> None:
    async def body() -> None:
        reached = asyncio.Event()
        task: asyncio.Task[il.ReadResult]

        async def respond(call: Call) -> Any:
            reached.set()
            try:
                await asyncio.sleep(3600)
            finally:
                task.cancel()  # in the one turn that the read gives its calls to end

        client = AsyncScriptedClient(respond=respond)
        task = asyncio.create_task(aio.read_batch(client, TABLE, ["A"], ("pk",)))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert (StopReason.INTERRUPTED, "U", 1) == _carried(raised.value)

    asyncio.run(body())


def test_a_call_cancelled_from_elsewhere_is_no_usable_response() -> None:
    async def body() -> il.ReadResult:
        async def respond(call: Call) -> Any:
            current = asyncio.current_task()
            assert current is not None
            current.cancel()
            await asyncio.sleep(3600)

        return await aio.read_batch(AsyncScriptedClient(respond=respond), TABLE, ["A"], ("pk",))

    result = asyncio.run(body())
    assert (StopReason.REQUEST_FAILED, Decision.HOLD) == (result.stop_reason, result.decide())
    assert "CancelledError; request_id=none" == str(result.terminal_error)


def test_a_result_is_short_in_texts_such_as_those_asyncio_makes_of_tasks() -> None:
    names = [f"k{i:05}" for i in range(100)]
    rows: Sequence[Any] = [{"pk": {"S": name}, "secret": {"S": "x" * 1000}} for name in names]
    result = asyncio.run(
        aio.read_batch(AsyncScriptedClient([batch_get_response(rows, table="T")]), "T", names, ("pk",))
    )
    assert 100 == len(result.returned)
    assert len(repr(result)) < 2000
    assert "xxx" not in repr(result)


def _carried(error: BaseException) -> tuple[StopReason, str, int]:
    result = vars(error)["result"]
    return result.stop_reason, standings(result.outcomes), result.abandoned_calls
