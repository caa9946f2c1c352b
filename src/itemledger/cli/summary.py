"""How a read ended, for people as a few lines and for machines as one object; it holds no keys and no values."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from itemledger.cli.output import Files
from itemledger.cli.problems import service_sentence
from itemledger.cli.voice import Voice
from itemledger.core.decision import Decision
from itemledger.core.result import Disposition, ReadResult, StopReason

STYLES = {
    Decision.ACCEPT: "bold green",
    Decision.REJECT: "bold yellow",
    Decision.RETRY: "bold yellow",
    Decision.HOLD: "bold red",
    Decision.REPAIR: "bold red",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """Everything that a summary tells."""

    result: ReadResult
    decision: Decision
    exit_code: int
    problem: str | None
    files: Files
    duration_s: float
    place: str
    region: str
    endpoint_url: str
    reader_left: bool = False
    """Whoever read our rows has closed the pipe, as ``head`` does: one sentence is enough."""

    output_failed: bool = False

    @property
    def counts(self) -> Counter[Disposition]:
        return Counter(self.result.dispositions)


def why_it_stopped(result: ReadResult, place: str) -> str | None:
    """The sentence for a read that ended by itself before it was complete."""
    unresolved = result.dispositions.count(Disposition.UNRESOLVED)
    open_keys = f"{unresolved:,} of {len(result.dispositions):,} keys unresolved"
    match result.stop_reason:
        case StopReason.REQUEST_FAILED if result.terminal_error is not None:
            return f"{service_sentence(result.terminal_error, result.table_name, place)}; {open_keys}"
        case StopReason.DEADLINE:
            return f"the deadline of {result.bounds.timeout_s:g} s came with {open_keys}; --timeout sets another"
        case StopReason.PASSES_EXHAUSTED:
            return f"the service left {open_keys} after {result.bounds.max_passes} passes; --max-passes allows more"
        case _:
            return None


def show(voice: Voice, ending: Ending) -> None:
    """The lines for people, or the object for machines, and the sentence about what went wrong."""
    if ending.problem is not None:
        voice.say(f"itemledger: {ending.problem}", style="red")
    for failure in ending.files.failures:
        voice.say(f"itemledger: {failure}", style="red")
    if voice.machine:
        voice.tell(as_json(ending))
        return
    if ending.reader_left:
        return
    for line in _lines(ending):
        voice.say(line)
    decision = ending.decision
    voice.say(f"  decision      {decision} (owner: {decision.owner}); {_next_action(ending)}", style=STYLES[decision])


def as_json(ending: Ending) -> dict[str, Any]:
    """The object for machines; what is unknown is null, never 0."""
    result, files = ending.result, asdict(ending.files)
    failures = files.pop("failures")
    error, totals, observation = result.terminal_error, result.totals, result.observation
    return {
        "observation": {
            "id": observation.id,
            "number": observation.number,
            "parent_id": observation.parent_id,
            "first_id": observation.first_id,
        },
        "table": result.table_name,
        "region": ending.region,
        "endpoint_url": ending.endpoint_url,
        "consistent_read": result.settings.consistent_read,
        "keys": len(result.dispositions),
        "input_positions": len(result.input_positions or result.dispositions),
        **{disposition.value: ending.counts[disposition] for disposition in Disposition},
        "complete": result.complete,
        "stop_reason": result.stop_reason.value,
        "terminal_error": error and {"code": error.code, "request_id": error.request_id, "transient": error.transient},
        "decision": ending.decision.label,
        "owner": ending.decision.owner,
        "next_action": ending.decision.next_action,
        "exit_code": ending.exit_code,
        "problem": ending.problem,
        "failures": failures,
        "calls": totals.calls,
        "application_passes": totals.application_passes,
        "sdk_retry_attempts": totals.sdk_retry_attempts,
        "consumed": totals.consumed,
        "abandoned_calls": result.abandoned_calls,
        "label": totals.label and totals.label.value,
        "bounds": asdict(result.bounds),
        "duration_s": round(ending.duration_s, 3),
        "files": files,
    }


def _lines(ending: Ending) -> list[str]:
    result, files, counts, totals = ending.result, ending.files, ending.counts, ending.result.totals
    consistency = "strong per item" if result.settings.consistent_read else "eventual"
    chain = f", number {result.observation.number} of its chain" if result.observation.number > 1 else ""
    work = (
        count(totals.calls, "call"),
        count(totals.application_passes, "application pass"),
        count(totals.sdk_retry_attempts, "SDK retry attempt"),
        count(totals.consumed, "capacity unit"),
        f"{ending.duration_s:.1f} s",
    )
    told = {
        "keys": f"{len(result.dispositions):,}: " + ", ".join(f"{counts[d]:,} {d}" for d in Disposition),
        "work": ", ".join(work),
        "abandoned": count(result.abandoned_calls, "call") if result.abandoned_calls else None,
        "label": totals.label or "none: nothing came back",
        "stopped by": f"{result.stop_reason}, because output failed" if ending.output_failed else result.stop_reason,
        "items": files.items,
        "dispositions": files.dispositions,
        "evidence": files.evidence and f"{files.evidence} (sha256 {files.evidence_sha256 or 'none: the file is cut'})",
        "token key": files.token_key,
        "hold record": files.hold and f"{files.hold} (holds plain keys: sensitive)",
        "repair": files.repair and f"{files.repair} (holds plain keys: sensitive)",
    }
    head = f"{result.table_name} at {ending.place}, {consistency} reads; observation {result.observation.id}{chain}"
    return [head] + [f"  {name:<14}{text}" for name, text in told.items() if text is not None]


def _next_action(ending: Ending) -> str:
    action = ending.decision.next_action
    if ending.files.hold is None:
        return action
    return f"{action}:\n                itemledger resume {shlex.quote(ending.files.hold)} --out FILE"


def count(number: float | None, noun: str) -> str:
    if number is None:
        return f"unknown {noun}s"
    plural = noun if number == 1 else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,.1f}".removesuffix(".0") + f" {plural}"
