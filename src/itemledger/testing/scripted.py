"""Clients that answer from a script instead of a service, in the shape of a boto3 or an aiobotocore client."""

from __future__ import annotations

import asyncio
import copy
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from botocore.config import Config
from botocore.hooks import HierarchicalEmitter

from itemledger.testing.clock import FakeClock
from itemledger.testing.script import Script, ScriptError

Response = Mapping[str, Any]  # Any: the SDK's answers are nested dictionaries of every JSON type


@dataclass(frozen=True, slots=True)
class Call:
    """One call a scripted client received: the operation as the client's method name, and a copy of its parameters."""

    operation: str
    request: dict[str, Any]


Outcome = Response | BaseException
"""What a call ends with: a response to return, or an exception to raise."""
Responder = Callable[[Call], Outcome | Awaitable[Outcome]]
"""Works an outcome out from the call; may be a coroutine function for the async client."""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of a script.

    ``operation`` and ``expect`` make the call fail when it is another operation, or has other parameters (compared for
    equality, as a whole). ``takes_s`` is the time the call takes on the client's fake clock.
    """

    answer: Outcome | Responder
    operation: str | None = None
    expect: Mapping[str, Any] | None = None
    takes_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ScriptedMeta:
    """The part of a client's ``meta`` that callers read; handlers may be registered, but no event is ever sent."""

    region_name: str
    endpoint_url: str
    config: Config
    events: HierarchicalEmitter


class _Scripted:
    """The two clients' common part: take a step, check the call against it, remember both."""

    def __init__(
        self,
        steps: Iterable[Step | Outcome | Responder] | None = None,
        *,
        respond: Responder | None = None,
        clock: FakeClock | None = None,
        region_name: str = "us-east-1",
    ) -> None:
        if (steps is None) == (respond is None):
            raise TypeError("give either a list of steps or respond=, a function that answers every call")
        self._script = None if steps is None else Script(steps)
        self._respond = respond
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._failures: list[ScriptError] = []
        self.meta = ScriptedMeta(
            region_name=region_name,
            endpoint_url="http://scripted.invalid",
            config=Config(  # short timeouts, as a ledger's worker wants them; nothing here waits
                region_name=region_name,
                connect_timeout=1,
                read_timeout=1,
                retries={"mode": "standard", "total_max_attempts": 1},
            ),
            events=HierarchicalEmitter(),
        )

    @property
    def calls(self) -> list[Call]:
        """Every call so far, in the order in which they came."""
        with self._lock:
            return list(self._calls)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The parameters of every call so far."""
        return [call.request for call in self.calls]

    def check(self) -> None:
        """Raise the first ``ScriptError`` that a call met, or one that says which steps nobody asked for."""
        with self._lock:
            failures = list(self._failures)
        if failures:
            raise failures[0]
        if self._script is not None and self._script.left_over:
            raise ScriptError(
                f"{self._script.left_over} steps of the script were not asked for after {len(self.calls)} calls; "
                "shorten the script, or find out why the code stopped early"
            )

    def _next(self, operation: str, request: dict[str, Any]) -> tuple[Call, Step]:
        call = Call(operation, copy.deepcopy(request))
        with self._lock:  # recorded order and script order must be the same one
            self._calls.append(call)
            number = len(self._calls)
            if self._script is None:
                assert self._respond is not None
                return call, Step(self._respond)
            try:
                raw = self._script.take()
            except StopIteration:
                raise self._failed(
                    f"call {number} ({operation}) has no step: the script ended after {number - 1}; "
                    f"add a step, or find out why the code calls again. Its parameters: {call.request!r}"
                ) from None
            step = raw if isinstance(raw, Step) else Step(raw)
            if step.operation not in (None, operation):
                raise self._failed(f"call {number} is {operation}, but the script has {step.operation} there")
            if step.expect is not None and dict(step.expect) != call.request:
                raise self._failed(
                    f"call {number} ({operation}) has other parameters than its step expects:\n"
                    f"  expected {dict(step.expect)!r}\n  received {call.request!r}"
                )
        return call, step

    def _failed(self, message: str) -> ScriptError:
        failure = ScriptError(message)
        self._failures.append(failure)
        return failure

    def _pass_time(self, step: Step) -> None:
        if step.takes_s:
            if self._clock is None:
                raise TypeError("a step with takes_s needs the client to be made with clock=FakeClock()")
            self._clock.advance(step.takes_s)


class ScriptedClient(_Scripted):
    """A client that answers from ``steps``, in order, or through ``respond``; no network, no credentials, no waiting.

    A step is a response mapping, an exception to raise, a function of the ``Call``, or a ``Step`` around one of these.
    Any operation can be called by its method name. Used as a context manager it checks at the end that the script was
    followed and used up::

        with ScriptedClient([batch_get_response(rows, unprocessed=left), error("ThrottlingException")]) as client:
            result = read_batch(client, ...)

    Several threads may call it: each step goes to one call. Which call that is depends on the threads, so concurrent
    reads are better answered by ``respond=``, which sees what was asked. Nothing is retried, as with an SDK client
    made with ``total_max_attempts=1``, and there are no bytes to check: what it answers is synthetic.
    """

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        return self._call("batch_get_item", request)

    def describe_table(self, **request: Any) -> dict[str, Any]:
        return self._call("describe_table", request)

    def __getattr__(self, operation: str) -> Callable[..., dict[str, Any]]:
        if operation.startswith("_"):
            raise AttributeError(operation)

        def call(**request: Any) -> dict[str, Any]:
            return self._call(operation, request)

        return call

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if raised is None:
            self.check()

    def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        call, step = self._next(operation, request)
        self._pass_time(step)
        outcome = step.answer(call) if callable(step.answer) else step.answer
        if inspect.isawaitable(outcome):
            if inspect.iscoroutine(outcome):
                outcome.close()  # or Python warns that it was never awaited, wherever that happens to be noticed
            raise TypeError("a coroutine cannot answer ScriptedClient; use AsyncScriptedClient")
        return _ended(outcome)


class AsyncScriptedClient(_Scripted):
    """The same script for code that awaits its client; other tasks run before each answer, so calls can overlap.

    ``respond`` and function steps may be coroutine functions, for example to wait until a second call is in flight.
    """

    async def batch_get_item(self, **request: Any) -> dict[str, Any]:
        return await self._call("batch_get_item", request)

    async def describe_table(self, **request: Any) -> dict[str, Any]:
        return await self._call("describe_table", request)

    def __getattr__(self, operation: str) -> Callable[..., Awaitable[dict[str, Any]]]:
        if operation.startswith("_"):
            raise AttributeError(operation)

        async def call(**request: Any) -> dict[str, Any]:
            return await self._call(operation, request)

        return call

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if raised is None:
            self.check()

    async def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        call, step = self._next(operation, request)
        await asyncio.sleep(0)
        self._pass_time(step)
        outcome = step.answer(call) if callable(step.answer) else step.answer
        return _ended(await outcome if inspect.isawaitable(outcome) else outcome)


def _ended(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, BaseException):
        raise outcome
    # A copy: the SDK hands out a fresh answer each time, and a step may be repeated.
    return copy.deepcopy(dict(outcome))
