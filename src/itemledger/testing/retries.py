"""Takes the waiting, and nothing else, out of the SDK's own retries."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botocore.client import BaseClient

_Responses = list[tuple[Callable[..., Any], Any]]  # what an emitter returns: each handler with its answer


@contextmanager
def instant_retries(client: BaseClient) -> Iterator[list[float]]:
    """Within the block ``client`` retries without pausing; yields the pauses in seconds that it would have made.

    Whether to retry, how often, and the retry quota stay the SDK's. It asks its ``needs-retry`` handlers how long to
    wait and sleeps what the first of them says; here the question passes through and the answer becomes zero. That is
    done on the client's own emitter, so no other client, no global and no private name is touched. One kind of pause
    stays: the rate limiter of the ``adaptive`` mode, which waits before it sends.
    """
    events = client.meta.events
    ask = events.emit
    pauses_s: list[float] = []

    def without_pause(responses: _Responses) -> _Responses:
        return [(handler, _waived(answer, pauses_s)) for handler, answer in responses]

    async def without_pause_async(responses: Awaitable[_Responses]) -> _Responses:
        return without_pause(await responses)

    def emit(event_name: str, **arguments: Any) -> Any:
        responses: Any = ask(event_name, **arguments)
        if not event_name.startswith("needs-retry."):
            return responses
        return without_pause_async(responses) if inspect.isawaitable(responses) else without_pause(responses)

    vars(events)["emit"] = emit
    try:
        yield pauses_s
    finally:
        del vars(events)["emit"]


def _waived(answer: object, pauses_s: list[float]) -> object:
    # None and False mean "no retry" to the SDK, and False is a number to Python.
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return answer
    pauses_s.append(float(answer))
    return 0
