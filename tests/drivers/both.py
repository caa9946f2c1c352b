"""Both drivers behind one face: a test body is a coroutine; one runs it in the calling thread, the other in a loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import itemledger as il
from itemledger import aio, sync
from itemledger.core.result import KeyOutcome
from itemledger.core.steps import Opened, Progress
from itemledger.ledger import Ledger
from itemledger.opening import plan
from itemledger.testing import AsyncScriptedClient, Call, FakeClock, ScriptedClient

T = TypeVar("T")
GIVE_UP_S = 30.0  # nobody waits so long unless the test fails

Responder = Callable[[Call], Awaitable[Any]]


class Gate(Protocol):
    """An event, or a barrier that opens when enough are waiting."""

    async def wait(self) -> Any: ...


class Blocking:
    """The blocking driver; whatever is awaited here blocks the thread that it is awaited in."""

    is_async = False

    def __str__(self) -> str:
        return "sync"

    def run(self, body: Coroutine[Any, Any, T]) -> T:
        try:
            body.send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        raise AssertionError("the body awaited something that does not block")

    def client(
        self, steps: Iterable[Any] | None = None, *, respond: Responder | None = None, clock: FakeClock | None = None
    ) -> Any:
        if respond is None:
            return ScriptedClient(steps, clock=clock)
        return ScriptedClient(respond=lambda call: self.run(_awaited(respond(call))), clock=clock)

    def pause(self, clock: FakeClock) -> Any:
        return clock.sleep

    def barrier(self, parties: int) -> Gate:
        return _BlockingGate(threading.Barrier(parties, timeout=GIVE_UP_S).wait)

    def event(self) -> tuple[Gate, Callable[[], None]]:
        event = threading.Event()
        return _BlockingGate(lambda: event.wait(GIVE_UP_S)), event.set

    async def read_batch(self, client: Any, *arguments: Any, **options: Any) -> il.ReadResult:
        return sync.read_batch(client, *arguments, **options)

    async def read_tables(self, client: Any, *arguments: Any, **options: Any) -> tuple[il.ReadResult, ...]:
        return sync.read_tables(client, *arguments, **options)

    async def resume(self, client: Any, hold: Any, **options: Any) -> il.ReadResult:
        return sync.resume(client, hold, **options)

    async def work(self, client: Any, ledger: Ledger, operation_id: str, **options: Any) -> il.WorkResult:
        return sync.work(client, ledger, operation_id, **options)

    async def iter_read(
        self, client: Any, *arguments: Any, **options: Any
    ) -> AsyncGenerator[KeyOutcome | il.ReadResult, None]:
        steps = sync.iter_read(client, *arguments, **options)
        try:
            for step in steps:
                yield step
        finally:
            steps.close()  # type: ignore[attr-defined]

    async def stream(
        self, client: Any, reads: list[il.TableRead], *, sleep: Any, **options: Any
    ) -> AsyncIterator[Opened | Progress | KeyOutcome | il.ReadResult]:
        for step in sync.stream(client, plan(reads, options, keep=False), sleep=sleep):  # type: ignore[arg-type]
            yield step


class Asynchronous:
    """The asyncio driver."""

    is_async = True

    def __str__(self) -> str:
        return "aio"

    def run(self, body: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(body)

    def client(
        self, steps: Iterable[Any] | None = None, *, respond: Responder | None = None, clock: FakeClock | None = None
    ) -> Any:
        return AsyncScriptedClient(steps, respond=respond, clock=clock)

    def pause(self, clock: FakeClock) -> Any:
        return clock.asleep

    def barrier(self, parties: int) -> Gate:
        return _WithinReason(asyncio.Barrier(parties).wait)

    def event(self) -> tuple[Gate, Callable[[], None]]:
        event = asyncio.Event()
        return _WithinReason(event.wait), event.set

    read_batch = staticmethod(aio.read_batch)
    read_tables = staticmethod(aio.read_tables)
    resume = staticmethod(aio.resume)
    iter_read = staticmethod(aio.iter_read)
    work = staticmethod(aio.work)

    async def stream(
        self, client: Any, reads: list[il.TableRead], *, sleep: Any, **options: Any
    ) -> AsyncIterator[Opened | Progress | KeyOutcome | il.ReadResult]:
        async for step in aio.stream(client, plan(reads, options, keep=False), sleep=sleep):  # type: ignore[arg-type]
            yield step


Driver = Blocking | Asynchronous
DRIVERS: list[Driver] = [Blocking(), Asynchronous()]


class _BlockingGate:
    def __init__(self, wait: Callable[[], Any]) -> None:
        self._wait = wait

    async def wait(self) -> Any:
        assert self._wait() is not False, "nobody opened the gate"


class _WithinReason:
    def __init__(self, wait: Callable[[], Awaitable[Any]]) -> None:
        self._wait = wait

    async def wait(self) -> Any:
        async with asyncio.timeout(GIVE_UP_S):
            await self._wait()


async def _awaited(answer: Awaitable[T]) -> T:
    return await answer


@contextmanager
def every_thread_ends() -> Iterator[None]:
    """Around a test: the threads it started end by themselves, as soon as their last call has."""
    before = set(threading.enumerate())
    yield
    started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(GIVE_UP_S)
    assert [] == [thread.name for thread in started if thread.is_alive()]
