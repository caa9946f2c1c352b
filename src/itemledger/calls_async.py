"""The asyncio driver's engine: a task for each call in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeAlias

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.steps import CallT, EndT_co, Run, Ticks, WaitUntil
from itemledger.provider import call_async


async def advance(
    run: Run[CallT, EndT_co], calls: Calls[CallT], ticks: Ticks, sleep: Callable[[float], Awaitable[None]]
) -> EndT_co | None:
    """Runs it to its next answer, or to its end: ``None``. The one loop: it ends when the run does."""
    while not run.done:
        now = ticks.now()
        until = run.deadline
        for step in run.due(now):
            if isinstance(step, WaitUntil):
                until = step.at
            else:
                calls.start(step)
                await asyncio.sleep(0)  # a task begins only now, and what comes next may take long
        if run.in_flight:
            end = await calls.next_end(until - now)
            if end is not None:
                return run.answered(*end, ticks.now())
            ticks.passed(until)
        elif not run.done:
            await sleep(until - now)
            ticks.passed(until)
    return None


class Calls(Generic[CallT]):
    """Calls in flight, a task each; their ends queue up in the order in which they come."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._steps: dict[_Task, CallT] = {}
        self._ended: asyncio.Queue[_Task] = asyncio.Queue()

    def start(self, step: CallT) -> None:
        task = asyncio.create_task(_end_of(self._client, step), name=f"itemledger-call-{step.number}")
        self._steps[task] = step
        task.add_done_callback(self._ended.put_nowait)

    async def next_end(self, timeout_s: float) -> tuple[CallT, Answer | Failure] | None:
        """The next call to end within the time, ``None`` if none does; what stopped a task is raised here."""
        try:
            async with asyncio.timeout(max(0.0, timeout_s)):
                task = await self._ended.get()
        except TimeoutError:
            return None
        step = self._steps.pop(task)
        if task.cancelled():  # not by close(), after which nobody asks, and the caller's own task goes on
            return step, Failure(FailureCause.UNKNOWN, "CancelledError", "the call was cancelled from elsewhere")
        end = task.result()
        if isinstance(end, BaseException):
            raise end
        return step, end

    async def close(self) -> None:
        """Cancels what is in flight and gives it one turn of the loop to end; what resists is not waited for."""
        for task in self._steps:
            task.cancel()
        if self._steps:
            await asyncio.sleep(0)


async def _end_of(client: Any, step: CallT) -> Answer | Failure | BaseException:
    try:
        return await call_async(client, step.operation, step.request)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # raised in a task, KeyboardInterrupt and the like would stop the loop, not the read
        return error


_Task: TypeAlias = asyncio.Task[Answer | Failure | BaseException]
