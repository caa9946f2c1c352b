"""Reads and work with an asyncio client: as coroutines that return a result, or as a stream of their steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Unpack

from itemledger.calls_async import Calls, advance
from itemledger.core.answer import Answer, Failure
from itemledger.core.hold import HoldRecord
from itemledger.core.manifest import KeyNames, ProjectionPaths, TableRead
from itemledger.core.passes import PassEvidence
from itemledger.core.read import Read
from itemledger.core.result import KeyOutcome, ReadResult, StopReason
from itemledger.core.steps import Call, Opened, Progress, Ticks
from itemledger.crew.crew import WorkerCall
from itemledger.crew.opening import WorkOptions, open_work
from itemledger.crew.result import WorkResult, WorkStop
from itemledger.opening import (
    Plan,
    ReadOptions,
    begin,
    late_description,
    plan,
    plan_resumption,
    tables_to_describe,
    wants_fresh_credentials,
)
from itemledger.provider import observe

if TYPE_CHECKING:
    from itemledger.ledger.ledger import Ledger


class AsyncOptions(ReadOptions, total=False):
    """``await sleep(seconds)`` waits between passes; it can be replaced in tests."""

    sleep: Callable[[float], Awaitable[None]]


async def read_batch(
    client: Any,
    table_name: str,
    keys: Iterable[object],
    key: KeyNames | None = None,
    *,
    projection: ProjectionPaths | None = None,
    consistent_read: bool = False,
    **options: Unpack[AsyncOptions],
) -> ReadResult:
    """As ``itemledger.read_batch``, with a ``dynamodb`` client of aiobotocore.

    A call still in flight at the deadline is cancelled and counted; a client that resists the cancellation is not
    waited for.
    """
    reads = [TableRead(table_name, keys, key, projection, consistent_read)]
    (result,) = await read_tables(client, reads, **options)
    return result


async def read_tables(
    client: Any, reads: Sequence[TableRead], **options: Unpack[AsyncOptions]
) -> tuple[ReadResult, ...]:
    """As ``itemledger.read_tables``."""
    run, sleep = _split(options)
    return await _results(client, plan(reads, run), sleep)


async def resume(client: Any, hold: HoldRecord | Mapping[str, Any], **options: Unpack[AsyncOptions]) -> ReadResult:
    """As ``itemledger.resume``."""
    record = hold if isinstance(hold, HoldRecord) else HoldRecord.from_json(hold)
    run, sleep = _split(options)
    (result,) = await _results(client, plan_resumption(record, run), sleep)
    return result


async def iter_read(
    client: Any,
    table_name: str,
    keys: Iterable[object],
    key: KeyNames | None = None,
    *,
    projection: ProjectionPaths | None = None,
    consistent_read: bool = False,
    on_evidence: Callable[[PassEvidence], object] | None = None,
    **options: Unpack[AsyncOptions],
) -> AsyncGenerator[KeyOutcome | ReadResult, None]:
    """As ``itemledger.iter_read``; wrapped in ``contextlib.aclosing`` it ends what is in flight when left early."""
    run, sleep = _split(options)
    reads = [TableRead(table_name, keys, key, projection, consistent_read)]
    async with aclosing(stream(client, plan(reads, run, keep=False), sleep=sleep)) as steps:
        async for step in steps:
            if isinstance(step, Progress):
                if on_evidence is not None:
                    for entry in step.evidence:
                        on_evidence(entry)
                for outcome in step.settled:
                    yield outcome
            elif not isinstance(step, Opened):
                yield step


async def stream(
    client: Any, plan: Plan, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[Opened | Progress | KeyOutcome | ReadResult, None]:
    """A read call by call: Opened before the first one, Progress with the evidence of each, then the outcomes left
    unresolved, then the summary.
    """
    async with _Session(client, plan, sleep) as session:
        yield session.read.opened()
        while (progress := await session.advance()) is not None:
            yield progress
        for outcome in session.read.unsettled():
            yield outcome
        yield session.read.results()[0]


async def _results(client: Any, plan: Plan, sleep: Callable[[float], Awaitable[None]]) -> tuple[ReadResult, ...]:
    async with _Session(client, plan, sleep) as session:
        while await session.advance() is not None:
            pass
        return session.read.results()


class AsyncWorkOptions(WorkOptions, total=False):
    """``await sleep(seconds)`` waits while nothing is due; it can be replaced in tests."""

    sleep: Callable[[float], Awaitable[None]]


async def work(client: Any, ledger: Ledger, operation_id: str, **options: Unpack[AsyncWorkOptions]) -> WorkResult:
    """As ``itemledger.work``, with a client of aiobotocore; ``look_up`` may be a coroutine function.

    The ledger's own verbs run in the event loop. In a SQLite file that is 5 ms at a time, and 50 ms while three other
    workers share it (99 of 100, measured with 25 items a call); but a connection that keeps the file locked stops the
    loop for as long, up to the store's ``busy_timeout_s`` of 30 seconds. Where other tasks must not wait so long, open
    it with a shorter one, ``Ledger(SqliteStore(path, busy_timeout_s=0.5))``: the run then ends with a LedgerError, and
    goes on when it is called again. Or run ``itemledger.work`` in a thread.

    After a cancellation what is in flight is cancelled too, and its rows go to reconcile when the lease has run out.
    """
    rest = options.copy()
    sleep = rest.pop("sleep", asyncio.sleep)
    opened = open_work(client, ledger.store, operation_id, rest, asynchronous=True)
    crew, ticks = opened.crew, Ticks(opened.clock)
    calls: Calls[WorkerCall] = Calls(opened.client)
    with opened.payloads:
        try:
            while await advance(crew, calls, ticks, sleep) is not None:
                pass
        except BaseException as error:
            crew.stop(WorkStop.INTERRUPTED)
            crew.carry(error)
            raise
        finally:
            await calls.close()
    crew.raise_fault()
    return crew.result()


class _Session:
    """One read from its opening to its end; whatever ends it early carries the result so far."""

    read: Read

    def __init__(self, client: Any, plan: Plan, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._client = client
        self._plan = plan
        self._ticks = Ticks(plan.clock)
        self._sleep = sleep
        self._calls: Calls[Call] = Calls(client)

    async def __aenter__(self) -> _Session:
        started_at = self._ticks.now()
        answers: dict[str, Answer | Failure] = {}
        try:
            observe(self._client)
            await self._describe(answers, started_at + self._plan.bounds.timeout_s)
        except BaseException as error:
            with suppress(Exception):  # the interrupt goes first; without a manifest it has no result to carry
                self.read = begin(self._plan, answers, started_at)
                self._carry(error)
            raise
        self.read = begin(self._plan, answers, started_at)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            self._carry(error)
        try:
            await self._calls.close()
        except asyncio.CancelledError as late:
            self._carry(late)
            raise

    async def advance(self) -> Progress | None:
        """Runs the read to its next answer, or to its end: ``None``."""
        return await advance(self.read, self._calls, self._ticks, self._sleep)

    async def _describe(self, answers: dict[str, Answer | Failure], deadline: float) -> None:
        try:
            for describe in tables_to_describe(self._plan):
                end = await self._ask(describe, deadline)
                if wants_fresh_credentials(end):
                    end = await self._ask(describe, deadline)
                answers[describe.request["TableName"]] = end
        finally:
            await self._calls.close()

    async def _ask(self, describe: Call, deadline: float) -> Answer | Failure:
        end = None
        if (now := self._ticks.now()) < deadline:
            self._calls.start(describe)
            end = await self._calls.next_end(deadline - now)
            if end is None:
                self._ticks.passed(deadline)
        return late_description() if end is None else end[1]

    def _carry(self, error: BaseException) -> None:
        self.read.stop(StopReason.INTERRUPTED)
        results = self.read.results()
        rides_along: Any = error  # R8: whatever interrupts a read is raised as it came, with .result on it
        rides_along.result = results[0] if len(results) == 1 else results


def _split(options: AsyncOptions) -> tuple[ReadOptions, Callable[[float], Awaitable[None]]]:
    rest = options.copy()
    sleep = rest.pop("sleep", asyncio.sleep)
    return rest, sleep
