"""The summary of an evidence file held against what its calls prove: sets, totals, why it stopped, the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from itemledger.core.decision import MAX_OBSERVATIONS, Decision
from itemledger.core.ranges import from_ranges, to_ranges
from itemledger.core.recount import ABSENT, RETURNED, Recount
from itemledger.core.result import Disposition, StopReason
from itemledger.errors import EvidenceError

Line: TypeAlias = Mapping[str, Any]

_STANDING = {RETURNED: Disposition.RETURNED, ABSENT: Disposition.PROCESSED_NOT_RETURNED}


def check_summary(summary: Line, recount: Recount) -> None:
    """EvidenceError at the first thing in the summary that the calls do not bear out."""
    _check_identity(summary, recount)
    _check_sets(summary, recount)
    _check_totals(summary, recount)
    _check_end(summary, recount)
    _check_decision(summary, recount)


def _check_identity(summary: Line, recount: Recount) -> None:
    header = recount.header
    for name in ("observation", "table", "consistent_read", "policy"):
        if summary[name] != header[name]:
            raise EvidenceError(f"the summary's {name} is not the header's")
    if summary["deadline"]["timeout_s"] != header["bounds"]["timeout_s"]:
        raise EvidenceError("the summary's deadline is not that of the header's bounds")
    if summary["manifest"] != {"count": len(recount.manifest), "sha256": recount.manifest.sha256}:
        raise EvidenceError("the summary speaks of another manifest")
    if header["observation"]["number"] == 1 and any(summary["earlier"].values()):
        raise EvidenceError("a first observation has no earlier one that could have settled keys")


def _check_sets(summary: Line, recount: Recount) -> None:
    for disposition in Disposition:
        members = summary[disposition.value]
        found = to_ranges(_ending(recount, disposition))
        if found != members["positions"]:
            raise EvidenceError(_first_difference(summary, recount))
        count = sum(1 for _ in _ending(recount, disposition))
        if members["count"] != count:
            raise EvidenceError(f"the summary counts {members['count']} keys {disposition}; the calls leave {count}")
        if members["sha256"] != recount.manifest.hash_of(_ending(recount, disposition)):
            raise EvidenceError(f"the hash of the keys {disposition} is not that of their tokens")
    if summary["complete"] != (not summary["unresolved"]["count"]):
        raise EvidenceError("the summary's complete does not go with its unresolved keys")


def _ending(recount: Recount, disposition: Disposition) -> Iterator[int]:
    """The positions that the calls alone leave there, in ascending order."""
    return (p for p, s in enumerate(recount.standing) if _STANDING.get(s, Disposition.UNRESOLVED) is disposition)


def _first_difference(summary: Line, recount: Recount) -> str:
    claimed: list[Disposition | None] = [None] * len(recount.manifest)
    try:
        for disposition in Disposition:
            for p in from_ranges(summary[disposition.value]["positions"]):
                if p >= len(claimed):
                    return f"the summary names position {p}, which the manifest does not have"
                if claimed[p] is not None:
                    return f"the summary has position {p} twice, as {claimed[p]} and as {disposition}"
                claimed[p] = disposition
    except ValueError as error:
        return f"the summary's sets cannot be read: {error}"
    for p, standing in enumerate(recount.standing):
        ends = _STANDING.get(standing, Disposition.UNRESOLVED)
        if claimed[p] is None:
            return f"the summary leaves out position {p}, which ends {ends} by the calls"
        if claimed[p] is not ends:
            return f"the summary has position {p} as {claimed[p]}, but by the calls it ends {ends}"
    return "the summary's sets are not spelled as the log does it"


def _check_totals(summary: Line, recount: Recount) -> None:
    totals = {
        "calls": recount.calls,
        "application_passes": recount.application_passes,
        "sdk_retry_attempts": recount.sdk_retry_attempts,
        "consumed": recount.consumed,
    }
    for name, total in totals.items():
        told = summary["totals"][name]
        if told != total:
            raise EvidenceError(f"the summary's total of {name} is {_told(told)}; the calls give {_told(total)}")
    if summary["label"] != recount.label:
        weakest = recount.label or "unlabelled"
        raise EvidenceError(f"the summary is labelled {summary['label']}, but its weakest answer is {weakest}")
    if not recount.shared:
        _check_call_numbers(summary, recount)
    left_out = recount.request_ids_seen - len(recount.request_ids)
    if summary["request_ids"] != list(recount.request_ids) or summary["request_ids_left_out"] != left_out:
        raise EvidenceError("the summary's request ids are not those of the calls")


def _check_call_numbers(summary: Line, recount: Recount) -> None:
    """Calls that were started are in the file, or were abandoned while they asked for keys that end unresolved."""
    abandoned = summary["abandoned_calls"]
    if abandoned > min(recount.concurrency, summary["unresolved"]["count"]):
        raise EvidenceError(f"{abandoned} abandoned calls are more than were in flight, or than keys were left to ask")
    if recount.highest_call > recount.calls + abandoned:
        raise EvidenceError(
            f"calls up to number {recount.highest_call} were started, but {recount.calls} are in the file and "
            f"{abandoned} were abandoned: a call is missing"
        )


def _check_end(summary: Line, recount: Recount) -> None:
    reason, error = StopReason(summary["stop_reason"]), summary["terminal_error"]
    if summary["deadline"]["reached"] != (reason is StopReason.DEADLINE):
        raise EvidenceError(f"whether the deadline was reached does not go with an end by {reason}")
    if recount.broken_call is not None and reason is not StopReason.INVARIANT_BROKEN:
        raise EvidenceError(f"call {recount.broken_call} broke an invariant; the read did not end by {reason}")
    if reason is StopReason.INVARIANT_BROKEN:
        if recount.broken_call is None and not recount.shared:
            raise EvidenceError("no call broke an invariant, so the read did not end by it")
        return
    if summary["complete"] != (reason is StopReason.COMPLETE):
        raise EvidenceError(f"a read with {summary['unresolved']['count']} unresolved keys does not end by {reason}")
    if (error is not None) != (reason is StopReason.REQUEST_FAILED):
        raise EvidenceError(f"a terminal error belongs to a read that a failed call ended, not to an end by {reason}")
    if reason is StopReason.REQUEST_FAILED:
        _check_terminal_error(error, recount)
        return
    final = next((failed for failed in recount.failed.values() if failed.final), None)
    if final is not None and reason is not StopReason.INTERRUPTED:
        raise EvidenceError(f"call {final.call} failed, which ends a read; it did not end by {reason}")
    if reason is StopReason.PASSES_EXHAUSTED:
        _check_exhaustion(summary, recount)


def _check_terminal_error(error: Line, recount: Recount) -> None:
    """It is that of the first call that can have ended the read, or of DescribeTable before there was any call.

    Where a passing error ended it, a lasting one of a call that was still in flight takes its place.
    """
    ends: list[Line] = []
    over = False
    for failed in recount.failed.values():
        if not over and not failed.tried_again:
            ends.append(failed.error)
        elif over and not failed.error["transient"] and all(end["transient"] for end in ends[-1:]):
            ends = [end for end in ends if not end["transient"]] + [failed.error]
        over |= failed.final
    if error not in ends and recount.calls and not recount.shared:
        raise EvidenceError("the terminal error is not that of a call in the file that could have ended the read")


def _check_exhaustion(summary: Line, recount: Recount) -> None:
    for p in _ending(recount, Disposition.UNRESOLVED):
        if recount.charged[p] < recount.max_passes:
            raise EvidenceError(f"position {p} was left over {recount.charged[p]} of {recount.max_passes} times")
    if summary["abandoned_calls"]:
        raise EvidenceError("a read that used up its passes has no call in flight to abandon")


def _check_decision(summary: Line, recount: Recount) -> None:
    told = next(d for d in Decision if d.label == summary["decision"]["name"])
    allowed = _decisions(summary, recount)
    if told not in allowed:
        raise EvidenceError(
            f"the decision is {told}, but what the file shows leads to {' or '.join(map(str, allowed))}"
        )
    if summary["decision"]["owner"] != told.owner:
        raise EvidenceError(f"the owner of {told} is the {told.owner}, not the {summary['decision']['owner']}")


def _decisions(summary: Line, recount: Recount) -> tuple[Decision, ...]:
    """R10's truth table as far as the file shows it; of a policy of the caller's own it does not show the verdict."""
    reason, error = StopReason(summary["stop_reason"]), summary["terminal_error"]
    if reason is StopReason.INVARIANT_BROKEN:
        return (Decision.REPAIR,)
    if summary["complete"]:
        absent = summary["processed_not_returned"]["count"] + summary["earlier"]["processed_not_returned"]
        by_policy = {"none": Decision.ACCEPT, "all": Decision.REJECT if absent else Decision.ACCEPT}
        known = by_policy.get(summary["policy"])
        return (Decision.ACCEPT, Decision.REJECT) if known is None else (known,)
    passing = error["transient"] if reason is StopReason.REQUEST_FAILED else reason is not StopReason.INTERRUPTED
    again = passing and summary["observation"]["number"] < MAX_OBSERVATIONS
    return (Decision.RETRY,) if again else (Decision.HOLD,)


def _told(total: object) -> str:
    return "unknown" if total is None else str(total)
