"""Plan, then work, in one line that can be run again: what is there already is not planned twice, nor sent again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rich.status import Status

from itemledger.cli.client import place_of
from itemledger.cli.items_input import ItemFile, name_of
from itemledger.cli.problems import CommandError
from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.summary import count
from itemledger.cli.voice import Voice
from itemledger.cli.work_run import Job, carry_out
from itemledger.cli.work_summary import Conflicts, Ending, ending_of
from itemledger.cli.write_options import RunPolicy
from itemledger.core.write_api import WriteApi
from itemledger.errors import ManifestError
from itemledger.ledger import Ledger, PlanResult, open_ledger
from itemledger.ledger.opening import ledger_file

#: Conflicts that are named one by one; after that only their number is.
TOLD = 20
LEFT_BEHIND = "what was in flight is unknown until its lease ends; the same line goes on"


@dataclass(frozen=True, slots=True)
class Writing:
    """What is to be written, whereto, and how the ledger remembers it."""

    api: WriteApi
    client: Any
    items: str
    operation_id: str
    ledger_url: str
    store_payloads: bool
    policy: RunPolicy
    concurrency: int
    timeout_s: float | None
    moved: bool


def operation_name(given: str | None, beginning: str, items: str, *, store_payloads: bool) -> str:
    """The operation's name: the one given, or what is written to and the file's name. Stdin has none of its own."""
    file_name = name_of(items)
    missing = [
        option
        for option, there in (("--operation", given is not None), ("--store-payloads", store_payloads))
        if not there
    ]
    if file_name is None and missing:
        raise CommandError(
            f"items from stdin or a pipe cannot be read again, so {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} needed: a name that the next run finds, and the items kept in the "
            "ledger"
        )
    name = given if given is not None else f"{beginning}/{file_name}"
    if not name.strip():
        raise CommandError("--operation is empty; give the operation a name")
    return name


def carry_through(writing: Writing, voice: Voice, signals: Signals) -> Ending:
    """Checks all items, plans them, works on them. CommandError while nothing has been changed or sent."""
    if ledger_file(writing.ledger_url) is None:  # an URL that is none is said now, not after a long file
        raise CommandError("a ledger in memory ends with the command; give a file, such as sqlite:///orders.db")
    with ItemFile(writing.items, store_payloads=writing.store_payloads) as items:
        try:
            items_there = _checked(items, writing, voice)
        except StoppedError as stopped:
            raise _stopped(stopped, "the items were checked; nothing was planned or sent") from None
        with open_ledger(writing.ledger_url) as ledger:
            signals.shield()
            planned = _planned(ledger, items, items_there, writing, voice, signals)
            conflicts = _told_conflicts(items, planned, voice)
            if (changes := writing.policy.changes) is not None:
                voice.say(f"the policy of {writing.operation_id} is another from here on: {changes}", style="yellow")
            operation = ledger.operation(writing.operation_id)
            place = place_for(writing.client, writing.api)
            job = Job(
                ledger,
                operation,
                writing.api,
                writing.client,
                place,
                writing.concurrency,
                writing.timeout_s,
                writing.moved,
            )
            worked = carry_out(job, voice, signals)
            same_line = shlex.join(["itemledger", *sys.argv[1:]])
            return ending_of(job, writing.ledger_url, worked, same_line, planned, conflicts)


def place_for(client: Any, api: WriteApi) -> str:
    """Where the calls go, for people; an HTTP target's own address, without its query."""
    return place_of(client) if hasattr(client, "meta") else str(api.target["url"]).partition("?")[0]


def _checked(items: ItemFile, writing: Writing, voice: Voice) -> int:
    with voice.busy(f"checking {items.name}") as status:
        number = items.check(
            writing.operation_id, writing.api, _updating(status, lambda n: f"checking {items.name}: {n:,} items")
        )
    voice.say(f"checked {items.name}: {count(number, 'item')}; planning them in {writing.ledger_url}", style="dim")
    return number


def _planned(
    ledger: Ledger, items: ItemFile, items_there: int, writing: Writing, voice: Voice, signals: Signals
) -> PlanResult:
    with voice.busy("planning") as status:
        show = _updating(status, lambda n: f"planning: {n:,} of {items_there:,} items")

        def on_chunk(result: PlanResult) -> None:
            show(result.total)
            if signals.received is not None:
                raise _stopped(
                    StoppedError(signals.received),
                    f"all items were planned ({result.total:,} of {items_there:,} are); nothing was sent, and the same "
                    "line goes on",
                )

        try:
            return ledger.plan_sourced(
                writing.operation_id, writing.api, items.sourced(), policy=writing.policy.policy, on_chunk=on_chunk
            )
        except (ManifestError, CommandError) as error:
            if isinstance(error, CommandError) and signals.received is not None:
                raise
            told = items.fault(error) if isinstance(error, ManifestError) else error
            raise CommandError(f"{told} (it was changed since it was checked; nothing was sent)") from None


def _told_conflicts(items: ItemFile, planned: PlanResult, voice: Voice) -> Conflicts:
    named = []
    for conflict in islice(planned.conflicts, TOLD):
        line = items.line_of(conflict.position)
        named.append({"line": line, "row": conflict.row, "operation": conflict.operation_id})
        voice.say(
            f"itemledger: {items.name} line {line}: its key or item id is that of row {conflict.row} (operation "
            f"{conflict.operation_id}) with another payload; it is not sent",
            style="red",
        )
    if len(planned.conflicts) > TOLD:
        voice.say(f"itemledger: {len(planned.conflicts) - TOLD:,} more items are refused like that", style="red")
    return Conflicts(len(planned.conflicts), tuple(named))


def _updating(status: object, text: Callable[[int], str]) -> Callable[[int], None]:
    def update(number: int) -> None:
        if isinstance(status, Status):
            status.update(text(number))

    return update


def _stopped(stopped: StoppedError, before: str) -> CommandError:
    return CommandError(f"stopped by {stopped.signal_name} before {before}", exit_code=stopped.exit_code)
