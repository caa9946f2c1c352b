"""``itemledger ledger list|show|stats``: what a ledger holds. Looking never makes a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Annotated, Any

import typer

from itemledger.cli import options as o
from itemledger.cli import write_options as w
from itemledger.cli.ledger_text import (
    history_lines,
    moment,
    operation_json,
    row_json,
    row_lines,
    table,
)
from itemledger.cli.problems import CommandError
from itemledger.cli.voice import Voice, write_line
from itemledger.cli.work_summary import sum_of
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Row
from itemledger.ledger import Ledger, open_ledger
from itemledger.ledger.stats import Stats, stats_of

#: Rows that a person is shown; machines get all.
SHOWN = 1000

Lines = Annotated[
    bool, typer.Option("--json", metavar="", rich_help_panel=o.OTHER, help="JSON Lines on stdout, all of them.")
]
Outcomes = Annotated[Outcome | None, typer.Option(rich_help_panel=w.LEDGER, help="Only rows that stand there.")]
InReview = Annotated[
    bool, typer.Option("--in-review", metavar="", rich_help_panel=w.LEDGER, help="Only rows that wait for a person.")
]


def list_(
    ledger: w.LedgerUrl,
    operation: w.OperationName = None,
    outcome: Outcomes = None,
    in_review: InReview = False,
    machine: Lines = False,
    debug: o.Debug = False,
) -> None:
    """List the operations; with --operation, --outcome or --in-review the rows instead."""
    voice = Voice()
    with voice.reporting(debug=debug), open_ledger(ledger, create=False) as opened:
        if operation is None and outcome is None and not in_review:
            _list_operations(opened, machine)
            return
        if operation is not None:
            opened.operation(operation)
        list_rows(opened.rows(operation, outcome=outcome, in_review=in_review), machine, voice)


def show(
    ledger: w.LedgerUrl,
    row: Annotated[int | None, typer.Argument(metavar="[ROW]", help="The row's number.")] = None,
    item: Annotated[str | None, typer.Option(rich_help_panel=w.LEDGER, metavar="ID", help="Or its item id.")] = None,
    operation: w.OperationName = None,
    machine: Annotated[
        bool, typer.Option("--json", metavar="", rich_help_panel=o.OTHER, help="One JSON object on stdout.")
    ] = False,
    debug: o.Debug = False,
) -> None:
    """Show one row with its whole history and the evidence of each call."""
    with Voice().reporting(debug=debug), open_ledger(ledger, create=False) as opened:
        found = _row(opened, row, item, operation)
        history = opened.history(found.number)
        if machine:
            told = {**row_json(found), "history": [asdict(entry) for entry in history]}
            write_line(1, json.dumps(told, separators=(",", ":")))
            return
        for line in (*row_lines(found, opened.store.now()), "", *history_lines(history)):
            write_line(1, line)


def stats(
    ledger: w.LedgerUrl,
    operation: w.OperationName = None,
    machine: Lines = False,
    debug: o.Debug = False,
) -> None:
    """Count: where the rows stand, what is due and when, who holds what, which codes came."""
    with Voice().reporting(debug=debug), open_ledger(ledger, create=False) as opened:
        operations = opened.operations() if operation is None else [opened.operation(operation)]
        for each in operations:
            seen = _Seen(opened.store.now())
            sums = stats_of(each, seen.all(opened.rows(each.operation_id)), seen.now)
            if machine:
                write_line(1, json.dumps(_stats_json(sums, seen), separators=(",", ":")))
                continue
            for line in _stats_lines(opened, sums, seen):
                write_line(1, line)


def list_rows(rows: Iterable[Row], machine: bool, voice: Voice, *, nothing: str = "no such rows") -> None:
    """Rows in columns, or as JSON Lines."""
    if machine:
        for row in rows:
            write_line(1, json.dumps(row_json(row), separators=(",", ":")))
        return
    several = iter(rows)
    head = ("row", "attempts", "outcome", "review", "code", "operation", "item")
    shown = [
        (
            str(row.number),
            str(row.attempts),
            row.outcome.value,
            row.review.value if row.review else "-",
            row.error_code or "-",
            row.operation_id,
            row.item_id,
        )
        for row in islice(several, SHOWN)
    ]
    for line in table(head, shown, right=2) if shown else [nothing]:
        write_line(1, line)
    if next(several, None) is not None:
        voice.say(f"only the first {SHOWN:,} rows are shown; --json gives all of them", style="yellow")


def _list_operations(ledger: Ledger, machine: bool) -> None:
    operations = [(each, ledger.counts(each.operation_id)) for each in ledger.operations()]
    if machine:
        for operation, counts in operations:
            told = operation_json(operation, counts, ledger.store.reviews(operation.operation_id))
            write_line(1, json.dumps(told, separators=(",", ":")))
        return
    head = ("planned", *(outcome.value for outcome in Outcome), "review", "operation", "api")
    lines = [
        (
            f"{sum(counts.values()):,}",
            *(f"{counts[outcome]:,}" for outcome in Outcome),
            f"{ledger.store.reviews(operation.operation_id):,}",
            f"{operation.operation_id}{'' if operation.planned_at is not None else ' (planning was interrupted)'}",
            operation.api,
        )
        for operation, counts in operations
    ]
    for line in table(head, lines, right=len(Outcome) + 2) if lines else ["no operations"]:
        write_line(1, line)


def _row(ledger: Ledger, number: int | None, item: str | None, operation: str | None) -> Row:
    if (number is None) == (item is None):
        raise CommandError("name one row: its number, or --item with --operation")
    if number is not None:
        return ledger.row(number)
    if operation is None or item is None:
        raise CommandError("an item id counts within its operation; give --operation too")
    ledger.operation(operation)
    found = ledger.find(operation, item)
    if found is None:
        raise CommandError(f"operation {operation} has no row with that item id")
    return found


@dataclass(slots=True)
class _Seen:
    """What is counted beside the sums while the rows go by once."""

    now: float
    next_due: float | None = None
    claims: Counter[int] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)

    def all(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            if row.epoch is not None:
                self.claims[row.epoch] += 1
            elif row.due_at is not None and row.due_at > self.now:
                self.next_due = row.due_at if self.next_due is None else min(self.next_due, row.due_at)
            if row.error_code is not None:
                self.codes[row.error_code] += 1
            yield row


def _stats_json(sums: Stats, seen: _Seen) -> dict[str, Any]:
    return {
        "operation": sums.operation.operation_id,
        "api": sums.operation.api,
        "at": seen.now,
        "planned": sums.planned,
        **{outcome.value: number for outcome, number in sums.outcomes.items()},
        "not_sent": sums.not_sent,
        "due": sums.due,
        "next_due_at": seen.next_due,
        "reviews": {review.value: number for review, number in sums.reviews.items()},
        "claims": len(seen.claims),
        "held": seen.claims.total(),
        "dispatches": sums.dispatches,
        "lost_attempts": sums.lost_attempts,
        "possible_duplicates": sums.possible_duplicates,
        "codes": dict(seen.codes.most_common()),
    }


def _stats_lines(ledger: Ledger, sums: Stats, seen: _Seen) -> list[str]:
    leases = [ledger.store.batch(epoch).lease_until for epoch in seen.claims]
    claims = f"{len(leases):,} open, {seen.claims.total():,} rows held" if leases else "none open"
    told = {
        "planned": sum_of(sums.outcomes),
        "never sent": f"{sums.not_sent:,}",
        "due now": f"{sums.due:,}",
        "next due": moment(seen.next_due) if seen.next_due is not None else "nothing later",
        "claims": f"{claims}{f', the last lease ends {moment(max(leases))}' if leases else ''}",
        "in review": ", ".join(f"{n:,} {review}" for review, n in sums.reviews.items()) or "nothing",
        "sends": f"{sums.dispatches:,} of items, {sums.lost_attempts:,} with an unknown end",
        "duplicates": f"{sums.possible_duplicates:,} possible",
        "codes": ", ".join(f"{n:,} {code}" for code, n in seen.codes.most_common()) or "none",
    }
    head = f"{sums.operation.operation_id} ({sums.operation.api}), at {moment(seen.now)}"
    return [head] + [f"  {name:<14}{text}" for name, text in told.items()]
