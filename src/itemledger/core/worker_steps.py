"""What a ledger's worker asks of its driver, one step at a time; a test scheduler may delay or crash at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from itemledger.core.answer import Answer, Failure
from itemledger.core.batches import Ask, CallEvidence, Move
from itemledger.core.rows import Row
from itemledger.core.write_api import Replay


@dataclass(frozen=True, slots=True)
class Claim:
    """Ask the store what is due; its Claimed comes back."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Load:
    """Bring the entries of these rows, in order, each proven to be what was planned; SourceChangedError names those
    that are not."""

    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Write down that the call begins now; ClaimLostError comes back where it must not."""

    epoch: int
    replay: Replay | None


@dataclass(frozen=True, slots=True)
class Call:
    """Make one call with the client; its Ended comes back, whatever happens."""

    epoch: int
    operation: str
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended, and after how many milliseconds."""

    end: Answer | Failure
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Record:
    """Write down what the call means for every row of the batch."""

    epoch: int
    evidence: CallEvidence
    moves: Sequence[Move]


@dataclass(frozen=True, slots=True)
class Release:
    """Give the claim back unsent, some of its rows to be set aside; one that is lost already is no error."""

    epoch: int
    set_aside: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is due for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Alert:
    """A row that will not be sent again needs a person: no payload, no message of the provider is in it."""

    row: int
    item_id: str
    operation_id: str
    attempts: int
    reason: str
    code: str | None
    request_id: str | None


def alert_of(row: Row, reason: str, code: str | None, request_id: str | None) -> Alert:
    """What may be told of a row."""
    return Alert(row.number, row.item_id, row.operation_id, row.attempts, reason, code, request_id)


Step: TypeAlias = Claim | Load | Dispatch | Call | Record | Release | Pause | Alert
