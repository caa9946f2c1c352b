"""A read as an HTTP answer: which status, what may be said, and whether the client should come again.

| decision | status | because |
|---|---|---|
| accept | 200 | every key has its answer and the policy holds |
| reject | 404 | a required item is not there, as far as this read can see |
| retry | 503 and Retry-After | nothing is known of some keys, and the cause can pass |
| hold, repair | 502 | the service behind this one failed; asking again changes nothing |

502 and not 424 for the last two: 424 belongs to WebDAV and to the client errors, so that a monitor of 5xx would sleep
through lost credentials or impossible evidence. 502 and not 503: the latter invites clients to ask again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from itemledger.core.decision import ALL, Decision, Policy
from itemledger.core.result import ReadResult

_STATUS = {
    Decision.ACCEPT: HTTPStatus.OK,
    Decision.REJECT: HTTPStatus.NOT_FOUND,
    Decision.RETRY: HTTPStatus.SERVICE_UNAVAILABLE,
    Decision.HOLD: HTTPStatus.BAD_GATEWAY,
    Decision.REPAIR: HTTPStatus.BAD_GATEWAY,
}
_REASON = {
    Decision.ACCEPT: "every requested item is accounted for",
    Decision.REJECT: "a required item was not found",
    Decision.RETRY: "some items could not be read in time; ask again",
    Decision.HOLD: "some items could not be read; the service behind this one needs attention first",
    Decision.REPAIR: "the service behind this one gave an answer that cannot be true",
}


class Decided(Protocol):
    """An error that has its decision: IncompleteReadError, LedgerInvariantError, a shadow read's SwitchedOffError."""

    @property
    def decision(self) -> Decision | None: ...

    @property
    def result(self) -> ReadResult | tuple[ReadResult, ...] | None: ...


@dataclass(frozen=True, slots=True)
class HttpOutcome:
    """What to answer. ``body`` names no key, item, table or error code: it may leave the house as it is.

    A success carries no items: add them from the result, whose owner knows what its clients may see.
    """

    status: int
    reason: str
    retry_after_s: int | None
    body: Mapping[str, Any]
    decision: Decision

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After where a retry helps; nothing but a success may be kept by a cache."""
        headers = {} if self.status == HTTPStatus.OK else {"Cache-Control": "no-store"}
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(self.retry_after_s)
        return headers


def http_outcome(result_or_error: ReadResult | Decided, required: Policy = ALL) -> HttpOutcome:
    """The HTTP answer to a read: its result under a policy, or the error that it or its ``items()`` raised.

    An error has its decision already, so ``required`` is for results only; and an error never becomes a success.
    """
    if isinstance(result_or_error, ReadResult):
        return _outcome(result_or_error.decide(required), (result_or_error,))
    decision = result_or_error.decision or Decision.REPAIR
    return _outcome(Decision.HOLD if decision is Decision.ACCEPT else decision, _results(result_or_error.result))


def _outcome(decision: Decision, results: tuple[ReadResult, ...]) -> HttpOutcome:
    status = _STATUS[decision]
    retry_after_s = None
    if decision is Decision.RETRY:  # whole seconds (RFC 9110, 10.2.3), as long as the read's own longest pause
        retry_after_s = math.ceil(max(result.bounds.backoff_cap_s for result in results))
    body: dict[str, Any] = {
        "status": status.value,
        "title": status.phrase,
        "detail": _REASON[decision],
        "decision": decision.label,
        "counts": {
            "requested": sum(len(result.requested_order) for result in results),
            "returned": sum(len(result.returned) for result in results),
            "processed_not_returned": sum(len(result.processed_not_returned) for result in results),
            "unresolved": sum(len(result.unresolved) for result in results),
        },
        "observation_ids": list(dict.fromkeys(result.observation.id for result in results)),
    }
    return HttpOutcome(status.value, _REASON[decision], retry_after_s, body, decision)


def _results(result: ReadResult | tuple[ReadResult, ...] | None) -> tuple[ReadResult, ...]:
    if result is None:
        return ()
    return (result,) if isinstance(result, ReadResult) else result
