"""What a driver is told to do, and what it is told of in return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from itemledger.core.keys import Key
from itemledger.core.passes import PassEvidence
from itemledger.core.result import KeyOutcome
from itemledger.core.terms import Bounds, Observation, Settings

#: A key as a call carries it: the index of its table among the read's tables, and the canonical key.
SentKey: TypeAlias = tuple[int, Key]


@dataclass(frozen=True, slots=True)
class Call:
    """Send ``request`` now and bring back its answer; ``sent`` are its keys, ``slots`` their places in the manifest."""

    number: int
    operation: str
    request: dict[str, Any]
    sent: Sequence[SentKey]
    slots: Sequence[int]
    application_pass: int
    started_at: float


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing to start before ``at``, in the clock's seconds; answers of calls in flight may come earlier."""

    at: float


Step: TypeAlias = Call | WaitUntil


@dataclass(frozen=True, slots=True)
class Opened:
    """A read of one table before its first call: its name, how it asks, and the manifest, fixed and in order."""

    observation: Observation
    settings: Settings
    bounds: Bounds
    keys: Sequence[Key]


@dataclass(frozen=True, slots=True)
class Progress:
    """One call's end: its evidence (an entry per table it asked), and the outcomes that are final now."""

    evidence: tuple[PassEvidence, ...]
    settled: tuple[KeyOutcome, ...]
