"""One attempt on the wire as a fault sees it: the request, the answer, and what a fault may ask the injector to do."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import zlib
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from itemledger.testing.script import ScriptError

FAULT_HEADER = "x-itemledger-fault"
"""Every answer the kit makes or edits carries the fault's name in this header."""
CRC_HEADER = "x-amz-crc32"

Json = dict[str, Any]  # Any: JSON of any depth


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: ``number`` counts all attempts of this injector from 1, ``sdk_attempt`` those of one SDK call.

    ``sdk_attempt`` is the SDK's own count from its ``amz-sdk-request`` header, ``None`` where it sends none.
    """

    number: int
    operation: str
    url: str
    body: bytes = field(repr=False)
    sdk_attempt: int | None = None

    @property
    def request(self) -> Json:
        """The request body as it goes over the wire (binary values are base64 text there)."""
        return _object(self.body, "the request")

    @property
    def request_id(self) -> str:
        """The id that made-up answers to this attempt carry."""
        return f"SYNTHETIC-{self.number}"


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """Status, headers and body bytes of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @classmethod
    def of(
        cls,
        body: Mapping[str, Any] | bytes,
        *,
        status: int = 200,
        request_id: str,
        headers: Iterable[tuple[str, str]] = (),
    ) -> Self:
        """An intact answer with a checksum; ``headers`` come last and may replace any of it."""
        raw = body if isinstance(body, bytes) else encode(body)
        return cls(
            status,
            {
                "content-type": "application/x-amz-json-1.0",
                "content-length": str(len(raw)),
                "x-amzn-requestid": request_id,
                CRC_HEADER: crc32(raw),
                **{name.lower(): value for name, value in headers},
            },
            raw,
        )

    def json(self) -> Json:
        return _object(self.body, "the answer to edit")

    def with_json(self, body: Mapping[str, Any]) -> Self:
        """The answer with another body, whole: length and checksum fit it."""
        return self.with_body(encode(body)).with_crc(None)

    def with_body(self, body: bytes) -> Self:
        """The answer with other bytes under the old checksum; the length fits, so that the transport sees no fault."""
        return replace(self, body=body, headers={**self.headers, "content-length": str(len(body))})

    def with_crc(self, value: str | None) -> Self:
        """The answer with ``value`` as its checksum, or with the one that is right for its body."""
        return replace(self, headers={**self.headers, CRC_HEADER: value or crc32(self.body)})

    def without_crc(self) -> Self:
        return replace(self, headers={name: value for name, value in self.headers.items() if name != CRC_HEADER})


@dataclass(frozen=True, slots=True)
class Forward:
    """Send the request for real, with ``body`` in place of its own where given; the answer comes back."""

    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Let ``seconds`` pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Block until ``event`` is set, at most ``at_most_s`` seconds."""

    event: threading.Event | asyncio.Event
    at_most_s: float


Need = Forward | Pause | WaitFor
Plan = Generator[Need, WireAnswer | None, WireAnswer | None]
"""A fault at work: it yields what it needs and returns the answer, or ``None`` to let the SDK send by itself."""


def encode(body: Mapping[str, Any]) -> bytes:
    """JSON as the service writes it; ``bytes`` become base64, so typed items of the low-level client fit in."""
    return json.dumps(body, default=_base64, separators=(",", ":")).encode()


def crc32(body: bytes) -> str:
    return str(zlib.crc32(body))


def _base64(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no place in a DynamoDB answer; write items in typed form")


def _object(body: bytes, what: str) -> Json:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ScriptError(f"{what} is not a JSON object: {body[:80]!r}")
    return value
