"""The two ways a fault is carried out at the SDK's hook: for boto3 in line, for aiobotocore awaited."""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

from itemledger.testing.script import ScriptError
from itemledger.testing.wire import FAULT_HEADER, Attempt, Forward, Pause, Plan, WaitFor, WireAnswer

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

Sleep = Callable[[float], Awaitable[None] | None]
StandIn = Callable[[Attempt], WireAnswer | None]
"""Answers in the engine's place, or says with ``None`` that there is an engine."""

# A session of our own sends what is forwarded: the client's is private, and the request is signed and complete by now.
_SEND_TIMEOUT_S = 60


class SyncDriver:
    """Plays a fault in the calling thread."""

    def __init__(self, stand_in: StandIn, sleep: Sleep | None) -> None:
        self._stand_in = stand_in
        self._sleep = sleep or time.sleep
        self._session = URLLib3Session(timeout=_SEND_TIMEOUT_S)

    def play(self, plan: Plan, attempt: Attempt, request: AWSPreparedRequest) -> WireAnswer | None:
        reply: WireAnswer | None = None
        while True:  # bounded by the fault, which yields at most a few needs
            try:
                need = plan.send(reply)
            except StopIteration as end:
                return _returned(end)
            reply = None
            match need:
                case Forward(body):
                    reply = self._stand_in(_reduced(attempt, body)) or self._send(_with_body(request, body))
                case Pause(seconds):
                    self._sleep(seconds)
                case WaitFor(event, at_most_s):
                    if not isinstance(event, threading.Event):
                        raise ScriptError("Hang needs a threading.Event for a boto3 client")
                    if not event.wait(at_most_s):
                        raise _never_released(attempt, at_most_s)
                case _:
                    assert_never(need)

    def response(self, request: AWSPreparedRequest, answer: WireAnswer, name: str) -> AWSResponse:
        body = _MemoryBody(answer.body)
        return AWSResponse(request.url, answer.status, _labelled(answer, name), body)  # type: ignore[arg-type]

    def close(self) -> None:
        self._session.close()

    def _send(self, request: AWSPreparedRequest) -> WireAnswer:
        response = self._session.send(request)
        return _received(response.status_code, response.headers.items(), response.content)


class AsyncDriver:
    """The same in the client's event loop. aiobotocore is imported only here, where a client of its own is at hand."""

    def __init__(self, stand_in: StandIn, sleep: Sleep | None) -> None:
        self._stand_in = stand_in
        self._sleep = sleep or asyncio.sleep

    async def play(self, plan: Plan, attempt: Attempt, request: AWSPreparedRequest) -> WireAnswer | None:
        reply: WireAnswer | None = None
        while True:  # bounded by the fault, which yields at most a few needs
            try:
                need = plan.send(reply)
            except StopIteration as end:
                return _returned(end)
            reply = None
            match need:
                case Forward(body):
                    reply = self._stand_in(_reduced(attempt, body))
                    reply = reply or await self._send(_with_body(request, body))
                case Pause(seconds):
                    pause = self._sleep(seconds)
                    if inspect.isawaitable(pause):
                        await pause
                case WaitFor(event, at_most_s):
                    if not isinstance(event, asyncio.Event):
                        raise ScriptError("Hang needs an asyncio.Event for an aiobotocore client")
                    try:
                        async with asyncio.timeout(at_most_s):
                            await event.wait()
                    except TimeoutError:
                        raise _never_released(attempt, at_most_s) from None
                case _:
                    assert_never(need)

    def response(self, request: AWSPreparedRequest, answer: WireAnswer, name: str) -> AWSResponse:
        module = importlib.import_module("aiobotocore.awsrequest")
        body = _AsyncMemoryBody(answer.body)
        response: AWSResponse = module.AioAWSResponse(request.url, answer.status, _labelled(answer, name), body)
        return response

    def close(self) -> None:
        """Nothing is kept open between two requests."""

    async def _send(self, request: AWSPreparedRequest) -> WireAnswer:
        # One session a request: a session belongs to the running loop, the injector's with block does not.
        module = importlib.import_module("aiobotocore.httpsession")
        async with module.AIOHTTPSession(timeout=_SEND_TIMEOUT_S) as session:
            response = await session.send(request)
            return _received(response.status_code, response.headers.items(), await response.content)


class _MemoryBody:
    """The body of an answer that was never on a socket, as ``AWSResponse`` reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: object, **__: object) -> Iterable[bytes]:
        yield self._body


class _AsyncMemoryBody:
    """The same as ``AioAWSResponse`` reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def read(self) -> bytes:
        return self._body


def _labelled(answer: WireAnswer, name: str) -> dict[str, str]:
    return {**answer.headers, FAULT_HEADER: name}


def _received(status: int, headers: Iterable[tuple[str, str]], body: bytes) -> WireAnswer:
    return WireAnswer(status, {name.lower(): value for name, value in headers}, body)


def _returned(end: StopIteration) -> WireAnswer | None:
    answer: WireAnswer | None = end.value
    return answer


def _never_released(attempt: Attempt, at_most_s: float) -> ScriptError:
    return ScriptError(f"attempt {attempt.number} hung, and nobody set its event within {at_most_s} s")


def _reduced(attempt: Attempt, body: bytes | None) -> Attempt:
    return attempt if body is None else replace(attempt, body=body)


def _with_body(request: AWSPreparedRequest, body: bytes | None) -> AWSPreparedRequest:
    if body is None:
        return request
    reduced = copy.copy(request)
    reduced.body = body
    reduced.headers = copy.deepcopy(request.headers)  # a shallow copy would share the dictionary inside
    reduced.headers["Content-Length"] = str(len(body))
    return reduced
