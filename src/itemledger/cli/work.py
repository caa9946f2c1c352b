"""``itemledger work``: what is due in a ledger, retries and read-backs, of one operation or of all of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import typer

from itemledger.apis.registry import WRITE_APIS, write_api
from itemledger.cli import options as o
from itemledger.cli import write_options as w
from itemledger.cli.client import Access
from itemledger.cli.problems import EXIT_CODES, CommandError
from itemledger.cli.send import client_for
from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.summary import count
from itemledger.cli.voice import Voice
from itemledger.cli.work_run import Job, carry_out
from itemledger.cli.work_summary import Ending, as_json, ending_of, show
from itemledger.cli.write_run import LEFT_BEHIND, place_for
from itemledger.core.decision import Decision
from itemledger.core.outcome import FINAL
from itemledger.core.rows import Operation
from itemledger.errors import LedgerError
from itemledger.ledger import Ledger, open_ledger


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An operation that was not worked on, and whether somebody must act for that to change."""

    operation: str
    reason: str
    holds: bool


#: Of several operations the gravest end counts.
GRAVITY = (Decision.ACCEPT, Decision.REJECT, Decision.RETRY, Decision.HOLD)


def work(
    ledger: w.LedgerUrl,
    operation: w.OperationName = None,
    timeout: w.WorkTimeout = None,
    concurrency: w.Concurrency = 4,
    header_env: w.HeaderEnv = None,
    moved: w.Moved = False,
    profile: o.Profile = None,
    region: o.Region = None,
    endpoint_url: w.EndpointUrl = None,
    machine: w.SummaryJson = False,
    debug: o.Debug = False,
) -> None:
    """Go on with what was planned: send what is due, look up what is unknown. Each operation keeps its policy."""
    voice = Voice(machine=machine)
    with voice.reporting(debug=debug), Signals(left_behind=LEFT_BEHIND) as signals:
        if header_env and operation is None:
            raise CommandError("--header-env would go to every HTTP server of the ledger; name one with --operation")
        if moved and operation is None:
            raise CommandError("--moved would move every operation of the ledger; name one with --operation")
        timeout_s = w.timeout_of(timeout)
        with open_ledger(ledger, create=False) as opened:
            signals.shield()
            names = [operation] if operation is not None else None
            told: list[Ending] = []
            left_out: list[LeftOut] = []
            for each in _movable(opened, names, voice, left_out):
                job = _job(
                    opened, each, Access(profile, region, endpoint_url), header_env, concurrency, timeout_s, moved
                )
                ending = ending_of(
                    job, ledger, carry_out(job, voice, signals), shlex.join(["itemledger", *sys.argv[1:]])
                )
                _close(job)
                show(voice, ending)
                told.append(ending)
                if isinstance(ending.worked.error, StoppedError):
                    break
        exit_code = _exit_code(told, left_out)
        if not told and not left_out:
            voice.say("nothing is left that a worker could move")
        if machine:
            voice.tell(
                {
                    "operations": [as_json(ending) for ending in told],
                    "left_out": [asdict(each) for each in left_out],
                    "exit_code": exit_code,
                }
            )
    raise typer.Exit(exit_code)


def _movable(ledger: Ledger, names: list[str] | None, voice: Voice, left_out: list[LeftOut]) -> Iterator[Operation]:
    """The operations with rows that have no end yet; with a name that one, whatever is left of it."""
    for operation in ledger.operations() if names is None else map(ledger.operation, names):
        name = operation.operation_id
        open_rows = sum(number for outcome, number in ledger.counts(name).items() if outcome not in FINAL)
        reason = None
        if operation.planned_at is None:
            reason = "its planning was interrupted, so nothing of it is sent; run the line that planned it again"
        elif operation.api not in WRITE_APIS and open_rows:
            reason = f"{operation.api} is not built in; its {count(open_rows, 'item')} wait for your own worker"
        if reason is not None and names is not None:
            raise CommandError(f"{name}: {reason}")
        if reason is not None:
            left_out.append(LeftOut(name, reason, holds=operation.planned_at is None))
            voice.say(f"{name} is left out: {reason}", style="yellow")
        elif names is not None or open_rows:
            yield operation


def _job(
    ledger: Ledger,
    operation: Operation,
    access: Access,
    header_env: list[str] | None,
    concurrency: int,
    timeout_s: float | None,
    moved: bool,
) -> Job:
    try:
        api = write_api(operation.api).of(operation.target)
    except LedgerError as error:
        raise CommandError(str(error)) from None
    client = client_for(api, access, header_env, operation.policy, concurrency)
    return Job(ledger, operation, api, client, place_for(client, api), concurrency, timeout_s, moved)


def _close(job: Job) -> None:
    """Of several operations each has a client of its own."""
    job.client.close()


def _exit_code(endings: list[Ending], left_out: list[LeftOut]) -> int:
    stopped = [ending.exit_code for ending in endings if isinstance(ending.worked.error, StoppedError)]
    if stopped:
        return stopped[0]
    decisions = [ending.decision for ending in endings]
    if any(each.holds for each in left_out):
        decisions.append(Decision.HOLD)
    return max((EXIT_CODES[decision] for decision in decisions), key=[EXIT_CODES[d] for d in GRAVITY].index, default=0)
