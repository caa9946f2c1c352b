"""How an operation stands after a run of work, and what one call of it moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from itemledger.core.answer import TerminalError
from itemledger.core.decision import Decision
from itemledger.core.outcome import Outcome


class WorkStop(StrEnum):
    """Why a run of work ended."""

    DONE = "done"
    """Nothing is left that a worker could move."""
    DEADLINE = "deadline"
    BLOCKED = "blocked"
    """An error that every further call would meet too: credentials, authorisation, a missing target."""
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class WorkResult:
    """Where an operation stands after a run of work, by the store's own count.

    ``counts`` adds up to what was planned. ``calls`` and ``sdk_retry_attempts`` are those of this run, ``waiting`` the
    rows that only a person moves on, ``abandoned_calls`` those still in flight at its end: their rows go to reconcile
    when the lease has run out.
    """

    operation_id: str
    counts: Mapping[Outcome, int]
    waiting: int
    stop: WorkStop
    calls: int = 0
    sdk_retry_attempts: int = 0
    abandoned_calls: int = 0
    terminal_error: TerminalError | None = None

    @property
    def planned(self) -> int:
        return sum(self.counts.values())

    @property
    def complete(self) -> bool:
        """Every row has its end: succeeded or terminal."""
        return self.planned == self.counts[Outcome.SUCCEEDED] + self.counts[Outcome.TERMINAL]

    @property
    def decision(self) -> Decision:
        """By the truth table of the reads: rows without an end that wait for a person, or a cause that does not pass,
        hold; open rows retry; refused rows reject; all succeeded accepts."""
        if self.complete:
            return Decision.REJECT if self.counts[Outcome.TERMINAL] else Decision.ACCEPT
        if self.stop in (WorkStop.BLOCKED, WorkStop.INTERRUPTED):
            return Decision.HOLD
        return Decision.HOLD if self.stop is WorkStop.DONE else Decision.RETRY


@dataclass(frozen=True, slots=True)
class Progress:
    """One call's end: how many rows it moved whereto, and how the run stands."""

    moved: Mapping[Outcome, int]
    late: bool
    calls: int
    sdk_retry_attempts: int
