"""How a scan or a query ended, for people as a few lines and for machines as one object; no keys, no values."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from itemledger.cli.problems import EXIT_CODES, service_sentence
from itemledger.cli.signals import StoppedError
from itemledger.cli.summary import STYLES, count
from itemledger.cli.voice import Voice
from itemledger.core.decision import Decision
from itemledger.errors import LedgerInvariantError
from itemledger.scanning.result import ScanResult
from itemledger.scanning.skew import skew_of
from itemledger.tables.page import PageTotals
from itemledger.tables.page_result import PageStop, Segment

#: Segments that are told one by one, for people; a machine is told all of them.
TOLD = 16


@dataclass(frozen=True, slots=True)
class Ending:
    """Everything that a summary tells."""

    result: ScanResult
    error: BaseException | None
    out: str
    out_format: str
    checkpoint: Path | None
    duration_s: float
    place: str

    @property
    def decision(self) -> Decision:
        return decision_of(self.result.complete, self.result.stop_reason, self.result.errors.values(), self.error)

    @property
    def exit_code(self) -> int:
        return self.error.exit_code if isinstance(self.error, StoppedError) else EXIT_CODES[self.decision]


def decision_of(complete: bool, stop: PageStop, errors: Any, error: BaseException | None) -> Decision:
    """By the truth table of the reads: a cause that passes is for a retry, any other for a person."""
    if complete:
        return Decision.ACCEPT
    if isinstance(error, LedgerInvariantError):
        return Decision.REPAIR
    if error is not None:
        return Decision.HOLD
    if stop is PageStop.REQUEST_FAILED and not all(each.transient for each in errors):
        return Decision.HOLD
    return Decision.RETRY


def show(voice: Voice, ending: Ending, line: Sequence[str]) -> None:
    result = ending.result
    for number, error in sorted(result.errors.items())[:TOLD]:
        sentence = service_sentence(error, result.table_name, ending.place)
        voice.say(f"itemledger: segment {number} ended: {sentence}", style="red")
    if ending.error is not None and not isinstance(ending.error, StoppedError):
        voice.say(f"itemledger: {ending.error}", style="red")
    if voice.machine:
        return
    totals = result.totals
    of = f"index {result.index_name} of {result.table_name}" if result.index_name else f"table {result.table_name}"
    done = sum(segment.state.value == "done" for segment in result.segments)
    voice.say(f"scan of {of} at {ending.place}")
    pages = count(totals.pages, "page")
    voice.say(f"  items         {totals.returned:,} returned of {told(totals.examined)} examined, {pages}")
    voice.say(f"  consumed      {units_of(totals)}")
    resumed = ", gone on from its checkpoint" if result.resumed else ""
    voice.say(f"  segments      {done:,} of {len(result.segments):,} done{resumed}")
    if (skew := skew_of(result.segments)) is not None:
        voice.say(f"  skew          {skew}")
    voice.say(f"  written       {ending.out} ({ending.out_format})")
    decision = ending.decision
    voice.say(
        f"  decision      {decision} (owner: {decision.owner}); {_next_step(ending, line)}", style=STYLES[decision]
    )


def as_json(ending: Ending) -> dict[str, Any]:
    result = ending.result
    skew = skew_of(result.segments)
    return {
        "table": result.table_name,
        "index": result.index_name,
        "complete": result.complete,
        "stop_reason": result.stop_reason.value,
        "decision": ending.decision.label,
        "exit_code": ending.exit_code,
        "error": None if ending.error is None or isinstance(ending.error, StoppedError) else str(ending.error),
        "resumed": result.resumed,
        "totals": totals_json(result.totals),
        "segments": [_segment(each) for each in result.segments],
        "skew": None if skew is None else {"fullest": skew.fullest, "ratio": round(skew.ratio, 3), "empty": skew.empty},
        "approximate_items": result.approximate_items,
        "out": ending.out,
        "format": ending.out_format,
        "checkpoint": None if ending.checkpoint is None else str(ending.checkpoint),
        "duration_s": round(ending.duration_s, 3),
    }


def totals_json(totals: PageTotals) -> dict[str, Any]:
    """``consumed`` is null, unknown, where any call did not tell; ``reported`` is what the others told."""
    return {
        "pages": totals.pages,
        "calls": totals.calls,
        "examined": totals.examined,
        "returned": totals.returned,
        "consumed": None if totals.consumed is None else totals.consumed.units,
        "reported": totals.reported.units,
        "reported_by_index": dict(totals.reported.indexes),
        "untold_calls": totals.untold_calls,
        "sdk_retry_attempts": totals.sdk_retry_attempts,
        "label": totals.label and totals.label.value,
    }


def units_of(totals: PageTotals) -> str:
    if totals.consumed is not None:
        return f"{totals.consumed.units:,g} units"
    if totals.untold_calls == totals.calls:
        return "unknown: the service did not say"
    return f"at least {totals.reported.units:,g} units: {count(totals.untold_calls, 'call')} did not say"


def told(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _segment(segment: Segment) -> dict[str, Any]:
    return {
        "number": segment.number,
        "state": segment.state.value,
        "seconds": round(segment.seconds, 3),
        "error": None if segment.error is None else segment.error.code,
        **totals_json(segment.totals),
    }


def _next_step(ending: Ending, line: Sequence[str]) -> str:
    if ending.result.complete:
        return "every segment came to its end"
    if ending.checkpoint is None:
        return "without --checkpoint it begins anew; give one and another --out"
    return f"then go on with the same line: {shlex.join(['itemledger', *line])}"
