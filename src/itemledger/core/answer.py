"""What one call brought back, in the one form the core sees: an answer, or a failure with its cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any


class EvidenceLabel(StrEnum):
    """How much an answer can prove, weakest first; taken from the answer itself and never raised afterwards."""

    DOCUMENTED = "documented"
    """A document says so; it proves nothing about this run."""
    EXPECTED = "expected"
    """Computed beforehand, not seen."""
    SYNTHETIC = "synthetic"
    """Seen, but stubbed, injected, in-process or from a local endpoint."""
    OBSERVED = "observed"
    """Came over a socket from an AWS host name."""


_STRENGTH = {label: strength for strength, label in enumerate(EvidenceLabel)}


def weakest(labels: Iterable[EvidenceLabel]) -> EvidenceLabel:
    """The label a result may carry: that of the weakest answer it rests on. Raises ValueError when there is none."""
    return min(labels, key=_STRENGTH.__getitem__)


class BodyCheck(StrEnum):
    """How an answer's body was proven whole."""

    CRC32 = "crc32"
    """Its bytes match the ``x-amz-crc32`` header."""
    JSON = "json"
    """No checksum came with it; the bytes parse as one JSON object."""
    XML = "xml"
    """No checksum came with it; the bytes parse as one XML document."""
    UNSEEN = "unseen"
    """There were no bytes to look at: a stub, or a client that shows none."""


class FailureCause(Enum):
    """Why there is no usable response; the value says whether the cause can pass by itself."""

    THROTTLED = ("throttled", True)
    """The service refused for load."""
    TRANSIENT = ("transient", True)
    """5xx, timeout, connection lost: may or may not have been processed."""
    DAMAGED = ("damaged", True)
    """A 200 whose body was cut, empty, not JSON, or failed its checksum."""
    CREDENTIALS = ("credentials", False)
    """Expired or unknown credentials."""
    REFUSED = ("refused", False)
    """Validation, authorisation, missing table: the same call will be refused again."""
    UNKNOWN = ("unknown", False)
    """A code or an exception that no document names; it is not guessed."""

    def __init__(self, label: str, passing: bool) -> None:
        self.label = label
        self.passing = passing


@dataclass(frozen=True, slots=True)
class TerminalError:
    """The error that ended a read. ``message`` may quote names from the request: keep it out of shared logs."""

    code: str
    message: str
    request_id: str | None
    transient: bool

    def __str__(self) -> str:
        return f"{self.code}; request_id={self.request_id or 'none'}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable response: its members as a mapping, and what was seen on the way.

    ``sdk_retry_attempts`` is ``None`` when the client did not tell; ``sdk_throttled`` means that an earlier attempt
    of the same call was refused for load; ``response_bytes`` is the body's length on the wire, ``None`` when unseen.
    """

    response: Mapping[str, Any]
    request_id: str | None = None
    sdk_retry_attempts: int | None = None
    label: EvidenceLabel = EvidenceLabel.SYNTHETIC
    body_check: BodyCheck = BodyCheck.UNSEEN
    sdk_throttled: bool = False
    response_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """No usable response: nothing is proven of any item that was sent. ``label`` is ``None`` when nothing came back.

    ``throttled_by`` are the service's reasons for a throttle, such as ``TableReadKeyRangeThroughputExceeded``.
    """

    cause: FailureCause
    code: str
    message: str
    request_id: str | None = None
    sdk_retry_attempts: int | None = None
    label: EvidenceLabel | None = None
    throttled_by: tuple[str, ...] = ()

    @property
    def error(self) -> TerminalError:
        return TerminalError(self.code, self.message, self.request_id, self.cause.passing)
