"""The blocking driver: daemon threads for the calls in flight, and none at all with ``concurrency=1``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, Unpack, assert_never

from itemledger.core.answer import Answer, Failure
from itemledger.core.hold import HoldRecord
from itemledger.core.manifest import KeyNames, ProjectionPaths, TableRead
from itemledger.core.passes import PassEvidence
from itemledger.core.read import Read
from itemledger.core.result import KeyOutcome, ReadResult, StopReason
from itemledger.core.steps import Call, Opened, Progress, WaitUntil
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
from itemledger.provider import call, observe


class SyncOptions(ReadOptions, total=False):
    """``sleep(seconds)`` waits between passes; it can be replaced in tests."""

    sleep: Callable[[float], None]


def read_batch(
    client: Any,
    table_name: str,
    keys: Iterable[object],
    key: KeyNames | None = None,
    *,
    projection: ProjectionPaths | None = None,
    consistent_read: bool = False,
    **options: Unpack[SyncOptions],
) -> ReadResult:
    """Reads every key through BatchGetItem and says of each where it stands.

    ``client`` is a low-level ``boto3.client("dynamodb")``. Keys are str, int, Decimal or bytes, tuples for partition
    and sort key, mappings, or boto3's typed mappings; ``key`` names their attributes, and is read with DescribeTable
    when left out. Options: see ``ReadOptions``.

    Service errors end the read and come back inside the result. Raises ManifestError before any call when the request
    cannot be carried out, and LedgerInvariantError for impossible evidence. An interrupt is raised again as it came.
    Both of the latter carry ``.result``, everything settled until then.
    """
    reads = [TableRead(table_name, keys, key, projection, consistent_read)]
    (result,) = read_tables(client, reads, **options)
    return result


def read_tables(client: Any, reads: Sequence[TableRead], **options: Unpack[SyncOptions]) -> tuple[ReadResult, ...]:
    """Several tables under one deadline, their keys packed together into calls; a result per TableRead, in order."""
    run, sleep = _split(options)
    with _Session(client, plan(reads, run), sleep) as session:
        for _ in session.progress():
            pass
        return session.read.results()


def resume(client: Any, hold: HoldRecord | Mapping[str, Any], **options: Unpack[SyncOptions]) -> ReadResult:
    """A new observation of what a hold record left unresolved, traceable to the first.

    The result speaks of those keys only; ``result.earlier`` names what the chain had settled before, and ``decide``
    weighs both. Raises HoldRecordError when the record cannot be read.
    """
    record = hold if isinstance(hold, HoldRecord) else HoldRecord.from_json(hold)
    run, sleep = _split(options)
    with _Session(client, plan_resumption(record, run), sleep) as session:
        for _ in session.progress():
            pass
        return session.read.results()[0]


def iter_read(
    client: Any,
    table_name: str,
    keys: Iterable[object],
    key: KeyNames | None = None,
    *,
    projection: ProjectionPaths | None = None,
    consistent_read: bool = False,
    on_evidence: Callable[[PassEvidence], object] | None = None,
    **options: Unpack[SyncOptions],
) -> Iterator[KeyOutcome | ReadResult]:
    """As ``read_batch``, but yields each outcome as it settles, at the end the unresolved ones, then the summary
    result.

    Items are handed out and forgotten: memory holds one key per item. So is the evidence, one entry a call, to
    ``on_evidence``. The deadline goes on while the caller works.
    """
    run, sleep = _split(options)
    reads = [TableRead(table_name, keys, key, projection, consistent_read)]
    for step in stream(client, plan(reads, run, keep=False), sleep=sleep):
        if isinstance(step, Progress):
            if on_evidence is not None:
                for entry in step.evidence:
                    on_evidence(entry)
            yield from step.settled
        elif not isinstance(step, Opened):
            yield step


#: A signal that comes just before a wait does not end it, so Ctrl-C would come only after the next answer.
LONGEST_WAIT_S = 0.5

Waiting: TypeAlias = Callable[[], AbstractContextManager[object]]


def stream(
    client: Any, plan: Plan, *, sleep: Callable[[float], None] = time.sleep, waiting: Waiting = nullcontext
) -> Iterator[Opened | Progress | KeyOutcome | ReadResult]:
    """A read call by call: Opened before the first one, Progress with the evidence of each, then the outcomes left
    unresolved, then the summary.

    ``waiting()`` is entered around each wait for an answer. A signal handler that raises only in there (and in
    ``sleep``) never cuts an answer off from its evidence: what is settled has been handed out.
    """
    with _Session(client, plan, sleep, waiting) as session:
        yield session.read.opened()
        yield from session.progress()
        yield from session.read.unsettled()
        yield session.read.results()[0]


class _Session:
    """One read from its opening to its end; whatever ends it early carries the result so far."""

    read: Read

    def __init__(self, client: Any, plan: Plan, sleep: Callable[[float], None], waiting: Waiting = nullcontext) -> None:
        self._client = client
        self._plan = plan
        self._clock = plan.clock
        self._sleep = sleep
        self._calls = _Calls(client, plan.bounds.concurrency, waiting)
        self._passed = float("-inf")  # what has been waited for has passed, even on a clock that stands still

    def __enter__(self) -> _Session:
        started_at = self._clock()
        answers: dict[str, Answer | Failure] = {}
        try:
            observe(self._client)
            self._describe(answers, started_at + self._plan.bounds.timeout_s)
        except BaseException as error:
            self._calls.close()
            with suppress(Exception):  # the interrupt goes first; without a manifest it has no result to carry
                self.read = begin(self._plan, answers, started_at)
                self._carry(error)
            raise
        try:
            self.read = begin(self._plan, answers, started_at)
        except BaseException:
            self._calls.close()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._calls.close()
        if error is not None and not isinstance(error, GeneratorExit):
            self._carry(error)

    def progress(self) -> Iterator[Progress]:
        """Runs the read to its end. The only loop: it ends when the read does, and the read is bounded."""
        while not self.read.done:
            now = self._now()
            until = self.read.deadline
            for step in self.read.due(now):
                match step:
                    case Call():
                        self._calls.start(step)
                    case WaitUntil(at):
                        until = at
                    case _:
                        assert_never(step)
            if self.read.in_flight:
                end = self._calls.next_end(until - now)
                if end is None:
                    self._passed = until
                else:
                    yield self.read.answered(*end, self._now())
            elif not self.read.done:
                self._sleep(until - now)
                self._passed = until

    def _describe(self, answers: dict[str, Answer | Failure], deadline: float) -> None:
        for describe in tables_to_describe(self._plan):
            end = self._ask(describe, deadline)
            if wants_fresh_credentials(end):
                end = self._ask(describe, deadline)
            answers[describe.request["TableName"]] = end

    def _ask(self, describe: Call, deadline: float) -> Answer | Failure:
        end = None
        if (now := self._now()) < deadline:
            self._calls.start(describe)
            end = self._calls.next_end(deadline - now)
            self._passed = deadline if end is None else self._passed
        return late_description() if end is None else end[1]

    def _carry(self, error: BaseException) -> None:
        self.read.stop(StopReason.INTERRUPTED)
        results = self.read.results()
        rides_along: Any = error  # R8: whatever interrupts a read is raised as it came, with .result on it
        rides_along.result = results[0] if len(results) == 1 else results

    def _now(self) -> float:
        return max(self._clock(), self._passed)


class _Calls:
    """Calls in flight. Their threads are daemons: one that hangs past the deadline keeps nothing alive."""

    def __init__(self, client: Any, concurrency: int, waiting: Waiting) -> None:
        self._client = client
        self._waiting = waiting
        self._inline = concurrency == 1
        self._concurrency = concurrency
        self._threads = 0
        self._running = 0
        self._todo: SimpleQueue[Call | None] = SimpleQueue()
        self._ends: SimpleQueue[tuple[Call, Answer | Failure | BaseException]] = SimpleQueue()

    def start(self, step: Call) -> None:
        if self._inline:
            with self._waiting():
                end = call(self._client, step.operation, step.request)
            self._ends.put((step, end))
            return
        self._running += 1
        if self._running > self._threads:
            self._threads += 1
            threading.Thread(target=self._work, name=f"itemledger-call-{self._threads}", daemon=True).start()
        self._todo.put(step)

    def next_end(self, timeout_s: float) -> tuple[Call, Answer | Failure] | None:
        """The next call to end within the time, ``None`` if none does; what stopped a thread is raised here."""
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


def _split(options: SyncOptions) -> tuple[ReadOptions, Callable[[float], None]]:
    rest = options.copy()
    sleep = rest.pop("sleep", time.sleep)
    return rest, sleep
