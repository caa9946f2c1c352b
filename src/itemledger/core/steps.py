"""What a driver is told to do, and what it is told of in return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from itemledger.core.answer import Answer, Failure
from itemledger.core.keys import Key
from itemledger.core.passes import PassEvidence
from itemledger.core.result import KeyOutcome
from itemledger.core.terms import Bounds, Observation, Settings

#: A key as a call carries it: the index of its table among the read's tables, and the canonical key.
SentKey: TypeAlias = tuple[int, Key]


class Outgoing(Protocol):
    """What a driver needs to know of a call."""

    @property
    def number(self) -> int: ...

    @property
    def operation(self) -> str:
        """The client's method."""

    @property
    def request(self) -> dict[str, Any]: ...


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


CallT = TypeVar("CallT", bound=Outgoing)
EndT_co = TypeVar("EndT_co", covariant=True)


class Run(Protocol[CallT, EndT_co]):
    """What a driver runs: it decides and never waits. A read of keys is one, a ledger's crew of workers another."""

    @property
    def done(self) -> bool: ...

    @property
    def in_flight(self) -> int:
        """How many calls were given out whose end is still to come."""

    @property
    def deadline(self) -> float:
        """When nothing is waited for any more, in the clock's seconds."""

    def due(self, now: float) -> Iterable[CallT | WaitUntil]:
        """The calls to start now, or when to ask again."""

    def answered(self, call: CallT, answer: Answer | Failure, now: float) -> EndT_co:
        """Takes a call's end, and says what it means."""


class Ticks:
    """A driver's clock: what has been waited for has passed, even on a clock that stands still."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._passed = float("-inf")

    def now(self) -> float:
        return max(self._clock(), self._passed)

    def passed(self, until: float) -> None:
        self._passed = max(self._passed, until)
