"""The deadline returns while calls hang, and nothing keeps the process alive after it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import itemledger as il
from itemledger import Decision, StopReason, TableRead, aio
from itemledger.testing import AsyncScriptedClient, Call, FakeClock, Step, batch_get_response, describe_table_response
from tests.drivers.both import DRIVERS, Driver, every_thread_ends
from tests.drivers.scenarios import standings

NEVER_MIND_S = 100  # a process that has to be waited for so long has failed


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with every_thread_ends():
        yield


THREADS_THAT_HANG = """
    import time, itemledger as il
    from itemledger.testing import ScriptedClient

    client = ScriptedClient(respond=lambda call: time.sleep(3600))
    result = il.read_batch(client, "T", [f"k{i}" for i in range(400)], KEY, timeout_s=0.5, concurrency=4)
    print(result.stop_reason, len(result.unresolved), result.abandoned_calls, result.decide())
"""

A_STREAM_THAT_HANGS = """
    import time, itemledger as il
    from itemledger.testing import ScriptedClient

    client = ScriptedClient(respond=lambda call: time.sleep(3600))
    *outcomes, result = il.iter_read(client, "T", [f"k{i}" for i in range(400)], KEY, timeout_s=0.5, concurrency=4)
    print(result.stop_reason, len(outcomes), result.abandoned_calls, result.decide())
"""

TASKS_THAT_HANG = """
    import asyncio
    from itemledger import aio
    from itemledger.testing import AsyncScriptedClient

    async def main():
        client = AsyncScriptedClient(respond=lambda call: asyncio.sleep(3600))
        result = await aio.read_batch(client, "T", [f"k{i}" for i in range(400)], KEY, timeout_s=0.5, concurrency=4)
        print(result.stop_reason, len(result.unresolved), result.abandoned_calls, result.decide())
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
"""


@pytest.mark.parametrize(
    "program",
    [THREADS_THAT_HANG, A_STREAM_THAT_HANGS, TASKS_THAT_HANG],
    ids=["threads", "stream", "tasks"],
)
def test_nothing_keeps_the_process_alive_after_the_deadline(program: str) -> None:
    assert "deadline 400 4 retry" == _run(program.replace("KEY", '("pk",)'))


@pytest.mark.parametrize("program", [THREADS_THAT_HANG, TASKS_THAT_HANG], ids=["threads", "tasks"])
def test_a_description_that_hangs_does_not_either(program: str) -> None:
    said = _run(program.replace("KEY", "None").replace("result.stop_reason", "result.terminal_error.code"))
    assert "DeadlineReached 400" == said.rpartition(" ")[0].rpartition(" ")[0]
    assert "retry" == said.rpartition(" ")[2]


@pytest.mark.parametrize("driver", DRIVERS, ids=str)
def test_the_answers_that_came_before_the_deadline_stay(driver: Driver) -> None:
    async def body() -> il.ReadResult:
        never, give_up = driver.event()
        all_asked = driver.barrier(2)

        async def respond(call: Call) -> Any:
            keys = call.request["RequestItems"]["T"]["Keys"]
            await all_asked.wait()
            if keys[0] == {"pk": {"S": "k000"}}:
                return batch_get_response(keys[:99], table="T")
            await never.wait()
            return batch_get_response(keys, table="T")

        client = driver.client(respond=respond)
        names = [f"k{i:03}" for i in range(200)]
        result = await driver.read_batch(client, "T", names, ("pk",), timeout_s=0.5, concurrency=2)
        give_up()
        return result

    result = driver.run(body())
    assert "R" * 99 + "N" + "U" * 100 == standings(result.outcomes)
    assert (StopReason.DEADLINE, Decision.RETRY, 1) == (result.stop_reason, result.decide(), result.abandoned_calls)


@pytest.mark.parametrize("driver", DRIVERS, ids=str)
def test_no_second_table_is_described_after_the_deadline(driver: Driver) -> None:
    clock = FakeClock()
    slow = Step(describe_table_response("T", {"pk": "S"}), "describe_table", takes_s=61.0)
    client = driver.client([slow], clock=clock)
    reads = [TableRead("T", ["A"]), TableRead("U", ["A"])]
    for concurrency in (1, 4):
        client = driver.client([slow], clock=clock)
        options = {"clock": clock, "sleep": driver.pause(clock), "concurrency": concurrency}
        results = driver.run(driver.read_tables(client, reads, **options))
        assert 1 == len(client.calls)
        assert ["U", "U"] == [standings(result.outcomes) for result in results]
        assert [Decision.RETRY, Decision.RETRY] == [result.decide() for result in results]


def test_a_client_that_resists_cancellation_is_not_waited_for() -> None:
    async def body() -> None:
        release, ended = asyncio.Event(), asyncio.Event()

        async def respond(call: Call) -> Any:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            ended.set()
            return batch_get_response(table="T")

        client = AsyncScriptedClient(respond=respond)
        result = await aio.read_batch(client, "T", ["A"], ("pk",), timeout_s=0.2)
        assert (StopReason.DEADLINE, 1) == (result.stop_reason, result.abandoned_calls)
        assert not ended.is_set()
        release.set()
        async with asyncio.timeout(NEVER_MIND_S):
            await ended.wait()

    asyncio.run(body())


def test_the_deadline_inside_a_shorter_timeout_of_the_caller() -> None:
    async def body() -> None:
        async def hang(call: Call) -> Any:
            await asyncio.sleep(3600)

        client = AsyncScriptedClient(respond=hang)
        with pytest.raises(TimeoutError) as raised:
            async with asyncio.timeout(0.2):
                await aio.read_batch(client, "T", ["A"], ("pk",), timeout_s=3600)
        assert isinstance(raised.value.__cause__, asyncio.CancelledError)
        so_far = vars(raised.value.__cause__)["result"]
        assert (StopReason.INTERRUPTED, 1) == (so_far.stop_reason, so_far.abandoned_calls)
        async with asyncio.timeout(3600):
            result = await aio.read_batch(client, "T", ["A"], ("pk",), timeout_s=0.2)
        assert StopReason.DEADLINE is result.stop_reason
        assert {asyncio.current_task()} == asyncio.all_tasks()

    asyncio.run(body())


def _run(program: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=NEVER_MIND_S
    )
    assert (0, "") == (ended.returncode, ended.stderr)
    return ended.stdout.strip()
