"""One read carried out: from a plan to its files, its summary and its exit code, whatever ends it."""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from itemledger.cli.client import place_of
from itemledger.cli.output import Outputs
from itemledger.cli.policy import Acceptance
from itemledger.cli.problems import EXIT_CODES, OTHER, CommandError
from itemledger.cli.progress import ProgressBar, clock
from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.summary import Ending, count, why_it_stopped
from itemledger.cli.target import OutputError
from itemledger.cli.voice import Voice
from itemledger.core.decision import Decision
from itemledger.core.result import Disposition, KeyOutcome, ReadResult
from itemledger.core.steps import Opened, Progress
from itemledger.environment import environment
from itemledger.errors import LedgerInvariantError
from itemledger.opening import Plan
from itemledger.sync import stream

Steps = Iterator[Opened | Progress | KeyOutcome | ReadResult]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be read, by what, and what becomes of it."""

    client: Any
    plan: Plan
    acceptance: Acceptance
    outputs: Outputs
    account: str | None = None
    data_revision: str | None = None


def carry_out(job: Job, voice: Voice, signals: Signals) -> Ending:
    """Runs the read to whatever end it finds; ManifestError or CommandError only while nothing has been asked."""
    signals.shield()
    steps = stream(job.client, job.plan, sleep=signals.sleep, waiting=signals.waiting)
    with voice.busy("writing the manifest down"):
        opened = next(steps)
        assert isinstance(opened, Opened)
        _open(job, opened)
    place = place_of(job.client)
    bounds = opened.bounds
    voice.say(
        f"reading {count(len(opened.keys), 'key')} of {opened.settings.table_name} at {place}: deadline "
        f"{clock(bounds.timeout_s)}, at most {count(bounds.max_passes, 'pass')} per key, "
        f"{count(bounds.concurrency, 'call')} at a time",
        style="dim",
    )
    with ProgressBar(
        voice.console, shown=voice.shows_progress, keys=len(opened.keys), deadline_s=bounds.timeout_s
    ) as bar:
        result, error = _follow(steps, job.outputs, bar)
    if isinstance(error, StoppedError):
        voice.say(
            f"stopped by {error.signal_name}: keeping what is settled; a second one leaves at once", style="yellow"
        )
    with voice.busy("finishing the files"):
        return _end(job, result, error, place, bar.elapsed_s)


def _open(job: Job, opened: Opened) -> None:
    try:
        job.acceptance.check(opened, job.plan.hold)
        told = environment(job.client, policy=job.acceptance.word, account=job.account, data_revision=job.data_revision)
        job.outputs.open(opened, told, job.acceptance.word)
    except BaseException:
        job.outputs.drop()
        raise


def _follow(steps: Steps, outputs: Outputs, bar: ProgressBar) -> tuple[ReadResult, BaseException | None]:
    """The result, and what ended the read if it did not end by itself."""
    try:
        for step in steps:
            if isinstance(step, Progress):
                outputs.take(step)
                bar.take(step)
            elif isinstance(step, ReadResult):
                return step, None
    except BaseException as error:
        return _result_at(steps, error), error
    raise AssertionError("a stream ends with its result")


def _result_at(steps: Steps, error: BaseException) -> ReadResult:
    """Where every key stood: what the stream raised carries it, what our side raised is told to the stream."""
    if not hasattr(error, "result"):
        assert isinstance(steps, Generator)
        try:
            steps.throw(error)
        except BaseException as same:
            if same is not error:
                raise
    result: ReadResult = error.result  # type: ignore[attr-defined]
    return result


def _end(job: Job, result: ReadResult, error: BaseException | None, place: str, duration_s: float) -> Ending:
    delivered = job.outputs.delivered(result)
    proven = result.decide(job.acceptance.policy)
    decision = delivered.decide(job.acceptance.policy)
    exit_code, problem = _judged(error, delivered, decision, place)
    reader_left = isinstance(error, OutputError) and error.errno == errno.EPIPE and not job.outputs.hold.is_named
    files = job.outputs.finish(result, proven, error, wants_hold=not reader_left)
    if files.failures and (delivered.complete or (error is None and files.hold is None)):
        exit_code = OTHER
    meta = job.client.meta
    return Ending(
        delivered,
        decision,
        exit_code,
        problem,
        files,
        duration_s,
        place,
        meta.region_name,
        meta.endpoint_url,
        reader_left,
        isinstance(error, OutputError),
    )


def _judged(
    error: BaseException | None, delivered: ReadResult, decision: Decision, place: str
) -> tuple[int, str | None]:
    """The exit code, and the sentence about what went wrong."""
    settled = len(delivered.dispositions) - delivered.dispositions.count(Disposition.UNRESOLVED)
    so_far = f"{settled:,} of {len(delivered.dispositions):,} keys are settled"
    match error:
        case None:
            return EXIT_CODES[decision], why_it_stopped(delivered, place)
        case StoppedError():
            return error.exit_code, f"stopped by {error.signal_name}; {so_far}"
        case LedgerInvariantError():
            return EXIT_CODES[decision], f"impossible evidence: {CommandError(str(error))}"
        case OutputError(errno=errno.EPIPE):
            return OTHER, f"the reader of {error.where} has gone, so the read was stopped; {so_far}"
        case OutputError():
            return EXIT_CODES[Decision.HOLD], f"{error}; the read was stopped, {so_far}"
        case _:
            return OTHER, f"unexpected {type(error).__name__}: {error} (this is a fault of itemledger); {so_far}"
