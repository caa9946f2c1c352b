"""Query and Scan as an object that decides and never waits: which page to ask for, what came, when it is over.

A query is one segment, a scan one or many. Within a segment pages follow one another; segments take turns, so that
fewer calls than segments still bring all of them on. Nothing goes on without end: a page is asked for a bounded number
of times, and one that does not lead on is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from itemledger.core.answer import Answer, Failure, FailureCause, TerminalError
from itemledger.core.decision import Decision
from itemledger.core.pending import Jitter
from itemledger.core.result import Item
from itemledger.core.steps import WaitUntil
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.tables.budget import Budget
from itemledger.tables.page import LastKey, Page, PageTotals, Row
from itemledger.tables.page_answer import PageCall, page_of
from itemledger.tables.page_result import PagesResult, PageStop, Segment, SegmentState
from itemledger.tables.segment import Chain, EmptyPages, has_filter

#: Where only the one range of keys is too hot, the others need not wait (service model 2012-08-10, ThrottlingReason).
KEY_RANGE = "KeyRangeThroughputExceeded"


@dataclass(frozen=True, slots=True)
class PageBounds:
    """Where a run of pages ends whatever happens. ``None`` is no bound of one's own: a table has an end.

    A page is asked for at most ``max_attempts`` times, with jittered pauses that double up to ``backoff_cap_s``.
    ``max_items`` counts matching items, ``max_examined`` those that the service read, both over all segments; with
    either, pages come one at a time.
    """

    timeout_s: float | None = None
    concurrency: int = 1
    max_items: int | None = None
    max_examined: int | None = None
    max_attempts: int = 8
    backoff_base_s: float = 0.05
    backoff_cap_s: float = 5.0


class PageRun:
    """One run over one query, or over segments of a scan.

    ``starts`` says for each segment number where it begins: after a key, or at its beginning (``None``). ``key`` are
    the attributes of its table's and index's key, for a run that may end within a page.
    """

    def __init__(
        self,
        operation: str,
        request: Mapping[str, Any],
        starts: Mapping[int, LastKey | None],
        bounds: PageBounds,
        *,
        decode: Callable[[Row], Item],
        started_at: float,
        jitter: Jitter,
        total_segments: int | None = None,
        budget: Budget | None = None,
        key: Sequence[str] = (),
    ) -> None:
        self._operation = operation
        self._request = request
        self._bounds = bounds
        self._decode = decode
        self._jitter = jitter
        self._total_segments = total_segments
        self._budget = budget
        self._key = key
        self.deadline = float("inf") if bounds.timeout_s is None else started_at + bounds.timeout_s
        self._chains = {number: Chain(number, start) for number, start in starts.items()}
        self._idle = deque(self._chains.values())
        self._in_flight: dict[int, PageCall] = {}
        self._calls = 0
        self._totals = PageTotals()
        self._examined = 0  # at most: a page that does not tell counts as the whole of its Limit
        self._filtered = has_filter(request)
        self._concurrency = bounds.concurrency if bounds.max_items is bounds.max_examined is None else 1
        self._empty = EmptyPages(request)
        self._stopped: PageStop | None = None
        self._error: TerminalError | None = None
        self._fresh_credentials_from: int | None = None
        self._abandoned = 0

    @property
    def done(self) -> bool:
        return not self._in_flight and (self._stopped is not None or not self._idle)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def due(self, now: float) -> list[PageCall | WaitUntil]:
        """Pages to ask for now, or when to ask again; empty while only answers can change anything."""
        if now >= self.deadline and not self.done:
            self.stop(PageStop.DEADLINE)
        if self._stopped is not None:
            return []
        calls: list[PageCall | WaitUntil] = []
        waits: list[float] = []
        for _ in range(len(self._idle)):
            if len(self._in_flight) >= self._concurrency:
                return calls
            chain = self._idle.popleft()
            at = max(chain.resume_at, self._budget.ready_at() if self._budget else now)
            if at > now:
                waits.append(at)
                self._idle.append(chain)
            else:
                calls.append(self._start(chain, now))
        if waits:
            calls.append(WaitUntil(min(*waits, self.deadline)))
        return calls

    def answered(self, call: PageCall, answer: Answer | Failure, now: float) -> Page | Failure:
        """The page, or why there is none.

        Raises LedgerInvariantError when it cannot be true, and ManifestError for a run that could not end within a
        page: rows that come without their key.
        """
        del self._in_flight[call.number]
        chain = self._chains[call.segment]
        if isinstance(answer, Failure):
            self._missed(chain, call, now, answer)
            self._failed(chain, call, answer, now)
            return answer
        try:
            whole = page_of(call, answer, (now - call.started_at) * 1000, self._decode)
            page = self._cut(whole)
        except (LedgerInvariantError, ManifestError) as error:
            self._missed(chain, call, now)
            self._idle.append(chain)
            self._end(error)
            raise
        if self._budget is not None:
            self._budget.settle(call.estimate, page.consumed.units if page.consumed else None, now)
        self._empty.saw(whole)
        chain.took(page, now)
        self._totals = self._totals.plus(page.totals)
        self._examined += (call.limit or 0) if page.examined is None else page.examined
        if chain.goes_on:
            self._idle.append(chain)
        self._stop_where_enough()
        return page

    def stop(self, reason: PageStop) -> None:
        """Ends the run; calls in flight are abandoned, and their segments stand where they stood before."""
        if self._stopped is None or reason is PageStop.INVARIANT_BROKEN:
            self._stopped = reason
        self._abandoned += len(self._in_flight)
        for call in self._in_flight.values():
            self._idle.append(self._chains[call.segment])
        self._in_flight.clear()

    def refuse(self, error: TerminalError) -> None:
        """Ends the run before its first page, when the table itself could not be looked at."""
        self._error = error
        self.stop(PageStop.REQUEST_FAILED)

    def standing(self, segment: int) -> Segment:
        return self._chains[segment].standing()

    def result(self) -> PagesResult:
        """Where everything stands at this moment."""
        return PagesResult(
            self._request["TableName"],
            self._request.get("IndexName"),
            tuple(chain.standing() for chain in self._chains.values()),
            self._totals,
            self._stop_reason(),
            self._error,
            self._empty.finding(),
            self._abandoned,
        )

    def _start(self, chain: Chain, now: float) -> PageCall:
        request = {**self._request, "ReturnConsumedCapacity": "INDEXES"}
        if self._total_segments is not None:
            request |= {"Segment": chain.number, "TotalSegments": self._total_segments}
        if chain.last_key is not None:
            request["ExclusiveStartKey"] = chain.last_key
        limit = self._limit()
        if limit is not None:
            request["Limit"] = limit
        self._calls += 1
        chain.began(now)
        call = PageCall(
            self._calls,
            self._operation,
            request,
            chain.number,
            chain.totals.pages + 1,
            chain.last_key,
            limit,
            now,
            0.0 if self._budget is None else self._budget.begin(now),
        )
        self._in_flight[call.number] = call
        return call

    def _limit(self) -> int | None:
        """The caller's Limit, or less where fewer items may still be examined."""
        limits = [] if self._request.get("Limit") is None else [self._request["Limit"]]
        if self._bounds.max_items is not None and not self._filtered:
            # What is examined is returned then, and the service's own key ends the last page exactly.
            limits.append(self._bounds.max_items - self._totals.returned)
        if self._bounds.max_examined is not None:
            limits.append(self._bounds.max_examined - self._examined)
        return min(limits, default=None)

    def _cut(self, page: Page) -> Page:
        if self._bounds.max_items is None or not page.rows:
            return page
        if self._filtered:
            page.first(1, self._key)  # rows without their key are refused on the first page, not in the middle
        return page.first(self._bounds.max_items - self._totals.returned, self._key)

    def _stop_where_enough(self) -> None:
        if not self._idle:
            return  # that was the end of everything
        if self._bounds.max_items is not None and self._totals.returned >= self._bounds.max_items:
            self.stop(PageStop.MAX_ITEMS)
        elif self._bounds.max_examined is not None and self._examined >= self._bounds.max_examined:
            self.stop(PageStop.MAX_EXAMINED)

    def _missed(self, chain: Chain, call: PageCall, now: float, failure: Failure | None = None) -> None:
        """No usable page: the call counts, and what it cost is unknown."""
        more = PageTotals(calls=1, untold_calls=1)
        if failure is not None:
            more = replace(more, sdk_retry_attempts=failure.sdk_retry_attempts, label=failure.label)
        chain.counted(more, now)
        self._totals = self._totals.plus(more)
        if self._budget is not None:
            self._budget.give_back(call.estimate, now)

    def _failed(self, chain: Chain, call: PageCall, failure: Failure, now: float) -> None:
        """Asks again after a pause where that may help, and as often as allowed; else the segment ends here."""
        chain.attempts += 1
        if failure.cause is FailureCause.CREDENTIALS and self._signed_before(call):
            self._idle.appendleft(chain)
        elif failure.cause.passing and chain.attempts < self._bounds.max_attempts:
            pause_s = self._pause(chain.attempts)
            chain.resume_at = now + pause_s
            self._idle.append(chain)
            if failure.cause is FailureCause.THROTTLED and not _of_one_range(failure):
                self._slow_all(now, now + pause_s)
        else:
            chain.failed(failure.error)
            self._error = self._error or failure.error

    def _slow_all(self, now: float, until: float) -> None:
        """The table as a whole is too busy: nobody asks before the pause is over, and the budget shrinks."""
        for chain in self._chains.values():
            chain.resume_at = max(chain.resume_at, until)
        if self._budget is not None:
            self._budget.throttled(now)

    def _pause(self, attempts: int) -> float:
        """Full jitter over a range that doubles with each attempt, up to the cap."""
        doubled = self._bounds.backoff_base_s * 2.0 ** min(attempts - 1, 60)
        return self._jitter(0.0, min(self._bounds.backoff_cap_s, doubled))

    def _signed_before(self, call: PageCall) -> bool:
        """As in a keyed read: each call is signed anew, so one more try is all a provider with a fresh token needs."""
        if self._fresh_credentials_from is None:
            self._fresh_credentials_from = self._calls + 1
        return call.number < self._fresh_credentials_from

    def _end(self, error: LedgerInvariantError | ManifestError) -> None:
        if isinstance(error, LedgerInvariantError):
            self.stop(PageStop.INVARIANT_BROKEN)
            error.decision = Decision.REPAIR
        else:
            self.stop(PageStop.INTERRUPTED)

    def _stop_reason(self) -> PageStop:
        states = {chain.state for chain in self._chains.values()}
        if self._stopped is not None and states != {SegmentState.DONE}:
            return self._stopped
        if not self.done:
            return PageStop.INTERRUPTED
        return PageStop.REQUEST_FAILED if SegmentState.FAILED in states else PageStop.COMPLETE


def _of_one_range(failure: Failure) -> bool:
    """Whether every reason names a range of keys. Without reasons it may be the table, so all slow down."""
    return bool(failure.throttled_by) and all(reason.endswith(KEY_RANGE) for reason in failure.throttled_by)
