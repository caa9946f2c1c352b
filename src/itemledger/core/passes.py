"""What the calls of a read left behind: an entry each, and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from itemledger.core.answer import BodyCheck, EvidenceLabel, TerminalError, weakest
from itemledger.core.keys import Key
from itemledger.core.reconcile import Finding


class LeftoverCause(StrEnum):
    """Why keys were left over, as far as the response shows."""

    RESPONSE_SIZE = "response_size"
    """The answer is as large as the service makes them (1 MB per partition, 16 MB in all)."""
    THROTTLE = "throttle"
    """An earlier SDK attempt of the same call was refused for load."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PassEvidence:
    """What one call left behind. ``positions`` are the keys' places in the manifest; ``findings`` is aligned with both.

    ``findings`` is empty when the call ended without a usable response; ``error`` then says how, and ``label`` is
    ``None`` when nothing came back at all. ``consumed`` is in read capacity units, ``None`` when the service did not
    say. ``sdk_retry_attempts`` stands beside the pass, never added to it.
    """

    application_pass: int
    call: int
    requested: tuple[Key, ...]
    positions: tuple[int, ...]
    findings: tuple[Finding, ...]
    duration_ms: float
    label: EvidenceLabel | None
    request_hash: str
    request_id: str | None = None
    sdk_retry_attempts: int | None = None
    leftover_cause: LeftoverCause | None = None
    body_check: BodyCheck | None = None
    response_bytes: int | None = None
    consumed: float | None = None
    notes: tuple[str, ...] = ()
    error: TerminalError | None = None

    @property
    def returned(self) -> tuple[Key, ...]:
        return self._found(Finding.RETURNED)

    @property
    def processed_not_returned(self) -> tuple[Key, ...]:
        return self._found(Finding.PROCESSED_NOT_RETURNED)

    @property
    def unprocessed(self) -> tuple[Key, ...]:
        return self._found(Finding.UNPROCESSED)

    def _found(self, finding: Finding) -> tuple[Key, ...]:
        return tuple(key for key, found in zip(self.requested, self.findings, strict=False) if found is finding)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the calls of one read. ``None`` is "unknown", when any call did not tell; it is never 0.

    A call shared by several tables counts in full for each. ``label`` is the weakest among the answers that came back,
    ``None`` when none did; application passes and SDK retry attempts are two numbers and never added up.
    """

    calls: int = 0
    application_passes: int = 0
    sdk_retry_attempts: int | None = 0
    consumed: float | None = 0.0
    label: EvidenceLabel | None = None

    def plus(self, entry: PassEvidence) -> Totals:
        usable = entry.error is None  # a pass ends in usable responses
        return Totals(
            self.calls + 1,
            max(self.application_passes, entry.application_pass if usable else 0),
            known_sum(self.sdk_retry_attempts, entry.sdk_retry_attempts),
            known_sum(self.consumed, entry.consumed),
            self.label if entry.label is None else weakest(label for label in (self.label, entry.label) if label),
        )


NumberT = TypeVar("NumberT", int, float)


def known_sum(total: NumberT | None, more: NumberT | None) -> NumberT | None:
    """A sum that is unknown as soon as one part is."""
    return None if total is None or more is None else total + more
