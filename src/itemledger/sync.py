"""Reads and work with a blocking client: as a call that returns a result, or as a stream of its steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Unpack

from itemledger.calls import Calls, Waiting, drive
from itemledger.core.answer import Answer, Failure
from itemledger.core.hold import HoldRecord
from itemledger.core.manifest import KeyNames, ProjectionPaths, TableRead
from itemledger.core.passes import PassEvidence
from itemledger.core.read import Read
from itemledger.core.result import KeyOutcome, ReadResult, StopReason
from itemledger.core.steps import Call, Opened, Progress, Ticks
from itemledger.crew.crew import WorkerCall
from itemledger.crew.opening import WorkOptions, open_work
from itemledger.crew.result import Progress as WorkProgress
from itemledger.crew.result import WorkResult, WorkStop
from itemledger.ledger.store import Store
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


class SyncWorkOptions(WorkOptions, total=False):
    """``sleep(seconds)`` waits while nothing is due; it can be replaced in tests."""

    sleep: Callable[[float], None]


def work(client: Any, ledger: Ledger, operation_id: str, **options: Unpack[SyncWorkOptions]) -> WorkResult:
    """Sends what is due of a planned operation, looks up what is unknown, and goes on until nothing is left to move.

    ``client`` is the low-level client of the operation's service, made with ``config=client_config()``; for HTTP it is
    a ``http_sender.HttpSender``. Options: see ``WorkOptions``. What the service refuses, throttles or loses ends up in
    the ledger, not in an exception; an error that every further call would meet ends the run and stands in the result.
    An item that is no longer what was planned is set aside for a person, and the others go on.

    Raises LedgerError and ManifestError before the first call, SourceChangedError when an input cannot be read at all,
    and an interrupt again as it came, with ``.result``; whatever was in flight is recorded first, or goes to reconcile
    when its lease has run out.
    """
    rest = options.copy()
    sleep = rest.pop("sleep", time.sleep)
    steps = work_stream(client, ledger.store, operation_id, rest, sleep=sleep)
    for step in steps:
        if isinstance(step, WorkResult):
            return step
    raise AssertionError("a run of work ends with its result")


def work_stream(
    client: Any,
    store: Store,
    operation_id: str,
    options: WorkOptions,
    *,
    sleep: Callable[[float], None] = time.sleep,
    waiting: Waiting = nullcontext,
) -> Iterator[WorkProgress | WorkResult]:
    """The same call by call, at last its result. ``waiting()`` is entered around each wait, as in ``stream``."""
    opened = open_work(client, store, operation_id, options)
    crew, ticks = opened.crew, Ticks(opened.clock)
    calls: Calls[WorkerCall] = Calls(opened.client, opened.concurrency, waiting)
    with opened.payloads:
        try:
            yield from drive(crew, calls, ticks, sleep)
        except GeneratorExit:
            raise
        except BaseException as error:
            crew.stop(WorkStop.INTERRUPTED)
            try:
                for _ in drive(crew, calls, ticks, sleep):  # what is in flight is worth its answer
                    pass
            except BaseException as again:  # not to this one
                crew.carry(again)
                raise
            crew.carry(error)
            raise
        finally:
            calls.close()
    crew.raise_fault()
    yield crew.result()


class _Session:
    """One read from its opening to its end; whatever ends it early carries the result so far."""

    read: Read

    def __init__(self, client: Any, plan: Plan, sleep: Callable[[float], None], waiting: Waiting = nullcontext) -> None:
        self._client = client
        self._plan = plan
        self._ticks = Ticks(plan.clock)
        self._sleep = sleep
        self._calls: Calls[Call] = Calls(client, plan.bounds.concurrency, waiting)

    def __enter__(self) -> _Session:
        started_at = self._ticks.now()
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
        """Runs the read to its end."""
        return drive(self.read, self._calls, self._ticks, self._sleep)

    def _describe(self, answers: dict[str, Answer | Failure], deadline: float) -> None:
        for describe in tables_to_describe(self._plan):
            end = self._ask(describe, deadline)
            if wants_fresh_credentials(end):
                end = self._ask(describe, deadline)
            answers[describe.request["TableName"]] = end

    def _ask(self, describe: Call, deadline: float) -> Answer | Failure:
        end = None
        if (now := self._ticks.now()) < deadline:
            self._calls.start(describe)
            end = self._calls.next_end(deadline - now)
            if end is None:
                self._ticks.passed(deadline)
        return late_description() if end is None else end[1]

    def _carry(self, error: BaseException) -> None:
        self.read.stop(StopReason.INTERRUPTED)
        results = self.read.results()
        rides_along: Any = error  # R8: whatever interrupts a read is raised as it came, with .result on it
        rides_along.result = results[0] if len(results) == 1 else results


def _split(options: SyncOptions) -> tuple[ReadOptions, Callable[[float], None]]:
    rest = options.copy()
    sleep = rest.pop("sleep", time.sleep)
    return rest, sleep
