"""Falsifications of evidence files whose forger repaired counts, hashes and chain: verify finds each, and says what.

What a forger cannot be refuted in is listed at the end, member by member.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import itemledger as il
from itemledger import evidence
from itemledger.core.answer import BodyCheck, FailureCause
from itemledger.core.evidence import set_event
from itemledger.core.result import StopReason
from itemledger.core.terms import Earlier, Observation
from itemledger.core.verify import verify
from itemledger.errors import EvidenceError
from itemledger.testing import ScriptedClient, batch_get_response
from tests.core.evidence_files import (
    HASHED,
    PLAIN,
    Line,
    file_of,
    full_answer,
    parsed,
    rechained,
    schema_faults,
    stepped,
)
from tests.core.support import answer, calls, failure, read_of, result_of, settings

CREDENTIALS = failure(FailureCause.CREDENTIALS, "ExpiredTokenException")
THROTTLED = failure()


# ------------------------------------------------------------------------------------------------- files that are true


def exhausted() -> list[bytes]:
    """A–D and Z, at most two passes: C and A come, then B; D is left over twice; Z is not there. Calls 1 and 2."""
    return file_of(
        result_of(stepped(lambda c: answer(c, left="BD", absent="Z"), lambda c: answer(c, left="D"), max_passes=2))
    )


def complete() -> list[bytes]:
    """B and D come on the second pass, Z is not there."""
    return file_of(result_of(stepped(lambda c: answer(c, left="BD", absent="Z"), answer)))


def three_passes() -> list[bytes]:
    """The second call leaves over both keys that it asked for."""
    left = "BD"
    return file_of(
        result_of(
            stepped(lambda c: answer(c, left=left), lambda c: answer(c, left=left), answer, keys="ABCD", concurrency=1)
        )
    )


def overtaken() -> list[bytes]:
    """A and B in call 1, C and D in call 2, which ends first."""
    read = read_of((settings(), "ABCD"), call_items=2, concurrency=2)
    first, second = calls(read.due(0.0))
    read.answered(second, answer(second), 1.0)
    read.answered(first, answer(first), 2.0)
    return file_of(result_of(read))


def left_over_twice() -> list[bytes]:
    """Call 1 leaves A over, call 2 leaves C over, call 3 asks for both again."""
    read = read_of((settings(), "ABCD"), call_items=2, concurrency=2)
    first, second = calls(read.due(0.0))
    read.answered(first, answer(first, left="A"), 0.0)
    read.answered(second, answer(second, left="C"), 0.0)
    (third,) = calls(read.due(1.0))
    read.answered(third, answer(third), 1.0)
    return file_of(result_of(read))


def failed() -> list[bytes]:
    """Throttled on the second call: B, D and Z stay unresolved."""
    return file_of(result_of(stepped(lambda c: answer(c, left="BDZ"), lambda _: THROTTLED)))


def failed_in_flight() -> list[bytes]:
    """Call 1 is throttled while call 2 is in flight."""
    read = read_of((settings(), "ABCD"), call_items=2, concurrency=2)
    first, second = calls(read.due(0.0))
    read.answered(first, THROTTLED, 1.0)
    read.answered(second, answer(second), 2.0)
    return file_of(result_of(read))


def failed_twice() -> list[bytes]:
    """Both calls in flight fail; E and F were never asked."""
    read = read_of((settings(), "ABCDEF"), call_items=2, concurrency=2)
    first, second = calls(read.due(0.0))
    read.answered(first, THROTTLED, 1.0)
    read.answered(second, CREDENTIALS, 2.0)
    return file_of(result_of(read))


def refused_twice() -> list[bytes]:
    """Credentials are refused in call 1 and, fresh, in call 3, which ends the read; call 4 in flight is refused too."""
    read = read_of((settings(), "ABCDEF"), call_items=2, concurrency=2)
    first, second = calls(read.due(0.0))
    read.answered(first, CREDENTIALS, 1.0)
    read.answered(second, answer(second), 1.0)
    third, fourth = calls(read.due(1.0))
    read.answered(third, CREDENTIALS, 2.0)
    read.answered(fourth, failure(FailureCause.REFUSED, "ValidationException"), 2.0)
    return file_of(result_of(read))


def unanswered() -> list[bytes]:
    """Nothing ever came back."""
    return file_of(result_of(stepped(lambda _: failure(FailureCause.TRANSIENT, "ReadTimeoutError"))))


def refused_credentials() -> list[bytes]:
    """Tried once more, and refused again."""
    return file_of(result_of(stepped(lambda _: CREDENTIALS, lambda _: CREDENTIALS, concurrency=1)))


def fresh_credentials() -> list[bytes]:
    """Tried once more, and accepted."""
    return file_of(result_of(stepped(lambda _: CREDENTIALS, answer, concurrency=1)))


def broken() -> list[bytes]:
    """The second answer names a key twice."""
    with (
        ScriptedClient(
            [
                batch_get_response([{"pk": {"S": "A"}}], unprocessed=[{"pk": {"S": "B"}}]),
                batch_get_response([{"pk": {"S": "B"}}] * 2),
            ]
        ) as client,
        pytest.raises(il.LedgerInvariantError) as caught,
    ):
        il.read_batch(client, "KnownAnswer", ["A", "B"], {"pk": "S"}, sleep=lambda _: None)
    result = caught.value.result
    assert isinstance(result, il.ReadResult)
    return file_of(result)


def interrupted() -> list[bytes]:
    """Two of three calls ended, the third was in flight."""
    read = read_of((settings(), "ABCDEF"), call_items=2, concurrency=3)
    first, second, _ = calls(read.due(0.0))
    read.answered(first, answer(first), 1.0)
    read.answered(second, answer(second), 1.0)
    read.stop(StopReason.INTERRUPTED)
    return file_of(result_of(read))


def filled() -> list[bytes]:
    """Size leaves keys over, which is not charged: F has three passes although two are allowed."""
    full = (lambda c: full_answer(c, left="DEF"), lambda c: full_answer(c, left="F"))
    return file_of(result_of(stepped(*full, answer, keys="ABCDEF", concurrency=1, max_passes=2)))


def fifth() -> list[bytes]:
    observation = Observation("o-5", 5, "o-4", "o-1")
    return file_of(
        result_of(stepped(lambda c: answer(c, left="BD"), max_passes=1, observation=observation)), policy="none"
    )


def resumed() -> list[bytes]:
    observation = Observation("o-2", 2, "o-1", "o-1")
    return file_of(result_of(stepped(answer, observation=observation)))


def plain() -> list[bytes]:
    return file_of(result_of(stepped(answer, keys="AB")), tokeniser=PLAIN)


# ------------------------------------------------------------------------------------------------- how they are edited


class Forged:
    """A file's lines, parsed, to be edited by hand; every hash of a set is made right again."""

    def __init__(self, raw: Sequence[bytes]) -> None:
        self.lines: list[Line] = parsed(raw)

    @property
    def header(self) -> Line:
        return self.lines[0]

    @property
    def manifest(self) -> Line:
        return self.lines[1]

    @property
    def summary(self) -> Line:
        return next(line for line in self.lines if line["kind"] == "summary")

    def call(self, number: int) -> Line:
        return next(line for line in self.lines if line.get("call") == number)

    def name(self, line: Line, set_name: str, *positions: int) -> None:
        """These positions as one of the line's sets, with count and hash as they must be."""
        line[set_name] = set_event(positions, [self.manifest["tokens"][p] for p in positions])

    def observe(self, number: int) -> None:
        self.call(number).update(label="observed", body_check="crc32", response_bytes=10)


def edit(path: str, value: Any) -> Callable[[Forged], None]:
    """Sets one member: ``summary.totals.calls``, ``call2.label``."""

    def change(file: Forged) -> None:
        start, *inner, last = path.split(".")
        line = file.call(int(start[4:])) if start.startswith("call") else getattr(file, start)
        for name in inner:
            line = line[name]
        line[last] = value

    return change


def all_of(*changes: Callable[[Forged], None]) -> Callable[[Forged], None]:
    def change(file: Forged) -> None:
        for one in changes:
            one(file)

    return change


def in_set(path: str, *positions: int) -> Callable[[Forged], None]:
    start, name = path.split(".")
    return lambda file: file.name(
        file.call(int(start[4:])) if start.startswith("call") else file.summary, name, *positions
    )


def without_call(number: int) -> Callable[[Forged], None]:
    return lambda file: file.lines.remove(file.call(number))


def decide(name: str) -> Callable[[Forged], None]:
    decision = next(d for d in il.Decision if d.label == name)
    told = {"name": decision.label, "owner": decision.owner, "next_action": decision.next_action}
    return edit("summary.decision", told)


def swap_results(file: Forged) -> None:
    first, second = file.call(1), file.call(2)
    for name in ("returned", "processed_not_returned", "unprocessed"):
        first[name], second[name] = second[name], first[name]


def call_again(file: Forged) -> None:
    """Call 2 once more, as call 3."""
    file.lines.insert(4, {**copy.deepcopy(file.call(2)), "call": 3, "application_pass": 3})


def dropped(file: Forged) -> None:
    file.name(file.summary, "unresolved")


# ---------------------------------------------------------------------------------------------------- what is falsified


FORGERIES: dict[str, tuple[Callable[[], list[bytes]], Callable[[Forged], None], str]] = {
    # what the summary says of keys
    "an unresolved key dropped": (
        exhausted,
        dropped,
        "the summary leaves out position 3, which ends unresolved by the calls",
    ),
    "an unresolved key called absent": (
        exhausted,
        all_of(dropped, in_set("summary.processed_not_returned", 3, 4)),
        "the summary has position 3 as processed_not_returned, but by the calls it ends unresolved",
    ),
    "a key called returned that is absent": (
        complete,
        all_of(in_set("summary.returned", 0, 1, 2, 3, 4), in_set("summary.processed_not_returned")),
        "the summary has position 4 as returned, but by the calls it ends processed_not_returned",
    ),
    "a key in two sets": (
        exhausted,
        in_set("summary.returned", 0, 1, 2, 3),
        "the summary has position 3 twice, as returned and as unresolved",
    ),
    "a key that nobody asked for": (
        complete,
        edit("summary.returned.positions", [[0, 3], 7]),
        "the summary names position 7, which the manifest does not have",
    ),
    "positions that are none": (
        complete,
        edit("summary.returned.positions", [[0, 3], "4"]),
        "the summary's sets cannot be read: a position is neither a number nor a pair [first, last]",
    ),
    "positions spelled otherwise": (
        complete,
        edit("summary.returned.positions", [0, 1, 2, 3]),
        "the summary's sets are not spelled as the log does it",
    ),
    "a count": (complete, edit("summary.returned.count", 5), "the summary counts 5 keys returned; the calls leave 4"),
    "a set's hash": (
        complete,
        edit("summary.returned.sha256", "0" * 64),
        "the hash of the keys returned is not that of their tokens",
    ),
    "complete": (exhausted, edit("summary.complete", True), "the summary's complete does not go with its unresolved"),
    # what the summary says of the run
    "another observation": (
        complete,
        edit("summary.observation.started_at", "2020"),
        "the summary's observation is not the header's",
    ),
    "another table": (complete, edit("summary.table", "U"), "the summary's table is not the header's"),
    "another consistency": (
        complete,
        edit("summary.consistent_read", True),
        "the summary's consistent_read is not the",
    ),
    "another policy": (complete, edit("summary.policy", "none"), "the summary's policy is not the header's"),
    "another manifest": (complete, edit("summary.manifest.sha256", "0" * 64), "the summary speaks of another manifest"),
    "another manifest size": (complete, edit("summary.manifest.count", 4), "the summary speaks of another manifest"),
    "an earlier observation": (complete, edit("summary.earlier.returned", 1), "a first observation has no earlier one"),
    "the calls": (complete, edit("summary.totals.calls", 3), "the summary's total of calls is 3; the calls give 2"),
    "the passes": (complete, edit("summary.totals.application_passes", 1), "the summary's total of application_passes"),
    "the SDK's retries": (
        complete,
        edit("summary.totals.sdk_retry_attempts", None),
        "the summary's total of sdk_retry_attempts is unknown; the calls give 0",
    ),
    "unknown capacity called 0": (
        complete,
        edit("summary.totals.consumed", 0.0),
        "the summary's total of consumed is 0.0; the calls give unknown",
    ),
    "a label raised": (
        complete,
        edit("summary.label", "observed"),
        "the summary is labelled observed, but its weakest answer is synthetic",
    ),
    "a label out of nowhere": (
        unanswered,
        edit("summary.label", "synthetic"),
        "the summary is labelled synthetic, but its weakest answer is unlabelled",
    ),
    "a label raised on one call": (
        complete,
        all_of(lambda file: file.observe(1), edit("summary.label", "observed")),
        "the summary is labelled observed, but its weakest answer is synthetic",
    ),
    "a label lowered": (
        complete,
        edit("summary.label", None),
        "the summary is labelled None, but its weakest answer is",
    ),
    "abandoned calls that there cannot have been": (
        complete,
        edit("summary.abandoned_calls", 1),
        "1 abandoned calls are more than were in flight, or than keys were left to ask",
    ),
    "abandoned calls hushed up": (
        interrupted,
        all_of(edit("call2.call", 3), edit("summary.abandoned_calls", 0)),
        "calls up to number 3 were started, but 2 are in the file and 0 were abandoned: a call is missing",
    ),
    "request ids": (complete, edit("summary.request_ids", ["r-1"]), "the summary's request ids are not those of the"),
    "request ids left out": (complete, edit("summary.request_ids_left_out", 1), "the summary's request ids are not"),
    # why it ended
    "a deadline": (
        exhausted,
        edit("summary.deadline.reached", True),
        "whether the deadline was reached does not go with",
    ),
    "another deadline": (exhausted, edit("summary.deadline.timeout_s", 9), "the summary's deadline is not that of the"),
    "an interruption called exhaustion": (
        interrupted,
        all_of(edit("summary.stop_reason", "passes_exhausted"), decide("retry")),
        "position 4 was left over 0 of 8 times",
    ),
    "exhaustion with a call in flight": (
        exhausted,
        edit("summary.abandoned_calls", 1),
        "a read that used up its passes has no call in flight to abandon",
    ),
    "a failure called a deadline": (
        failed,
        all_of(
            edit("summary.stop_reason", "deadline"),
            edit("summary.deadline.reached", True),
            edit("summary.terminal_error", None),
        ),
        "call 2 failed, which ends a read; it did not end by deadline",
    ),
    "completion with keys left": (
        exhausted,
        edit("summary.stop_reason", "complete"),
        "a read with 1 unresolved keys does not end by complete",
    ),
    "a terminal error out of nowhere": (
        exhausted,
        edit("summary.terminal_error", {"code": "X", "request_id": None, "transient": True}),
        "a terminal error belongs to a read that a failed call ended, not to an end by passes_exhausted",
    ),
    "a terminal error left out": (
        failed,
        edit("summary.terminal_error", None),
        "a terminal error belongs to a read that",
    ),
    "another terminal error": (
        failed,
        edit("summary.terminal_error.code", "Nicer"),
        "the terminal error is not that of a call in the file that could have ended the read",
    ),
    "the error of a call that was tried again": (
        fresh_credentials,
        all_of(
            in_set("call2.returned"),
            in_set("call2.unprocessed", 0, 1, 2, 3, 4),
            edit("call2.leftover_cause", "unknown"),
            in_set("summary.returned"),
            in_set("summary.unresolved", 0, 1, 2, 3, 4),
            edit("summary.complete", False),
            edit("summary.stop_reason", "request_failed"),
            lambda file: file.summary.update(terminal_error=file.call(1)["error"]),
        ),
        "the terminal error is not that of a call in the file that could have ended the read",
    ),
    "a broken invariant hushed up": (
        broken,
        all_of(
            edit("summary.stop_reason", "interrupted"),
            decide("hold"),
        ),
        "call 2 broke an invariant; the read did not end by interrupted",
    ),
    "a broken invariant made up": (
        exhausted,
        all_of(edit("summary.stop_reason", "invariant_broken"), decide("repair")),
        "no call broke an invariant, so the read did not end by it",
    ),
    # the decision
    "accept with unresolved keys": (
        interrupted,
        decide("accept"),
        "the decision is accept, but what the file shows leads to hold",
    ),
    "retry instead of hold": (
        interrupted,
        decide("retry"),
        "the decision is retry, but what the file shows leads to hold",
    ),
    "hold instead of retry": (
        exhausted,
        decide("hold"),
        "the decision is hold, but what the file shows leads to retry",
    ),
    "retry at the fifth observation": (
        fifth,
        decide("retry"),
        "the decision is retry, but what the file shows leads to",
    ),
    "accept under all with an absent key": (
        complete,
        decide("accept"),
        "the decision is accept, but what the file shows leads to reject",
    ),
    "accept under all with an earlier absent key": (
        resumed,
        edit("summary.earlier.processed_not_returned", 1),
        "the decision is accept, but what the file shows leads to reject",
    ),
    "accept under all with an absent key of then and one of now": (
        lambda: file_of(
            result_of(
                stepped(
                    lambda c: answer(c, absent="Z"),
                    observation=Observation("o-2", 2, "o-1", "o-1"),
                    earlier=Earlier(frozenset(), frozenset({"Y"})),
                )
            )
        ),
        decide("accept"),
        "the decision is accept, but what the file shows leads to reject",
    ),
    "reject under none": (
        complete,
        all_of(edit("header.policy", "none"), edit("summary.policy", "none")),
        "the decision is reject, but what the file shows leads to accept",
    ),
    "hold under the caller's own policy": (
        complete,
        all_of(edit("header.policy", "keys"), edit("summary.policy", "keys"), decide("hold")),
        "the decision is hold, but what the file shows leads to accept or reject",
    ),
    "retry after a broken invariant": (
        broken,
        decide("retry"),
        "the decision is retry, but what the file shows leads to repair",
    ),
    "another owner": (
        complete,
        edit("summary.decision.owner", "caller"),
        "the owner of reject is the application, not the caller",
    ),
    # calls: how they were made
    "a call with another consistency": (
        complete,
        edit("call2.request_hash", "0" * 64),
        "call 2 asked with another table, consistency or projection than the calls before it",
    ),
    "a call removed": (
        three_passes,
        all_of(without_call(2), edit("summary.totals.calls", 2)),
        "call 3 follows 1 others, but only 1 may be in flight at a time: a call is missing",
    ),
    "a call removed under concurrency": (
        three_passes,
        all_of(without_call(2), edit("header.bounds.concurrency", 4)),
        "call 3 is pass 2 of its keys, not 3",
    ),
    "a call removed with its trace in the passes": (
        three_passes,
        all_of(
            without_call(2),
            edit("header.bounds.concurrency", 4),
            edit("call3.application_pass", 2),
            edit("summary.totals.calls", 2),
            edit("summary.totals.application_passes", 2),
        ),
        "calls up to number 3 were started, but 2 are in the file and 0 were abandoned: a call is missing",
    ),
    "a call that settled keys removed": (
        overtaken,
        all_of(without_call(1), edit("summary.totals.calls", 1)),
        "the summary has position 0 as returned, but by the calls it ends unresolved",
    ),
    "a call twice": (
        exhausted,
        lambda file: file.lines.insert(4, copy.deepcopy(file.call(2))),
        "call 2 is there twice",
    ),
    "a later call twice": (
        overtaken,
        lambda file: file.lines.insert(3, copy.deepcopy(file.call(2))),
        "call 2 is there twice",
    ),
    "a call for nothing": (complete, in_set("call2.requested"), "call 2 asks for no key"),
    "a lower pass": (complete, edit("call2.application_pass", 1), "call 2 is pass 2 of its keys, not 1"),
    "a higher pass": (complete, edit("call1.application_pass", 2), "call 1 is pass 1 of its keys, not 2"),
    "a settled key sent again": (
        complete,
        all_of(in_set("call2.requested", 0, 1, 3), in_set("call2.returned", 0, 1, 3)),
        "call 2 asks again for position 0, which call 1 had settled",
    ),
    "an absent key sent again until it came": (
        complete,
        all_of(in_set("call2.requested", 1, 3, 4), in_set("call2.returned", 1, 3, 4)),
        "call 2 asks again for position 4, which call 1 had settled",
    ),
    "one key in two calls at a time": (
        left_over_twice,
        lambda file: file.lines.insert(3, file.lines.pop(4)),
        "calls 2 and 3 ask for position 2 at the same time",
    ),
    "passes beyond the bound": (
        exhausted,
        edit("header.bounds.max_passes", 1),
        "call 2 asks again for position 1 after all 1 passes",
    ),
    "passes not charged": (
        filled,
        all_of(edit("call1.leftover_cause", "unknown"), edit("call2.leftover_cause", "throttle")),
        "call 3 asks again for position 5 after all 2 passes",
    ),
    "a full answer that settled nothing": (
        three_passes,
        all_of(edit("header.bounds.max_passes", 2), edit("call2.leftover_cause", "response_size")),
        "call 3 asks again for position 1 after all 2 passes",
    ),
    "a key asked again after a final failure": (
        failed,
        all_of(
            lambda file: file.lines.insert(4, {**copy.deepcopy(file.call(2)), "call": 3, "application_pass": 3}),
        ),
        "call 3 asks again for position 1, but call 2's error was final",
    ),
    "a call started after a final failure": (
        failed_in_flight,
        all_of(edit("header.bounds.concurrency", 1)),
        "call 2 was started after call 1 had failed, which ends the read",
    ),
    "a key asked again that failed after the end": (
        failed_twice,
        call_again,
        "call 3 was started after call 1 had failed, which ends the read",
    ),
    "a key asked again by a call that may have been in flight": (
        failed_twice,
        all_of(edit("header.bounds.concurrency", 3), call_again),
        "call 3 asks again for position 2, but call 2's error was final",
    ),
    "a passing error although a lasting one followed": (
        failed_twice,
        all_of(lambda file: file.summary.update(terminal_error=file.call(1)["error"]), decide("retry")),
        "the terminal error is not that of a call in the file that could have ended the read",
    ),
    "a later error although the first was lasting": (
        refused_twice,
        lambda file: file.summary.update(terminal_error=file.call(4)["error"]),
        "the terminal error is not that of a call in the file that could have ended the read",
    ),
    "credentials refused for good, and asked again": (
        refused_credentials,
        call_again,
        "call 3 was started after call 2 had failed, which ends the read",
    ),
    "a call after a broken invariant": (
        broken,
        call_again,
        "call 3 ends after call 2, whose refused answer ends the read",
    ),
    # calls: what they brought back
    "two calls' results swapped": (overtaken, swap_results, "call 2: returned names keys it did not ask"),
    "a key both returned and left over": (
        exhausted,
        in_set("call2.returned", 1, 3),
        "call 2 says of position 3 both returned and unprocessed",
    ),
    "a key that nothing is said of": (
        exhausted,
        in_set("call2.returned"),
        "call 2 asked for position 1 and says nothing of it",
    ),
    "findings in another order": (
        complete,
        in_set("call2.returned", 3, 1),
        "call 2: returned names keys it did not ask, or in another order",
    ),
    "findings of a failed call": (
        failed,
        in_set("call2.returned", 1),
        "call 2 has no usable response, yet says something of its keys",
    ),
    "a position beyond the manifest": (
        complete,
        edit("call2.requested.positions", [1, 5]),
        "call 2: requested names position 5, which the manifest does not have",
    ),
    "more positions than there are keys": (
        complete,
        edit("call1.requested.positions", [[0, 4], [0, 4]]),
        "call 1: requested names position 0, which the manifest does not have",
    ),
    "a position twice": (complete, in_set("call2.requested", 1, 1), "call 2: requested names a position twice"),
    "a position that is none": (
        complete,
        edit("call2.requested.positions", [1, -3]),
        "call 2: requested: a position is neither a number nor a pair [first, last]",
    ),
    "a call's positions spelled otherwise": (
        complete,
        edit("call1.requested.positions", [0, 1, 2, 3, 4]),
        "call 1: requested: the positions are not spelled, or not counted, as the log does it",
    ),
    "a call's count": (
        complete,
        edit("call1.requested.count", 4),
        "call 1: requested: the positions are not spelled, or",
    ),
    "a call's hash": (
        complete,
        edit("call1.unprocessed.sha256", "0" * 64),
        "call 1: unprocessed: the hash is not that of",
    ),
    "a leftover cause without leftovers": (
        complete,
        edit("call2.leftover_cause", "unknown"),
        "call 2: a leftover cause belongs to a call that left keys over, and to no other",
    ),
    "leftovers without a cause": (complete, edit("call1.leftover_cause", None), "call 1: a leftover cause belongs to"),
    "an answer whose body was not proven whole": (
        complete,
        edit("call1.body_check", None),
        "call 1 does not say where its answer came from and how it was proven whole",
    ),
    "an answer from nowhere": (complete, edit("call1.label", None), "call 1 does not say where its answer came from"),
    "a length of a body that nobody saw": (
        complete,
        edit("call1.response_bytes", 9),
        "call 1: a body that was checked has a length, one that was not seen has none",
    ),
    "observed without a byte": (
        complete,
        edit("call1.label", "observed"),
        "call 1 is labelled observed, but not a byte of its answer was seen",
    ),
    "capacity of a failed call": (
        failed,
        edit("call2.consumed", 1.0),
        "call 2 has no usable response, yet tells its consumed",
    ),
    "a failed call called a broken invariant": (
        failed,
        edit("call2.invariant_broken", True),
        "call 2: invariant_broken does not go with its error",
    ),
    "a broken invariant called passing": (
        broken,
        edit("call2.error.transient", True),
        "call 2: invariant_broken does not go with its error",
    ),
    # header and manifest
    "a chain without its parent": (
        resumed,
        all_of(edit("header.observation.parent_id", None), edit("summary.observation.parent_id", None)),
        "observation 2 does not name the ones before it as a chain of observations does",
    ),
    "a second observation with another first": (
        resumed,
        edit("header.observation.first_id", "o-0"),
        "observation 2 does not name the ones before it as a chain of observations does",
    ),
    "a first observation with a parent": (
        complete,
        edit("header.observation.parent_id", "o-0"),
        "observation 1 does not name the ones before it as a chain of observations does",
    ),
    "plain keys with a token key": (
        plain,
        edit("header.tokens.key_id", "0123456789abcdef"),
        "the header names a token key for plain keys, or none for hashed ones",
    ),
    "a key without attributes": (complete, edit("header.key", []), "the header's key is not one attribute, or"),
    "a key attribute without a name": (
        complete,
        edit("header.key", [{"name": "", "type": "S"}]),
        "the header's key is not one attribute, or a partition and a sort attribute",
    ),
    "a key with one attribute twice": (
        complete,
        edit("header.key", [{"name": "pk", "type": "S"}] * 2),
        "the header's key is not one attribute, or a partition and a sort attribute",
    ),
    "a key asked for twice": (
        complete,
        lambda file: file.manifest["tokens"].__setitem__(4, file.manifest["tokens"][0]),
        f"the manifest has one key twice (token {HASHED.token('A')})",
    ),
    "a manifest that starts late": (
        complete,
        edit("manifest.from", 1),
        "the manifest goes on at position 1 instead of 0",
    ),
    "a manifest line without tokens": (
        complete,
        edit("manifest.tokens", []),
        "the manifest goes on at position 0 instead",
    ),
    "a manifest that is too long": (
        complete,
        edit("header.manifest_size", 4),
        "the manifest has more keys than the header's 4",
    ),
    "a manifest that is too short": (
        complete,
        edit("header.manifest_size", 6),
        "the manifest ends after 5 of the header's 6 keys",
    ),
    "a token of another kind": (
        plain,
        edit("manifest.tokens", ['{"S":"A"}', HASHED.token("B")]),
        "position 1 of the manifest has no token of kind plain",
    ),
    # the form
    "a member that nobody knows": (
        complete,
        edit("call1.remark", "all fine"),
        "has a member that the format does not know: remark",
    ),
    "a member left out": (complete, lambda file: file.call(1).pop("notes"), "lacks the member notes"),
    "a member inside left out": (
        complete,
        lambda file: file.summary["totals"].pop("calls"),
        "lacks the member totals.calls",
    ),
    "a member of another type": (
        complete,
        edit("summary.totals.calls", "2"),
        "totals.calls has a value that the format does",
    ),
    "true for 1": (complete, edit("call1.call", True), "call has a value that the format does not allow"),
    "text for an object": (complete, edit("summary.totals", "2"), "totals is no object"),
    "a kind that nobody knows": (complete, edit("call1.kind", "note"), "is of no kind that the format knows ('note')"),
    "a kind that is none": (complete, edit("call1.kind", ["call"]), "is of no kind that the format knows (['call'])"),
    "another schema on a line": (complete, edit("call1.schema", "x/2"), "is of schema x/2, not itemledger/evidence/1"),
    "a manifest after a call": (
        complete,
        lambda file: file.lines.insert(2, file.lines.pop(1)),
        "the manifest ends after 0 of the header's 5 keys",
    ),
    "two headers": (
        complete,
        lambda file: file.lines.insert(1, copy.deepcopy(file.header)),
        "a header line cannot follow a header line",
    ),
    "a manifest line at the end": (
        complete,
        lambda file: file.lines.insert(3, copy.deepcopy(file.manifest)),
        "a manifest line cannot follow a call line",
    ),
    "two summaries": (
        complete,
        lambda file: file.lines.insert(-1, copy.deepcopy(file.summary)),
        "a summary line cannot follow a summary line",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_falsification_is_found_although_its_chain_was_repaired(name: str) -> None:
    original, change, sentence = FORGERIES[name]
    raw = original()
    verify(raw)  # or the refusal would prove nothing
    file = Forged(raw)
    change(file)
    with pytest.raises(EvidenceError, match=r"^line \d+: " + re.escape(sentence)):
        verify(rechained(file.lines))


# ------------------------------------------------------------------------------------------ what a file cannot refute

#: Members of which one alone can be changed, chain repaired, in at least one of three files: what only the run itself
#: knew, bounds that the calls happened to keep to, the label of a call that failed, the order of keys that shared every
#: fate, and parts of sums that are unknown anyway.
IRREFUTABLE = {
    "call.consumed",
    "call.duration_ms",
    "call.label",
    "call.leftover_cause",
    "call.notes",
    "call.requested.positions",
    "header.bounds.backoff_base_s",
    "header.bounds.backoff_cap_s",
    "header.bounds.concurrency",
    "header.bounds.max_passes",
    "header.environment",
    "header.tables",
    "header.tokens.key_id",
    "header.unprocessed_keys_optional",
    "manifest.tokens",
    "summary.abandoned_calls",
    "summary.decision.next_action",
    "summary.duplicates_folded",
    "summary.earlier.returned",
}
WORDS = [
    *(member.value for words in (il.EvidenceLabel, BodyCheck, il.LeftoverCause, il.StopReason) for member in words),
    *(word for decision in il.Decision for word in (decision.label, decision.owner)),
    *("all", "none", "plain", "0123456789abcdef", "0" * 64),
]


def test_a_change_of_any_one_member_is_found_except_where_only_the_run_knew() -> None:
    unnoticed: dict[str, list[Line]] = {}
    for lines in (parsed(original()) for original in (exhausted, failed, resumed)):
        for i, line in enumerate(lines):
            for path, value in members(line):
                if path == ("prev",) or line["kind"] == "trailer":
                    continue  # a repaired chain has its own
                for other in others(value):
                    changed = copy.deepcopy(lines)
                    put(changed[i], path, other)
                    if is_accepted(rechained(changed)):
                        unnoticed.setdefault(f"{line['kind']}.{'.'.join(path)}", []).append(changed[i])
    assert IRREFUTABLE == unnoticed.keys()
    # What verify lets pass is still of the published form.
    assert [] == [fault for changes in unnoticed.values() for line in changes[::5] for fault in schema_faults(line)]


def members(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every member inside, objects and what they hold; the environment counts as one."""
    if path:
        yield path, value
    if isinstance(value, dict) and path != ("environment",):
        for name in value:
            yield from members(value[name], (*path, name))


def others(value: Any) -> Iterator[Any]:
    """Values of every type that JSON has, other than this one."""
    told: list[Any] = [None, True, False, 0, 1, 2, 2.5, "other", [], {}, [0]]
    if type(value) in (int, float):
        told += [value + 1, value - 1]
    if isinstance(value, str | None):
        told += WORDS
    if isinstance(value, str):
        told += [value + "x", value[:-1]]
    if isinstance(value, list):
        told += [value[:-1], value[1:], value[::-1], value + value[:1], [*value, "other"]]
    if isinstance(value, dict):
        told += [{**value, "other": 1}, {name: value[name] for name in list(value)[1:]}]
    yield from (other for other in told if other != value or type(other) is not type(value))


def put(line: Line, path: Sequence[str], value: Any) -> None:
    for name in path[:-1]:
        line = line[name]
    line[path[-1]] = value


def is_accepted(raw: Sequence[bytes]) -> bool:
    try:
        evidence.verify(raw)
    except EvidenceError:
        return False
    return True
