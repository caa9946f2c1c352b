"""An endpoint inside the process: it answers at once with bytes that lie ready, so hardly any cost is its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from benchmarks import items


class Endpoint:
    """Answers a request for a chunk of ``items.keys(count)``; it looks at the first key of the request and no further.

    With ``prepare`` every body is made beforehand, for measuring time; without, when it is asked for, for measuring
    memory.
    """

    def __init__(self, count: int, tails: Sequence[str], *, prepare: bool) -> None:
        self._count = count
        self._tails = tails
        self._ready: dict[tuple[int, bool], tuple[bytes, dict[str, str]]] = {}
        if prepare:
            for first in range(0, count, items.CALL_KEYS):
                self._ready |= {(first, capacity): self._make(first, capacity) for capacity in (False, True)}

    def client(self) -> Any:
        """A boto3 client whose requests end here, after all that the SDK does before it sends them."""
        session = boto3.session.Session("key-id", "secret", region_name="eu-west-1")
        config = Config(retries={"mode": "standard", "total_max_attempts": 3})
        client: Any = session.client("dynamodb", endpoint_url="http://127.0.0.1:9", config=config)
        client.meta.events.register("before-send.dynamodb.BatchGetItem", self._send)
        return client

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        sent: bytes = request.body
        first = items.first_number(sent)
        capacity = b"ReturnConsumedCapacity" in sent
        body, headers = self._ready.get((first, capacity)) or self._make(first, capacity)
        answered: Any = headers  # any mapping will do
        return AWSResponse(request.url, 200, answered, _Raw(body))

    def _make(self, first: int, capacity: bool) -> tuple[bytes, dict[str, str]]:
        asked = [items.key(number) for number in range(first, min(first + items.CALL_KEYS, self._count))]
        body = items.answer(asked, self._tails, capacity=capacity)
        return body, items.headers_for(body)


class _Raw:
    """As much of urllib3's response as botocore reads a body through."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._body
