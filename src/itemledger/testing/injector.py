"""Puts faults between a test's own SDK client and the wire, where the SDK's parser, checksum and retries still run."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from itemledger.origin import AWS_SUFFIXES
from itemledger.testing.drivers import AsyncDriver, Sleep, SyncDriver
from itemledger.testing.faults import Fault, FaultChooser
from itemledger.testing.script import Script, ScriptError
from itemledger.testing.wire import Attempt, WireAnswer

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse
    from botocore.client import BaseClient

Upstream = Callable[[Attempt], Mapping[str, Any]]
"""Stands in for the engine: works the JSON body of a 200 answer out from the request."""


@dataclass(frozen=True, slots=True)
class Fired:
    """One fault that happened: at which attempt of the injector, to which operation, and its name."""

    attempt: int
    operation: str
    fault: str
    sdk_attempt: int | None = None


class FaultInjector:
    """Faults for one client, attempt by attempt, for the length of a ``with`` block.

    ``faults`` is a script (``None`` in it lets an attempt through; after its end everything goes through) or a function
    that chooses from the ``Attempt``. The function runs under the injector's lock, so it may keep state, but must not
    wait: return ``Hang`` or ``Slow`` for that. ``operation`` limits all of it to one operation::

        with FaultInjector(client, [Throttle(), LeaveUnprocessed(keep=3)], operation="batch_get_item") as injector:
            result = read_batch(client, ...)
        assert [fired.fault for fired in injector.fired] == ["Throttle", "LeaveUnprocessed"]

    It stands in front of a local engine, or alone with ``upstream=``, a function that answers in the engine's place
    (see ``serve_rows``). It never lets a request out to an AWS host: give it a client made for the test, with the
    engine's ``endpoint_url``. The client may be boto3's or aiobotocore's, the ``with`` is the same; ``Slow`` waits by
    ``sleep``, which may be a coroutine function for the latter.

    A fault acts on one *attempt*: the SDK's own retries ask again, and each asks for the next fault. The pauses between
    them are real; make the client with ``total_max_attempts=1``, or see ``instant_retries``. Everything the injector
    answers comes from memory and names its fault in the ``x-itemledger-fault`` header, so it can only be *synthetic*.

    Two limits. A reduced request keeps its old signature, which local engines do not check. And moto's in-process
    ``mock_aws`` is itself a hook at this place and takes AWS's host names: use moto's server.

    When the block ends without an exception, a script that was not used up, or a fault that could not be carried out,
    raises ``ScriptError``.
    """

    def __init__(
        self,
        client: BaseClient,
        faults: Iterable[Fault | None] | FaultChooser,
        *,
        operation: str | None = None,
        upstream: Upstream | None = None,
        sleep: Sleep | None = None,
    ) -> None:
        self._client = client
        self._script = None if callable(faults) else Script(faults)
        self._choose = faults if callable(faults) else self._next_of_script
        self._upstream = upstream
        self._sleep = sleep
        self._method_names = {api: method for method, api in client.meta.method_to_api_mapping.items()}
        self._event = f"before-send.{client.meta.service_model.service_id.hyphenize()}"
        if operation is not None:
            self._event += f".{client.meta.method_to_api_mapping[operation]}"
        self._hook: Callable[..., Any] | None = None
        self._driver: SyncDriver | AsyncDriver | None = None
        self._lock = threading.Lock()
        self._attempts = 0
        self._fired: list[Fired] = []
        self._failures: list[ScriptError] = []

    @property
    def attempts(self) -> int:
        """How many attempts came by, with and without a fault."""
        with self._lock:
            return self._attempts

    @property
    def fired(self) -> list[Fired]:
        """The faults that happened, in order."""
        with self._lock:
            return list(self._fired)

    def __enter__(self) -> Self:
        if _is_aiobotocore(self._client):
            aio = AsyncDriver(self._stand_in, self._sleep)
            self._driver, self._hook = aio, self._awaited_hook(aio)
        else:
            inline = SyncDriver(self._stand_in, self._sleep)
            self._driver, self._hook = inline, self._inline_hook(inline)
        self._client.meta.events.register_first(self._event, self._hook)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.meta.events.unregister(self._event, self._hook)
        if self._driver is not None:
            self._driver.close()
        if raised is None:
            self.check()

    def check(self) -> None:
        """Raise the first ``ScriptError`` met so far, or one that says how many faults of the script never happened."""
        with self._lock:
            failures = list(self._failures)
        if failures:
            raise failures[0]
        if self._script is not None and self._script.left_over:
            raise ScriptError(
                f"{self._script.left_over} faults of the script never came up in {self.attempts} attempts; "
                "shorten the script, or find out why there were no more attempts"
            )

    def _inline_hook(self, driver: SyncDriver) -> Callable[..., Any]:  # Any: the stubs want None of a hook
        def hook(request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
            with self._remembering():
                attempt, fault = self._begin(request, event_name)
                answer = None if fault is None else driver.play(fault.play(attempt), attempt, request)
                answer = answer or self._stand_in(attempt)
                return None if answer is None else driver.response(request, answer, _name(fault))

        return hook

    def _awaited_hook(self, driver: AsyncDriver) -> Callable[..., Any]:
        async def hook(request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
            with self._remembering():
                attempt, fault = self._begin(request, event_name)
                answer = None if fault is None else await driver.play(fault.play(attempt), attempt, request)
                answer = answer or self._stand_in(attempt)
                return None if answer is None else driver.response(request, answer, _name(fault))

        return hook

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        try:
            yield
        except ScriptError as failure:
            with self._lock:
                self._failures.append(failure)
            raise

    def _begin(self, request: AWSPreparedRequest, event_name: str) -> tuple[Attempt, Fault | None]:
        operation = self._method_names[event_name.rpartition(".")[2]]
        body = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
        with self._lock:  # attempt numbers and script order must be the same one
            self._attempts += 1
            attempt = Attempt(self._attempts, operation, request.url, body, _sdk_attempt(request))
            fault = self._choose(attempt)
            if fault is not None:
                self._fired.append(Fired(attempt.number, operation, fault.name, attempt.sdk_attempt))
        return attempt, fault

    def _next_of_script(self, _: Attempt) -> Fault | None:
        assert self._script is not None
        try:
            return self._script.take()
        except StopIteration:
            return None

    def _stand_in(self, attempt: Attempt) -> WireAnswer | None:
        if self._upstream is not None:
            return WireAnswer.of(self._upstream(attempt), request_id=attempt.request_id)
        host = urlsplit(attempt.url).hostname or ""
        if host.endswith(AWS_SUFFIXES):
            raise ScriptError(
                f"attempt {attempt.number} would go to {host}, and nothing may go from here to AWS; "
                "make the client with the endpoint_url of a local engine, or give upstream="
            )
        return None


def _is_aiobotocore(client: BaseClient) -> bool:
    return any(base.__module__.partition(".")[0] == "aiobotocore" for base in type(client).__mro__)


def _name(fault: Fault | None) -> str:
    return "Upstream" if fault is None else fault.name


def _sdk_attempt(request: AWSPreparedRequest) -> int | None:
    header: object = request.headers.get("amz-sdk-request")  # bytes by now, whatever its type says
    text = header.decode() if isinstance(header, bytes) else str(header)
    found = re.search(r"attempt=(\d+)", text)
    return int(found[1]) if found else None
