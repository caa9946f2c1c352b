"""Stands between workers and an engine: forwards, delays, loses and holds, and keeps a journal of what went by."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import random
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from tests.local_http import Reply, Request, serving

Json = dict[str, Any]
GIVE_UP_S = 60.0
WRITES = ("BatchWriteItem", "SendMessageBatch")


class Way(Enum):
    """What becomes of one call."""

    THROUGH = "through"
    ANSWER_LOST = "answer lost"
    """The engine does it, and nobody hears of it."""
    REQUEST_LOST = "request lost"
    THROTTLED = "throttled"
    """The proxy refuses all of it in the service's words; the engine sees nothing."""


@dataclass(slots=True)
class Passed:
    """One call as the wire saw it: what it named, and what its answer (if there was one) proved of each."""

    number: int
    operation: str
    names: tuple[str, ...]
    way: Way = Way.THROUGH
    forwarded: bool = False
    ended: int | None = None
    """The wire's count when the engine had answered, or the proxy had refused."""
    absent: frozenset[str] = frozenset()
    """What a look-up did not find."""

    @property
    def writes(self) -> bool:
        return self.operation in WRITES


Deciding = Callable[[Passed], Way]


@dataclass(slots=True)
class Wire:
    """``deciding`` is asked for each call in the thread of its connection, and may hold it there."""

    engine_url: str
    endpoint_url: str = ""
    deciding: Deciding = lambda passed: Way.THROUGH
    answering: Callable[[Passed], None] = lambda passed: None
    """Asked when the engine has answered, before the answer goes back."""
    journal: list[Passed] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Everything that a test holds waits for this one, which is set at the test's end."""
    _idle: threading.Condition = field(default_factory=threading.Condition)
    _busy: int = 0
    _count: int = 0

    def writes(self) -> list[Passed]:
        return [passed for passed in self.journal if passed.writes]

    def sends(self) -> Counter[str]:
        """How often each item was on the wire."""
        return Counter(name for passed in self.writes() for name in passed.names)

    def wait_until_idle(self) -> None:
        """No call is on its way any more, not even one of a worker that is gone."""
        with self._idle:
            assert self._idle.wait_for(lambda: self._busy == 0, GIVE_UP_S), "a call is still held"

    def hold(self) -> None:
        assert self.released.wait(GIVE_UP_S)

    def unproven(self) -> list[str]:
        """Items sent again though the send before had an unknown end and no look-up since then showed them absent."""
        allowed: dict[str, bool] = defaultdict(lambda: True)
        events: list[tuple[int, int, Passed]] = []
        for passed in self.journal:
            events.append((passed.number, 0, passed))
            if passed.ended is not None:
                events.append((passed.ended, 1, passed))
        found = []
        for _, end, passed in sorted(events, key=lambda event: event[:2]):
            if passed.writes and not end:
                found += [name for name in passed.names if not allowed[name]]
                allowed.update(dict.fromkeys(passed.names, False))
            elif passed.writes:
                if passed.way is Way.THROTTLED:
                    allowed.update(dict.fromkeys(passed.names, True))
            elif end:
                allowed.update(dict.fromkeys(passed.absent, True))
        return found

    def _answer(self, request: Request) -> Reply:
        if len(request.body) < int(request.headers.get("content-length", 0)):
            raise ConnectionAbortedError("whoever sent this was killed in the middle of it")
        with self._idle:
            passed = _read(self._count + 1, request)
            self._count += 1
            self._busy += 1
            self.journal.append(passed)
        try:
            passed.way = self.deciding(passed)
            reply = self._carried_out(passed, request)
            self.answering(passed)
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()
        if reply is None or passed.way is Way.ANSWER_LOST:
            raise ConnectionAbortedError("lost on purpose")  # closes the connection without a word
        return reply

    def _carried_out(self, passed: Passed, request: Request) -> Reply | None:
        if passed.way is Way.REQUEST_LOST:
            return None
        reply = _throttled() if passed.way is Way.THROTTLED else self._forwarded(request)
        passed.forwarded = passed.way is not Way.THROTTLED
        if passed.operation == "BatchGetItem":
            there = {_name(item) for items in json.loads(reply.body)["Responses"].values() for item in items}
            passed.absent = frozenset(passed.names) - there
        with self._idle:
            self._count += 1
            passed.ended = self._count
        return reply

    def _forwarded(self, request: Request) -> Reply:
        address = urlsplit(self.engine_url)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=GIVE_UP_S)
        with contextlib.closing(connection):
            headers = {n: value for n, value in request.headers.items() if n not in ("host", "content-length")}
            connection.request(request.method, request.path, request.body, headers)
            answer = connection.getresponse()
            kept = {n: value for n, value in answer.getheaders() if n.lower().startswith(("x-amz", "content-type"))}
            return Reply(answer.status, answer.read(), kept)


@contextlib.contextmanager
def wire_to(engine_url: str) -> Iterator[Wire]:
    """A wire on a free loopback port, with nothing left of it afterwards."""
    wire = Wire(engine_url)
    with serving(wire._answer) as url:
        wire.endpoint_url = url
        try:
            yield wire
        finally:
            wire.released.set()
            wire.wait_until_idle()


class Weather:
    """A seeded way for each call: short delays, and now and then a loss or a throttle."""

    def __init__(self, seed: int, *, losses: float = 0.06, longest_delay_s: float = 0.006) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._losses = losses
        self._longest_delay_s = longest_delay_s

    def __call__(self, passed: Passed) -> Way:
        with self._lock:
            delay, drawn = self._random.uniform(0, self._longest_delay_s), self._random.random()
            way = self._random.choice([Way.ANSWER_LOST, Way.REQUEST_LOST, Way.THROTTLED])
        time.sleep(delay)  # not to wait for anything: a call takes time, and kills are to fall into it
        return way if drawn < self._losses else Way.THROUGH


def _read(number: int, request: Request) -> Passed:
    operation = request.headers.get("x-amz-target", "").rpartition(".")[2]
    body = json.loads(request.body) if request.body else {}
    match operation:
        case "BatchWriteItem":
            (requests,) = body["RequestItems"].values()
            names = [_name(each["PutRequest"]["Item"]) for each in requests]
        case "BatchGetItem":
            (table,) = body["RequestItems"].values()
            names = [_name(key) for key in table["Keys"]]
        case "SendMessageBatch":
            names = [each["MessageBody"] for each in body["Entries"]]
        case _:
            names = []
    return Passed(number, operation, tuple(names))


def _name(item: Json) -> str:
    name: str = item["pk"]["S"]
    return name


def _throttled() -> Reply:
    body = json.dumps({"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "slow down"})
    crc = str(zlib.crc32(body.encode()))
    request_id = hashlib.sha256(body.encode()).hexdigest()[:20]
    headers = {"Content-Type": "application/x-amz-json-1.0", "x-amz-crc32": crc, "x-amzn-RequestId": request_id}
    return Reply(400, body.encode(), headers)
