"""One run of work on a planned operation, whatever ends it: what is in flight is recorded, then everything is told."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from itemledger.cli.problems import CommandError
from itemledger.cli.progress import clock
from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.stopper import Stopper
from itemledger.cli.summary import count
from itemledger.cli.voice import Voice
from itemledger.cli.work_progress import WorkBar
from itemledger.core.outcome import FINAL, Outcome
from itemledger.core.rows import Operation, Review
from itemledger.core.worker_steps import Alert
from itemledger.core.write_api import WriteApi
from itemledger.crew.result import Progress, WorkResult, WorkStop
from itemledger.errors import ItemLedgerError, SourceChangedError
from itemledger.ledger import Ledger
from itemledger.sync import work_stream

#: Alerts that are told one by one; after that only their number is.
TOLD = 20
#: A run that is not told how long it may take: for retries and the lease of a worker that died, and for each call.
BASE_TIMEOUT_S, CALL_TIMEOUT_S = 300.0, 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be worked on, and with what."""

    ledger: Ledger
    operation: Operation
    api: WriteApi
    client: Any
    place: str
    """Where the calls go, for people."""
    concurrency: int
    timeout_s: float | None
    """``None`` for one that goes by the number of items."""
    moved: bool = False
    """Whether the target is where the client's calls go from now on."""


@dataclass(frozen=True, slots=True)
class Worked:
    """How it ended; ``error`` is what ended it if it did not end by itself."""

    result: WorkResult
    error: BaseException | None
    duration_s: float
    timeout_s: float


def carry_out(job: Job, voice: Voice, signals: Signals) -> Worked:
    """Works to whatever end comes. CommandError only while nothing has been sent."""
    operation_id, store = job.operation.operation_id, job.ledger.store
    open_rows = sum(number for outcome, number in store.counts(operation_id).items() if outcome not in FINAL)
    timeout_s = job.timeout_s or BASE_TIMEOUT_S + CALL_TIMEOUT_S * math.ceil(open_rows / (job.api.limits.items or 1))
    voice.say(
        f"working on {count(open_rows, 'item')} of {operation_id}: {job.api.name} at {job.place}, deadline "
        f"{clock(timeout_s)}, {count(job.concurrency, 'call')} at a time",
        style="dim",
    )
    alerts = _Alerts(voice)
    stopper = Stopper(signals, voice, inline=job.concurrency == 1)
    steps = work_stream(
        job.client,
        store,
        operation_id,
        {"concurrency": job.concurrency, "timeout_s": timeout_s, "on_alert": alerts.take, "moved": job.moved},
        sleep=stopper.sleep,
        waiting=stopper.waiting,
    )
    _tell_of_leases(job, voice)
    with WorkBar(voice.console, store, operation_id, shown=voice.shows_progress, timeout_s=timeout_s) as bar:
        result, error = _follow(job, steps, bar, stopper)
    alerts.tell_rest()
    return Worked(result, error, bar.elapsed_s, timeout_s)


def _follow(
    job: Job, steps: Iterator[Progress | WorkResult], bar: WorkBar, stopper: Stopper
) -> tuple[WorkResult, BaseException | None]:
    calls = 0
    try:
        for step in steps:
            if isinstance(step, WorkResult):
                return step, None
            calls = step.calls
            bar.take(step)
            stopper.check()
    except BaseException as error:
        if calls == 0 and isinstance(error, ItemLedgerError) and not isinstance(error, SourceChangedError):
            raise CommandError(str(error)) from error
        return _result_at(job, steps, error, calls), error
    raise AssertionError("a run of work ends with its result")


def _result_at(job: Job, steps: Iterator[Progress | WorkResult], error: BaseException, calls: int) -> WorkResult:
    """How the operation stands: what our side raised is told to the run, which records what is in flight first."""
    if isinstance(error, StoppedError) and not hasattr(error, "result"):
        assert isinstance(steps, Generator)
        try:
            steps.throw(error)
        except BaseException as same:
            if same is not error:
                raise
    if hasattr(error, "result"):
        result: WorkResult = error.result
        return result
    ledger, name = job.ledger, job.operation.operation_id
    return WorkResult(name, ledger.counts(name), ledger.store.reviews(name), WorkStop.BLOCKED, calls)


def _tell_of_leases(job: Job, voice: Voice) -> None:
    """What a worker that died, or another one, holds comes back only when its lease has run out."""
    held: dict[int, int] = {}
    for row in job.ledger.rows(job.operation.operation_id, outcome=Outcome.IN_FLIGHT):
        if row.epoch is not None:
            held[row.epoch] = held.get(row.epoch, 0) + 1
    now = job.ledger.store.now()
    left_s = max((job.ledger.store.batch(epoch).lease_until - now for epoch in held), default=0.0)
    if left_s > 0:
        items = sum(held.values())
        voice.say(
            f"{items:,} {'item waits' if items == 1 else 'items wait'} for the lease of an earlier or another worker "
            f"({math.ceil(left_s)} s)",
            style="yellow",
        )


class _Alerts:
    """A line for each of the first rows that became terminal, then a number: no item id, no payload."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._count = 0

    def take(self, alert: Alert) -> None:
        self._count += 1
        if self._count > TOLD:
            return
        if alert.reason == Review.SOURCE_CHANGED:
            self._voice.say(f"row {alert.row} is set aside: its payload is no longer what was planned", style="yellow")
            return
        told = [
            alert.reason,
            alert.code,
            f"attempt {alert.attempts}",
            alert.request_id and f"request {alert.request_id}",
        ]
        self._voice.say(f"row {alert.row} is terminal: {', '.join(part for part in told if part)}", style="yellow")

    def tell_rest(self) -> None:
        if self._count > TOLD:
            self._voice.say(f"{self._count - TOLD:,} more rows like that", style="yellow")
