"""``itemledger lab``: known answers for anyone to check an installation against, and a control that must fail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from itemledger import known_answer
from itemledger.cli.lab_run import CaseReport, ControlReport, lab_client, run_case, run_control
from itemledger.environment import environment
from itemledger.known_answer import Expected

LABEL = "Evidence: synthetic. botocore's Stubber answers in the service's place, and nothing leaves this machine."


def command(
    control: Annotated[
        bool, typer.Option("--control", help="Run the one-call reader instead, which must get it wrong.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the table.")] = False,
) -> None:
    """Check this installation against known answers; needs no network and no AWS account.

    Exits with 0 only if every case gave exactly the known answer, else with 1. With --control it exits with 0 only
    if the one-call reader failed in exactly the known way.
    """
    client = lab_client()
    if control:
        report = run_control(client)
        typer.echo(json.dumps(_control_json(report)) if as_json else _control_text(report))
        raise typer.Exit(0 if report.failed_as_it_must else 1)
    reports = [run_case(client, case) for case in known_answer.CASES]
    if as_json:
        typer.echo(json.dumps(_lab_json(client, reports)))
    else:
        _print(reports)
    raise typer.Exit(0 if all(report.as_expected for report in reports) else 1)


def _print(reports: Sequence[CaseReport]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160  # in a pipe: wide enough that no sentence is broken beyond recognition
    table = Table(title=f"Known-answer lab, table {known_answer.TABLE}", caption=LABEL, show_lines=True)
    for column in ("case", "expected", "got"):
        table.add_column(column, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for report in reports:
        wrong = {name: value for name, value in report.got.items() if value != report.case.expected.get(name)}
        table.add_row(
            f"[bold]{escape(report.case.name)}[/]\n{escape(report.case.claim)}",
            escape(_lines(report.case.expected)),
            "the same" if report.as_expected else escape(_lines(report.got)),
            "as expected" if report.as_expected else f"[bold red]WRONG[/]\n{escape(', '.join(wrong))}",
        )
    console.print(table)
    right = sum(report.as_expected for report in reports)
    console.print(f"{right} of {len(reports)} cases as expected")


def _lines(told: Expected) -> str:
    """The part of a case's end that a reader wants to see first; --json has all of it."""
    lines = [f"raises {told['raised']}"] if told["raised"] else []
    lines += [", ".join(told["outcomes"])] if told["outcomes"] else ["nothing was sent"]
    if told["stopped_by"]:
        error = f" ({told['terminal_error']})" if told["terminal_error"] else ""
        lines.append(f"stopped by {told['stopped_by']} after {len(told['ledger'])} calls{error}")
    lines += [f"{policy}: {decision}" for policy, decision in told["decisions"].items()]
    return "\n".join(lines)


def _lab_json(client: Any, reports: list[CaseReport]) -> Mapping[str, Any]:
    return {
        "lab": known_answer.REVISION,
        "evidence_label": "synthetic",
        "as_expected": all(report.as_expected for report in reports),
        "cases": [report.to_json() for report in reports],
        "environment": environment(client, policy="as each case says", fixture_revision=known_answer.REVISION),
    }


def _control_json(report: ControlReport) -> Mapping[str, Any]:
    return {
        "control": "one-call reader",
        "evidence_label": "synthetic",
        "truly_missing": known_answer.TRULY_MISSING,
        "reported_missing": report.missing,
        "failed_as_it_must": report.failed_as_it_must,
    }


def _control_text(report: ControlReport) -> str:
    said = ", ".join(report.missing) or "nothing"
    truth = ", ".join(known_answer.TRULY_MISSING)
    text = f"The one-call reader would have reported as missing: {said}. Truly missing: {truth}.\n"
    if report.failed_as_it_must:
        text += "It failed as it must: B and D were left over by a 200, and hold 20 and 40.\n"
    else:
        text += "It did not fail in the known way, so this lab can no longer tell a right reader from a wrong one.\n"
    return text + LABEL
