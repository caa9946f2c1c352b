"""The tables of the documentation that follow from the code: ``python -m tests.docs.generated`` writes them anew."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

import itemledger as il
from itemledger.apis.aws_errors import CODES
from itemledger.core.answer import FailureCause
from itemledger.core.decision import MAX_OBSERVATIONS
from itemledger.testing import ScriptedClient, batch_get_response
from tests.docs import generated_ledger
from tests.docs.pages import ROOT

PAGES = [ROOT / "docs" / name for name in ("how-it-ends.md", "outcomes.md", "apis.md")]
COMMANDS = ROOT / "docs" / "cli.md"
Row = Sequence[str]

_STOPPED = {
    il.StopReason.COMPLETE: "every key has been settled",
    il.StopReason.PASSES_EXHAUSTED: "a key was left over on its last allowed pass (`max_passes`)",
    il.StopReason.DEADLINE: "`timeout_s` was over, or the next pause would have crossed it",
    il.StopReason.REQUEST_FAILED: "a call ended without a usable response; `terminal_error` has code and request id",
    il.StopReason.INTERRUPTED: "Ctrl-C, SIGTERM, cancellation, your own exception; `.result` rides on it",
    il.StopReason.INVARIANT_BROKEN: "evidence that cannot be true; `.result` rides on the `LedgerInvariantError`",
}
_CAUSES = {
    FailureCause.THROTTLED: "HTTP 429",
    FailureCause.TRANSIENT: "any other 5xx; timeouts and lost connections",
    FailureCause.DAMAGED: "`DamagedResponse`: a 200 whose body was cut, empty, not JSON, or failed its CRC",
    FailureCause.CREDENTIALS: "the SDK's own: no credentials, or none to be had from SSO",
    FailureCause.REFUSED: "the SDK's own: parameters, region, certificate",
    FailureCause.UNKNOWN: "every other code and exception: it is not guessed",
}
_OTHER_CODES = {
    "OTHER": "anything else: an unexpected error, output that could not be written, `verify` that failed",
    "USAGE": "bad usage or input: nothing was asked",
}


def stop_reasons() -> Iterator[Row]:
    yield "stop reason", "the read ended because", "decision while a key is unresolved"
    for reason in il.StopReason:
        yield f"`{reason}`", _STOPPED[reason], _decision_after(reason)


def causes() -> Iterator[Row]:
    yield "cause", "codes", "can pass by itself", "decision"
    for cause in FailureCause:
        codes = [f"`{code}`" for code in CODES.get(cause, ())]
        passing = "yes" if cause.passing else "no"
        yield cause.label, ", ".join([*codes, _CAUSES[cause]]), passing, _decided(_failed(transient=cause.passing))


def decisions() -> Iterator[Row]:
    from itemledger.cli.problems import EXIT_CODES

    yield "decision", "owner", "next action", "exit code", "HTTP"
    for decision in il.Decision:
        yield f"`{decision}`", decision.owner, decision.next_action, str(EXIT_CODES[decision]), _http(decision)


def exit_codes() -> Iterator[Row]:
    from itemledger.cli import problems
    from itemledger.cli.signals import STOPPING, StoppedError

    yield "exit code", "means"
    told = {code: f"decision `{decision}`" for decision, code in problems.EXIT_CODES.items()}
    told |= {getattr(problems, name): meaning for name, meaning in _OTHER_CODES.items()}
    for signum in STOPPING:
        stopped = StoppedError(signum)
        told[stopped.exit_code] = f"stopped by {stopped.signal_name}; what is settled is kept, a hold record is written"
    for code in sorted(told):
        yield str(code), told[code]


def truth() -> Iterator[Row]:
    yield "a key is", "`required=il.ALL`", "`required=[that key]`", "`required=il.NONE`"
    for disposition in il.Disposition:
        result = _ended(disposition)
        policies = (il.ALL, ["A"], il.NONE)
        yield (f"`{disposition}`", *(f"`{result.decide(required=policy)}`" for policy in policies))


def chain() -> Iterator[Row]:
    yield "observation of the chain", "leftovers at the bounds"
    result = _ended(il.Disposition.UNRESOLVED)
    for number in range(1, MAX_OBSERVATIONS + 1):
        yield str(number), _decided(replace(result, observation=replace(result.observation, number=number)))


TABLES: Mapping[str, Callable[[], Iterator[Row]]] = {
    "stop reasons": stop_reasons,
    "causes": causes,
    "decisions": decisions,
    "exit codes": exit_codes,
    "truth": truth,
    "chain": chain,
    **generated_ledger.TABLES,
}
TEXTS = generated_ledger.TEXTS


def written_anew(page: str) -> str:
    """The page with every marked table and diagram as the code has it now."""

    def made(match: re.Match[str]) -> str:
        name = match["name"]
        text = TEXTS[name]() if name in TEXTS else _table(TABLES[name]())
        return f"{match['begin']}\n{text}\n{match['end']}"

    marked = r"(?P<begin><!-- generated: (?P<name>[^\n]+) -->)\n.*?(?P<end><!-- end -->)"
    return re.sub(marked, made, page, flags=re.DOTALL)


def _table(rows: Iterator[Row]) -> str:
    head, *rest = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rest])


def commands() -> str:
    """Every command with its options, as the command tree has them."""
    run = subprocess.run(
        [sys.executable, "-m", "typer", "itemledger.cli.main", "utils", "docs", "--name", "itemledger"],
        capture_output=True,
        text=True,
        check=True,
    )
    return "<!-- generated by python -m tests.docs.generated -->\n\n" + run.stdout.replace("```console", "```text")


def _ended(disposition: il.Disposition) -> il.ReadResult:
    """A real read of one key that ends like this."""
    key = {"pk": {"S": "A"}}
    returned, left = disposition is il.Disposition.RETURNED, disposition is il.Disposition.UNRESOLVED
    answer = batch_get_response([key] if returned else [], table="T", unprocessed=[key] if left else [])
    return il.read_batch(ScriptedClient([answer]), "T", ["A"], "pk", max_passes=1, concurrency=1)


def _failed(*, transient: bool) -> il.ReadResult:
    error = il.TerminalError("Code", "", None, transient)
    result = _ended(il.Disposition.UNRESOLVED)
    return replace(result, stop_reason=il.StopReason.REQUEST_FAILED, terminal_error=error)


def _decision_after(reason: il.StopReason) -> str:
    if reason is il.StopReason.COMPLETE:
        return "– (none is)"
    if reason is il.StopReason.REQUEST_FAILED:
        return f"{_decided(_failed(transient=True))} or {_decided(_failed(transient=False))}, by its cause"
    return _decided(replace(_ended(il.Disposition.UNRESOLVED), stop_reason=reason))


def _decided(result: il.ReadResult) -> str:
    return f"`{result.decide()}`"


def _http(decision: il.Decision) -> str:
    error = il.IncompleteReadError("", result=_ended(il.Disposition.UNRESOLVED), decision=decision)
    if decision is il.Decision.ACCEPT:
        outcome = il.http_outcome(_ended(il.Disposition.RETURNED))
    else:
        outcome = il.http_outcome(error)
    retry_after = " and `Retry-After`" if "Retry-After" in outcome.headers else ""
    return f"{outcome.status} {HTTPStatus(outcome.status).phrase}{retry_after}"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written_anew(page.read_text()))
    COMMANDS.write_text(commands())
