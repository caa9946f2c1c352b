"""Faults that need no answer of the engine: refusals, lost connections, slow calls, made-up bodies."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from itemledger.testing.wire import Attempt, Forward, Pause, Plan, WaitFor, WireAnswer

TransportError = (
    type[ConnectionClosedError] | type[EndpointConnectionError] | type[ConnectTimeoutError] | type[ReadTimeoutError]
)


class Fault(ABC):
    """What happens to one attempt; each subclass is one kind, as plain data.

    For a fault that is not here, ``Edit`` changes a real answer in any way, ``Answer`` is any answer, ``Raise`` any
    exception.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """What the log and the ``x-itemledger-fault`` header say."""
        return type(self).__name__

    @abstractmethod
    def play(self, attempt: Attempt) -> Plan:
        """The fault at work, for the injector; it raises where the connection is to fail."""


class _MadeUp(Fault):
    """A fault that is nothing but an answer; the request goes nowhere."""

    __slots__ = ()

    def play(self, attempt: Attempt) -> Plan:
        yield from ()
        return self._answer(attempt)

    @abstractmethod
    def _answer(self, attempt: Attempt) -> WireAnswer: ...


@dataclass(frozen=True, slots=True)
class Answer(_MadeUp):
    """An answer of your own; a mapping is written as JSON with the right checksum (``bytes`` in items as base64).

    ``headers`` replace or add; ``crc=False`` leaves the checksum out.
    """

    body: Mapping[str, Any] | bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    crc: bool = True

    def _answer(self, attempt: Attempt) -> WireAnswer:
        answer = WireAnswer.of(
            self.body, status=self.status, request_id=attempt.request_id, headers=self.headers.items()
        )
        return answer if self.crc else answer.without_crc()


@dataclass(frozen=True, slots=True)
class Throttle(_MadeUp):
    """A whole call refused for load; nothing was processed.

    ``reasons`` are pairs of reason and resource, such as ``("TableReadProvisionedThroughputExceeded", arn)``; the
    member they are sent under is spelled as this exception has it.
    """

    code: str = "ProvisionedThroughputExceededException"
    reasons: Sequence[tuple[str, str]] = ()

    def _answer(self, attempt: Attempt) -> WireAnswer:
        # The service model spells the member differently: lower case in ThrottlingException only.
        member = "throttlingReasons" if self.code == "ThrottlingException" else "ThrottlingReasons"
        reasons = [{"reason": reason, "resource": resource} for reason, resource in self.reasons]
        return _service_error(attempt, 400, self.code, "Refused for load.", {member: reasons} if reasons else {})


@dataclass(frozen=True, slots=True)
class ServerError(_MadeUp):
    """A failure inside the service: whether anything was processed is not known."""

    status: int = 500
    code: str = "InternalServerError"

    def _answer(self, attempt: Attempt) -> WireAnswer:
        return _service_error(attempt, self.status, self.code, "Internal server error.")


@dataclass(frozen=True, slots=True)
class ExpiredToken(_MadeUp):
    """Temporary credentials that ran out between two calls."""

    def _answer(self, attempt: Attempt) -> WireAnswer:
        return _service_error(attempt, 400, "ExpiredTokenException", "The security token is expired.")


@dataclass(frozen=True, slots=True)
class EmptyBody(_MadeUp):
    """A 200 without a single byte and without a checksum; the request went nowhere (``CutBody(at=0)`` sends it)."""

    def _answer(self, attempt: Attempt) -> WireAnswer:
        return WireAnswer.of(b"", request_id=attempt.request_id).without_crc()


@dataclass(frozen=True, slots=True)
class NotJson(_MadeUp):
    """A page of something between client and service, by default a 200 in HTML, without checksum or request id.

    The request went nowhere.
    """

    text: bytes = b"<html><body>Please sign in to the network.</body></html>"
    status: int = 200

    def _answer(self, attempt: Attempt) -> WireAnswer:
        headers = {"content-type": "text/html", "content-length": str(len(self.text))}
        return WireAnswer(self.status, headers, self.text)


@dataclass(frozen=True, slots=True)
class ResetBefore(Fault):
    """The connection fails before anything is sent: certainly not processed, though the caller cannot know."""

    error: TransportError = EndpointConnectionError

    def play(self, attempt: Attempt) -> Plan:
        yield from ()
        raise self.error(endpoint_url=attempt.url)


@dataclass(frozen=True, slots=True)
class ResetAfter(Fault):
    """The request is carried out for real and its answer is lost: a read timeout, or a closed connection."""

    error: TransportError = ReadTimeoutError

    def play(self, attempt: Attempt) -> Plan:
        yield Forward()
        raise self.error(endpoint_url=attempt.url)


@dataclass(frozen=True, slots=True)
class Raise(Fault):
    """Any exception in place of an answer, also one the SDK never documents."""

    exception: BaseException

    def play(self, attempt: Attempt) -> Plan:
        yield from ()
        raise self.exception


@dataclass(frozen=True, slots=True)
class Slow(Fault):
    """``seconds`` pass (through the injector's ``sleep``) before the request goes out, or before ``then`` happens."""

    seconds: float
    then: Fault | None = None

    @property
    def name(self) -> str:
        return _chained("Slow", self.then)

    def play(self, attempt: Attempt) -> Plan:
        yield Pause(self.seconds)
        return None if self.then is None else (yield from self.then.play(attempt))


@dataclass(frozen=True, slots=True)
class Hang(Fault):
    """Blocks until ``event`` is set, then lets the request go out, or ``then`` happen.

    ``reached`` is set as soon as the call hangs, so that a test can act while it is in flight without guessing a time.
    Use ``threading.Event`` for boto3 and ``asyncio.Event`` for aiobotocore. A hang that nobody releases within
    ``at_most_s`` fails the test.
    """

    event: threading.Event | asyncio.Event
    reached: threading.Event | asyncio.Event | None = None
    then: Fault | None = None
    at_most_s: float = 30.0

    @property
    def name(self) -> str:
        return _chained("Hang", self.then)

    def play(self, attempt: Attempt) -> Plan:
        if self.reached is not None:
            self.reached.set()
        yield WaitFor(self.event, self.at_most_s)
        return None if self.then is None else (yield from self.then.play(attempt))


FaultChooser = Callable[[Attempt], Fault | None]


def _chained(name: str, then: Fault | None) -> str:
    return name if then is None else f"{name}+{then.name}"


def _service_error(
    attempt: Attempt, status: int, code: str, message: str, members: Mapping[str, Any] | None = None
) -> WireAnswer:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **(members or {})}
    return WireAnswer.of(body, status=status, request_id=attempt.request_id)
