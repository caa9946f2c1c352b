"""``itemledger ledger export|import|prune``: completion reports out of a ledger and back, and what may be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from itemledger.cli import options as o
from itemledger.cli import write_options as w
from itemledger.cli.problems import EXIT_CODES, CommandError
from itemledger.cli.summary import count
from itemledger.cli.target import OutputError, Target
from itemledger.cli.voice import Voice
from itemledger.cli.work_summary import sum_of
from itemledger.core.decision import Decision
from itemledger.errors import EvidenceError, LedgerError
from itemledger.ledger import Report, open_ledger, verify_report

LINES_PER_WRITE = 1000
#: What prune leaves, in the order of what is to be done about it, and whether that was a refusal.
_KEPT = {
    "review": ("wait for a person: itemledger ledger review", True),
    "window": ("are within the provider's window, in which a repeated send is recognised", True),
    "business": ("are younger than the run's policy keeps them (--keep)", True),
    "open": ("have no end yet", False),
}

OneOperation = Annotated[
    str, typer.Option("--operation", rich_help_panel=w.LEDGER, metavar="NAME", help="The operation of the ledger.")
]


def export(
    ledger: w.LedgerUrl,
    operation: OneOperation,
    out: Annotated[Path, typer.Option("--out", "-o", rich_help_panel=o.FILES, help="The completion report.")],
    force: o.Force = False,
    debug: o.Debug = False,
) -> None:
    """Write the completion report: every item's end as hash-chained JSON Lines, proven while it is written."""
    voice = Voice()
    with voice.reporting(debug=debug):
        with open_ledger(ledger, create=False) as opened:
            opened.operation(operation)
            try:
                target = Target(out, force=force, private=True)
                target.open()
            except (FileExistsError, OutputError) as error:
                raise CommandError(str(error)) from None
            try:
                with voice.busy("writing the report"):
                    report = verify_report(_written(opened.export(operation), target))
                    target.keep()
            except BaseException:
                target.drop()
                raise
        voice.say(f"{out}: {report_sentence(report)}")
        voice.say("  it holds item ids and idempotency keys, so it is for its owner only (0600)", style="dim")


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A completion report.")],
    ledger: w.LedgerUrl,
    debug: o.Debug = False,
) -> None:
    """Put a completion report's rows into a ledger that does not know the operation."""
    voice = Voice()
    with voice.reporting(debug=debug):
        try:
            with file.open("rb") as lines:
                report = verify_report(lines)
                lines.seek(0)
                with open_ledger(ledger) as opened, voice.busy("putting the rows in"):
                    number = opened.restore(lines)
        except OSError as error:
            raise CommandError(f"cannot read {file}: {error.strerror or error}") from None
        except EvidenceError as error:
            raise EvidenceError(f"{file}: {error}", line=error.line) from None
        name = report.operation.operation_id
        voice.say(f"{ledger}: {count(number, 'row')} of {name} put in: {sum_of(report.outcomes)}")
        voice.say("  payloads are in no report: run the line that planned these items again, on this ledger")


def prune(
    ledger: w.LedgerUrl,
    operation: OneOperation,
    older_than: Annotated[
        str, typer.Option(rich_help_panel=w.LEDGER, metavar="90d", help="How long ago an item must have ended.")
    ],
    debug: o.Debug = False,
) -> None:
    """Delete finished rows that nothing needs any more. Exits with 4 when something so old had to be kept."""
    voice = Voice()
    refused = False
    with voice.reporting(debug=debug):
        older_than_s = w.duration_s("--older-than", older_than)
        with open_ledger(ledger, create=False) as opened:
            pruned = opened.prune(operation, older_than_s=older_than_s)
        voice.say(f"{operation}: {count(pruned.deleted, 'row')} deleted")
        for reason, (sentence, is_refusal) in _KEPT.items():
            if number := pruned.kept.get(reason, 0):
                refused |= is_refusal
                voice.say(f"  {number:,} kept: they {sentence}", style="yellow" if is_refusal else "")
    raise typer.Exit(EXIT_CODES[Decision.HOLD] if refused else 0)


def report_sentence(report: Report) -> str:
    """What a proven report says."""
    operation = report.operation
    reviews = sum(report.reviews.values())
    told = [
        f"{count(report.planned, 'item')} of {operation.operation_id} ({operation.api}): {sum_of(report.outcomes)}",
        f"{report.not_sent:,} never sent",
        f"{reviews:,} in review",
        count(report.possible_duplicates, "possible duplicate"),
        f"sha256 {report.sha256}",
    ]
    return "; ".join(told)


def _written(lines: Iterator[bytes], target: Target) -> Iterator[bytes]:
    try:
        while chunk := list(islice(lines, LINES_PER_WRITE)):
            target.write(b"".join(chunk))
            yield from chunk
    except LedgerError as error:
        raise CommandError(f"{error}; no report was written", exit_code=EXIT_CODES[Decision.REPAIR]) from None
