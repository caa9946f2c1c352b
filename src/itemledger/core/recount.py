"""What the calls of an evidence file prove, counted anew from its header, its manifest and its call lines alone.

Memory per key: its token, a byte for where it stands, and three small integers. Sentences name keys by position.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from itemledger.core.answer import BodyCheck, EvidenceLabel, weakest
from itemledger.core.evidence import REQUEST_IDS
from itemledger.core.passes import LeftoverCause
from itemledger.core.reconcile import READ_FINDINGS, Finding
from itemledger.core.token_manifest import Line, TokenManifest
from itemledger.errors import EvidenceError, LedgerInvariantError

#: From the parsed header to the request_hash that every call of the run must carry.
RequestHash: TypeAlias = Callable[[Line], str]

# Where a key stands; FAILED: the last call that asked for it had no usable response.
PENDING, RETURNED, ABSENT, FAILED = range(4)
_SETTLED = {Finding.RETURNED: RETURNED, Finding.PROCESSED_NOT_RETURNED: ABSENT}


@dataclass(slots=True)
class Failed:
    """A call without a usable response.

    ``final`` when it must have ended the read; ``tried_again`` once its keys were asked again, which only refused
    credentials allow. A cause that does not pass may be either until then: codes are not judged here.
    """

    call: int
    error: Line
    final: bool
    tried_again: bool = False


class Recount:
    """Takes the lines before the summary in; EvidenceError at the first that cannot be true."""

    def __init__(self, header: Line, request_hash: RequestHash | None) -> None:
        self.header = header
        self.concurrency: int = header["bounds"]["concurrency"]
        self.max_passes: int = header["bounds"]["max_passes"]
        #: Calls that several tables share are only partly in this file, so their numbers have gaps here.
        self.shared = header["tables"] > 1
        self.manifest = TokenManifest(header)
        self.standing = bytearray()
        self.charged = array("I")
        self.failed: dict[int, Failed] = {}  # by call
        self.broken_call: int | None = None
        self.calls = 0
        self.highest_call = 0
        self.application_passes = 0
        self.sdk_retry_attempts: int | None = 0
        self.consumed: float | None = 0.0
        self.label: EvidenceLabel | None = None  # the weakest of those that came back
        self.request_ids: deque[str] = deque(maxlen=REQUEST_IDS)
        self.request_ids_seen = 0
        self._request_hash = request_hash
        self._shape: str | None = None
        self._asked = array("I")
        self._last_call = array("Q")
        self._contiguous = 0  # every call up to this number has ended, …
        self._ahead: set[int] = set()  # … and these beyond it
        # The highest calls that can have been in flight when credentials were first refused, and when the read ended.
        self._refused_by = self._ended_by = 0

    def close_manifest(self) -> None:
        """The manifest is whole, so every key has its place."""
        count = self.manifest.close()
        self.standing = bytearray(count)
        self.charged, self._asked = array("I", bytes(4 * count)), array("I", bytes(4 * count))
        self._last_call = array("Q", bytes(8 * count))

    def call(self, line: Line) -> None:
        number: int = line["call"]
        self._check_number(number)
        self._check_shape(line)
        requested = self.manifest.positions(line["requested"], f"call {number}: requested")
        if not requested:
            raise EvidenceError(f"call {number} asks for no key")
        self._ask(number, requested)
        own_pass = max(self._asked[p] for p in requested)
        if line["application_pass"] < own_pass or (line["application_pass"] > own_pass and not self.shared):
            raise EvidenceError(f"call {number} is pass {own_pass} of its keys, not {line['application_pass']}")
        findings = self._findings(line, requested)
        _check_answer(line, Finding.UNPROCESSED in findings, self.shared)
        if line["error"] is None:
            self._settle(line, requested, findings)
        else:
            self._fail(line, requested)
        self._add_up(line)

    def _check_number(self, number: int) -> None:
        if self.broken_call is not None:
            raise EvidenceError(f"call {number} ends after call {self.broken_call}, whose refused answer ends the read")
        if number <= self._contiguous or number in self._ahead:
            raise EvidenceError(f"call {number} is there twice")
        if not self.shared and number > self.calls + self.concurrency:
            raise EvidenceError(
                f"call {number} follows {self.calls} others, but only {self.concurrency} may be in flight at a time: "
                "a call is missing"
            )
        if self._ended_by and not self.shared and number > self._ended_by:
            final = next(failed.call for failed in self.failed.values() if failed.final)
            raise EvidenceError(f"call {number} was started after call {final} had failed, which ends the read")
        self._ahead.add(number)
        while self._contiguous + 1 in self._ahead:
            self._contiguous += 1
            self._ahead.remove(self._contiguous)

    def _check_shape(self, line: Line) -> None:
        number, shape = line["call"], line["request_hash"]
        if self._shape is None:
            self._shape = shape if self._request_hash is None else self._request_hash(self.header)
            if shape != self._shape:
                raise EvidenceError(
                    f"call {number} was not made as the header says: its request_hash is that of another table, "
                    "consistency or projection"
                )
        if shape != self._shape:
            raise EvidenceError(
                f"call {number} asked with another table, consistency or projection than the calls before it"
            )

    def _ask(self, number: int, requested: Iterable[int]) -> None:
        for p in requested:
            standing, before = self.standing[p], self._last_call[p]
            if before > number:
                raise EvidenceError(f"calls {number} and {before} ask for position {p} at the same time")
            if standing in (RETURNED, ABSENT):
                raise EvidenceError(f"call {number} asks again for position {p}, which call {before} had settled")
            if standing == FAILED:
                if self.failed[before].final:
                    raise EvidenceError(
                        f"call {number} asks again for position {p}, but call {before}'s error was final"
                    )
                self.failed[before].tried_again = True
                self.standing[p] = PENDING
            if self.charged[p] >= self.max_passes:
                raise EvidenceError(f"call {number} asks again for position {p} after all {self.max_passes} passes")
            self._asked[p] += 1
            self._last_call[p] = number

    def _findings(self, line: Line, requested: Sequence[int]) -> list[Finding]:
        """Aligned with what was requested; empty when the call had no usable response."""
        number: int = line["call"]
        named: dict[int, Finding] = {}
        for finding in READ_FINDINGS:
            members = self.manifest.positions(line[finding.value], f"call {number}: {finding}")
            for p in members:
                if p in named:
                    raise EvidenceError(f"call {number} says of position {p} both {named[p]} and {finding}")
                named[p] = finding
            if members != [p for p in requested if named.get(p) is finding]:
                raise EvidenceError(f"call {number}: {finding} names keys it did not ask, or in another order")
        if line["error"] is not None:
            if named:
                raise EvidenceError(f"call {number} has no usable response, yet says something of its keys")
            return []
        silent = next((p for p in requested if p not in named), None)
        if silent is not None:
            raise EvidenceError(f"call {number} asked for position {silent} and says nothing of it")
        return [named[p] for p in requested]

    def _settle(self, line: Line, requested: Sequence[int], findings: Sequence[Finding]) -> None:
        processed = len(findings) - findings.count(Finding.UNPROCESSED)
        # Leftovers that the answer's size explains are not charged, provided that the call settled something. Of a
        # shared call this file does not show what it settled elsewhere.
        free = line["leftover_cause"] == LeftoverCause.RESPONSE_SIZE and (processed or self.shared)
        for p, finding in zip(requested, findings, strict=True):
            if finding in _SETTLED:
                self.standing[p] = _SETTLED[finding]
            elif not free:
                self.charged[p] += 1

    def _fail(self, line: Line, requested: Sequence[int]) -> None:
        """Refused credentials may be tried once more: those calls that were in flight when the first was refused."""
        number, in_flight = line["call"], self.calls + self.concurrency
        if line["invariant_broken"]:
            self.broken_call = number
            return
        if self._refused_by == 0:
            self._refused_by = in_flight
        refused_again = number > self._refused_by and not self.shared
        final = line["error"]["transient"] or self._ended_by != 0 or refused_again
        if final and self._ended_by == 0:
            self._ended_by = in_flight
        self.failed[number] = Failed(number, line["error"], final)
        for p in requested:
            self.standing[p] = FAILED

    def _add_up(self, line: Line) -> None:
        if line["label"] is not None:
            label = EvidenceLabel(line["label"])
            self.label = label if self.label is None else weakest((self.label, label))
        self.calls += 1
        self.highest_call = max(self.highest_call, line["call"])
        if line["error"] is None:  # a pass ends in usable responses
            self.application_passes = max(self.application_passes, line["application_pass"])
        self.sdk_retry_attempts = _sum(self.sdk_retry_attempts, line["sdk_retry_attempts"])
        self.consumed = _sum(self.consumed, line["consumed"])
        if line["request_id"] is not None:
            self.request_ids.append(line["request_id"])
            self.request_ids_seen += 1


def _check_answer(line: Line, left_over: bool, shared: bool) -> None:
    """A usable answer was proven whole; a call without one shows nothing that only an answer can tell."""
    number, error = line["call"], line["error"]
    broken = error is not None and error["code"] == LedgerInvariantError.__name__
    if line["invariant_broken"] != broken or (broken and error["transient"]):
        raise EvidenceError(f"call {number}: invariant_broken does not go with its error")
    if error is not None:
        told = [
            name for name in ("body_check", "response_bytes", "leftover_cause", "consumed") if line[name] is not None
        ]
        if told:
            raise EvidenceError(f"call {number} has no usable response, yet tells its {told[0]}")
        return
    if line["body_check"] is None or line["label"] is None:
        raise EvidenceError(f"call {number} does not say where its answer came from and how it was proven whole")
    if (line["body_check"] == BodyCheck.UNSEEN) != (line["response_bytes"] is None):
        raise EvidenceError(f"call {number}: a body that was checked has a length, one that was not seen has none")
    if (line["leftover_cause"] is not None) != left_over and not (shared and not left_over):
        raise EvidenceError(f"call {number}: a leftover cause belongs to a call that left keys over, and to no other")
    if line["label"] == EvidenceLabel.OBSERVED and line["body_check"] == BodyCheck.UNSEEN:
        raise EvidenceError(f"call {number} is labelled observed, but not a byte of its answer was seen")


def _sum(total: Any, more: Any) -> Any:
    """What is unknown of one call is unknown of the sum."""
    return None if total is None or more is None else total + more
