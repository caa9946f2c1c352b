"""How work on an operation ended, as a few lines for people and one object for machines: no item ids, no payloads."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from itemledger.cli.problems import EXIT_CODES, NEXT_STEPS, in_command_line_words
from itemledger.cli.signals import StoppedError
from itemledger.cli.summary import STYLES, count
from itemledger.cli.voice import Voice
from itemledger.cli.work_run import Job, Worked
from itemledger.core.decision import Decision
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Operation, Review
from itemledger.crew.result import WorkResult, WorkStop
from itemledger.errors import ItemLedgerError
from itemledger.ledger import PlanResult


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Items whose key or item id is taken by another payload: how many, and the first of them by line."""

    count: int = 0
    named: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """Everything that a summary tells."""

    operation: Operation
    ledger_url: str
    place: str
    worked: Worked
    reviews: Mapping[Review, int]
    go_on: str
    """The line that goes on where this run stopped."""
    planned: PlanResult | None = None
    conflicts: Conflicts = field(default_factory=Conflicts)

    @property
    def decision(self) -> Decision:
        """The run's, except that items which were not even planned are no acceptance."""
        if isinstance(self.worked.error, ItemLedgerError | OSError):
            return Decision.HOLD
        decision = self.worked.result.decision
        return Decision.REJECT if decision is Decision.ACCEPT and self.conflicts.count else decision

    @property
    def exit_code(self) -> int:
        error = self.worked.error
        return error.exit_code if isinstance(error, StoppedError) else EXIT_CODES[self.decision]

    @property
    def problem(self) -> str | None:
        """The sentence for a run that did not end because nothing was left to do."""
        result, error = self.worked.result, self.worked.error
        left = sum(number for outcome, number in result.counts.items() if outcome not in _DONE)
        so_far = f"{left:,} of {count(result.planned, 'item')} without an end"
        if isinstance(error, StoppedError):
            return f"stopped by {error.signal_name}; {so_far}"
        if error is not None:
            return f"{in_command_line_words(str(error))}; {so_far}"
        if result.stop is WorkStop.BLOCKED and result.terminal_error is not None:
            return f"{_blocked(self, result)}; {so_far}"
        if result.stop is WorkStop.DEADLINE and left:
            return f"the deadline of {self.worked.timeout_s:g} s came with {so_far}; --timeout sets another"
        return None


_DONE = (Outcome.SUCCEEDED, Outcome.TERMINAL)


def ending_of(
    job: Job,
    ledger_url: str,
    worked: Worked,
    go_on: str,
    planned: PlanResult | None = None,
    conflicts: Conflicts | None = None,
) -> Ending:
    """The ending, with what waits for a person counted by its reason."""
    name = job.operation.operation_id
    waiting = job.ledger.rows(name, in_review=True) if worked.result.waiting else iter(())
    reviews = Counter(row.review for row in waiting if row.review is not None)
    return Ending(job.operation, ledger_url, job.place, worked, reviews, go_on, planned, conflicts or Conflicts())


def show(voice: Voice, ending: Ending) -> None:
    """The lines for people, and the sentence about what went wrong."""
    if ending.problem is not None:
        voice.say(f"itemledger: {ending.problem}", style="red")
    if voice.machine:
        return
    for line in _lines(ending):
        voice.say(line)
    decision = ending.decision
    voice.say(f"  decision      {decision} (owner: {decision.owner}); {_next_action(ending)}", style=STYLES[decision])


def as_json(ending: Ending) -> dict[str, Any]:
    """The object for machines; what is unknown is null, never 0."""
    result, planned = ending.worked.result, ending.planned
    error = result.terminal_error
    return {
        "operation": result.operation_id,
        "api": ending.operation.api,
        "ledger": ending.ledger_url,
        "place": ending.place,
        "planned": result.planned,
        **{outcome.value: result.counts[outcome] for outcome in Outcome},
        "waiting": result.waiting,
        "reviews": {review.value: number for review, number in ending.reviews.items()},
        "planning": planned
        and {
            "new": planned.new,
            "repeated": planned.repeated,
            "over_limit": planned.over_limit,
            "conflicts": ending.conflicts.count,
            "first_conflicts": list(ending.conflicts.named),
        },
        "complete": result.complete,
        "stop_reason": result.stop.value,
        "terminal_error": error and {"code": error.code, "request_id": error.request_id, "transient": error.transient},
        "decision": ending.decision.label,
        "owner": ending.decision.owner,
        "next_action": _next_action(ending),
        "exit_code": ending.exit_code,
        "problem": ending.problem,
        "calls": result.calls,
        "sdk_retry_attempts": result.sdk_retry_attempts,
        "abandoned_calls": result.abandoned_calls,
        "timeout_s": ending.worked.timeout_s,
        "duration_s": round(ending.worked.duration_s, 3),
    }


def sum_of(counts: Mapping[Outcome, int]) -> str:
    """``1,000 = 990 succeeded + 10 reconcile``: a sum that everybody can check."""
    total = sum(counts.values())
    parts = [f"{number:,} {outcome}" for outcome in _ORDER if (number := counts.get(outcome, 0))]
    return f"{total:,} = {' + '.join(parts)}" if parts else "0"


_ORDER = (
    Outcome.SUCCEEDED,
    Outcome.TERMINAL,
    Outcome.RETRYABLE,
    Outcome.RECONCILE,
    Outcome.IN_FLIGHT,
    Outcome.PENDING,
)


def _lines(ending: Ending) -> list[str]:
    result, planned = ending.worked.result, ending.planned
    work = (
        count(result.calls, "call"),
        count(result.sdk_retry_attempts, "SDK retry attempt"),
        f"{ending.worked.duration_s:.1f} s",
    )
    told = {
        "planned": sum_of(result.counts),
        "this run": planned and _planning(planned),
        "work": ", ".join(work),
        "abandoned": count(result.abandoned_calls, "call") if result.abandoned_calls else None,
        "stopped by": result.stop.value,
        "in review": _reviews(ending),
        "ledger": ending.ledger_url,
    }
    head = f"{result.operation_id}: {ending.operation.api} at {ending.place}"
    return [head] + [f"  {name:<14}{text}" for name, text in told.items() if text is not None]


def _planning(planned: PlanResult) -> str:
    parts = [f"{planned.new:,} new", f"{planned.repeated:,} there already"]
    if planned.over_limit:
        parts.append(f"{planned.over_limit:,} over their own limit and never sent")
    if planned.conflicts:
        parts.append(f"{len(planned.conflicts):,} refused as conflicts")
    return ", ".join(parts)


def _reviews(ending: Ending) -> str | None:
    parts = [f"{number:,} {review}" for review, number in ending.reviews.items()]
    return f"{ending.worked.result.waiting:,} for a person: {', '.join(parts)}" if parts else None


def _next_action(ending: Ending) -> str:
    result, decision = ending.worked.result, ending.decision
    review = shlex.join(
        ["itemledger", "ledger", "review", "--ledger", ending.ledger_url, "--operation", result.operation_id]
    )
    indent = "\n                "
    match decision:
        case Decision.ACCEPT:
            return "every item has succeeded"
        case Decision.REJECT if result.waiting:
            return f"look at what will not be sent again:{indent}{review}"
        case Decision.REJECT if result.counts[Outcome.TERMINAL]:
            return "its terminal items have been reviewed"
        case Decision.REJECT:
            return "give the refused items another key, or leave them as they are in the ledger"
        case Decision.RETRY:
            return f"this line goes on:{indent}{ending.go_on}"
        case _ if ending.reviews.keys() == {Review.SOURCE_CHANGED} and ending.worked.error is None:
            return (
                f"put the input back as it was, then this line goes on:{indent}{ending.go_on}\n              "
                f"or leave what changed:{indent}{review} --decide terminal ..."
            )
        case _ if result.stop is WorkStop.DONE and ending.worked.error is None:
            return f"a person decides what is unknown:{indent}{review}"
        case _ if isinstance(ending.worked.error, StoppedError):
            return f"this line goes on:{indent}{ending.go_on}"
        case _:
            return f"remove the cause, then this line goes on:{indent}{ending.go_on}"


def _blocked(ending: Ending, result: WorkResult) -> str:
    """What the service said to the caller; a stranger's server may quote an item, so its words stay in the ledger."""
    error = result.terminal_error
    assert error is not None
    said = "" if error.code.startswith("HTTP ") else " ".join(error.message.split()).rstrip(".")
    request = f" (request {error.request_id})" if error.request_id else ""
    step = NEXT_STEPS.get(error.code)
    return in_command_line_words(
        f"{ending.operation.api} at {ending.place}: {error.code}{f': {said}' if said else ''}{request}"
        f"{f'; {step}' if step else ''}"
    )
