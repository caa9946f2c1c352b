"""``itemledger ledger review``: what waits for a person, and the person's decisions with who and why."""

from __future__ import annotations

from typing import Annotated

import typer

from itemledger.cli import options as o
from itemledger.cli import write_options as w
from itemledger.cli.ledger import Lines, list_rows
from itemledger.cli.problems import EXIT_CODES, CommandError
from itemledger.cli.summary import count
from itemledger.cli.voice import Voice
from itemledger.core.deciding import choice
from itemledger.core.decision import Decision
from itemledger.core.rows import Decided
from itemledger.errors import LedgerError
from itemledger.ledger import Ledger, open_ledger

DECIDING = "Deciding"


def review(
    ledger: w.LedgerUrl,
    operation: w.OperationName = None,
    row: Annotated[
        list[int] | None,
        typer.Option(rich_help_panel=DECIDING, metavar="N", help="A row to decide; can be repeated."),
    ] = None,
    decide: Annotated[
        Decided | None,
        typer.Option(
            rich_help_panel=DECIDING, help="It is done (you looked); send it again; or leave it, never to be sent."
        ),
    ] = None,
    who: Annotated[str | None, typer.Option(rich_help_panel=DECIDING, metavar="NAME", help="Who decides.")] = None,
    why: Annotated[
        str | None, typer.Option(rich_help_panel=DECIDING, metavar="TEXT", help="And for what reason.")
    ] = None,
    machine: Lines = False,
    debug: o.Debug = False,
) -> None:
    """List what waits for a person; with --row and --decide, record a decision."""
    voice = Voice()
    with voice.reporting(debug=debug):
        deciding = {"--row": row or None, "--decide": decide, "--who": who, "--why": why}
        missing = [option for option, value in deciding.items() if value is None or not str(value).strip()]
        if missing and any(value is not None for value in deciding.values()):
            raise CommandError(f"a decision is recorded with who and why; give {' and '.join(missing)} too")
        with open_ledger(ledger, create=False) as opened:
            if operation is not None:
                opened.operation(operation)
            if row and decide is not None and who is not None and why is not None:
                _decide(opened, list(dict.fromkeys(row)), decide, who, why, operation, voice)
            else:
                waiting = opened.rows(operation, in_review=True)
                list_rows(waiting, machine, voice, nothing="nothing waits for a person")


def _decide(
    ledger: Ledger, numbers: list[int], decided: Decided, who: str, why: str, operation: str | None, voice: Voice
) -> None:
    """All of them, or none where one of them is not to be decided like that."""
    for number in numbers:
        row = ledger.row(number)
        if operation is not None and row.operation_id != operation:
            raise CommandError(f"row {number} is of operation {row.operation_id}; nothing was decided")
        try:
            choice(row, decided)
        except LedgerError as error:
            raise CommandError(f"{error}; nothing was decided") from None
    for done, number in enumerate(numbers):
        try:
            after = ledger.decide(number, decided, who=who, why=why)
        except LedgerError as error:  # it has moved in this moment
            raise CommandError(
                f"{error}; {count(done, 'row')} before it decided", exit_code=EXIT_CODES[Decision.HOLD]
            ) from None
        voice.say(f"row {number} is {after.outcome} now, by {who}")
    if decided is Decided.RETRY:
        voice.say("`itemledger work` sends what is to be sent again")
