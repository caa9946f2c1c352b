"""The blocking driver's engine: daemon threads for the calls in flight, and none at all with ``concurrency=1``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias

from itemledger.core.answer import Answer, Failure
from itemledger.core.steps import CallT, EndT_co, Run, Ticks, WaitUntil
from itemledger.provider import call

#: A signal that comes just before a wait does not end it, so Ctrl-C would come only after the next answer.
LONGEST_WAIT_S = 0.5

Waiting: TypeAlias = Callable[[], AbstractContextManager[object]]


def drive(
    run: Run[CallT, EndT_co], calls: Calls[CallT], ticks: Ticks, sleep: Callable[[float], None]
) -> Iterator[EndT_co]:
    """Runs it to its end, yielding what each answer means. The one loop: it ends when the run does."""
    while not run.done:
        now = ticks.now()
        until = run.deadline
        for step in run.due(now):
            if isinstance(step, WaitUntil):
                until = step.at
            else:
                calls.start(step)
        if run.in_flight:
            end = calls.next_end(until - now)
            if end is None:
                ticks.passed(until)
            else:
                yield run.answered(*end, ticks.now())
        elif not run.done:
            sleep(until - now)
            ticks.passed(until)


class Calls(Generic[CallT]):
    """Calls in flight. Their threads are daemons: one that hangs past the deadline keeps nothing alive."""

    def __init__(self, client: Any, concurrency: int, waiting: Waiting = nullcontext) -> None:
        self._client = client
        self._waiting = waiting
        self._inline = concurrency == 1
        self._concurrency = concurrency
        self._threads = 0
        self._running = 0
        self._todo: SimpleQueue[CallT | None] = SimpleQueue()
        self._ends: SimpleQueue[tuple[CallT, Answer | Failure | BaseException]] = SimpleQueue()

    def start(self, step: CallT) -> None:
        if self._inline:
            with self._waiting():
                end = call(self._client, step.operation, step.request)
            self._ends.put((step, end))
            self._running += 1
            return
        self._running += 1
        if self._running > self._threads:
            self._threads += 1
            threading.Thread(target=self._work, name=f"itemledger-call-{self._threads}", daemon=True).start()
        self._todo.put(step)

    def next_end(self, timeout_s: float) -> tuple[CallT, Answer | Failure] | None:
        """The next call to end within the time, ``None`` if none does; what stopped a thread is raised here.

        A call that was cut off by an interrupt has no end, and nobody waits for it.
        """
        if not self._running:
            return None
        give_up_at = time.monotonic() + min(timeout_s, threading.TIMEOUT_MAX)
        ended = None if self._ends.empty() else self._ends.get()
        while ended is None and (left_s := give_up_at - time.monotonic()) > 0:
            with self._waiting(), suppress(Empty):
                ended = self._ends.get(timeout=min(left_s, LONGEST_WAIT_S))
        if ended is None:
            return None
        step, end = ended
        self._running -= 1
        if isinstance(end, BaseException):
            raise end
        return step, end

    def close(self) -> None:
        """Lets the threads end, each after the call it is in."""
        for _ in range(self._threads):
            self._todo.put(None)

    def _work(self) -> None:
        for step in iter(self._todo.get, None):
            try:
                self._ends.put((step, call(self._client, step.operation, step.request)))
            except BaseException as error:  # SystemExit and the like belong to the caller's thread
                self._ends.put((step, error))
