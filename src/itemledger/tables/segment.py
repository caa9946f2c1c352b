"""One segment's way through its pages, and what a run notices about pages that come back empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from itemledger.core.answer import TerminalError
from itemledger.tables.page import LastKey, Page, PageTotals
from itemledger.tables.page_result import FilterFinding, Segment, SegmentState

_FILTERS = ("FilterExpression", "QueryFilter", "ScanFilter")


def has_filter(request: Mapping[str, Any]) -> bool:
    """Whether fewer items may come back than were examined."""
    return any(request.get(name) for name in _FILTERS)


class Chain:
    """Pages one after the other. ``last_key`` is where the next one begins, ``attempts`` how often it was asked for."""

    def __init__(self, number: int, start_key: LastKey | None) -> None:
        self.number = number
        self.last_key = start_key
        self.state = SegmentState.NOT_STARTED if start_key is None else SegmentState.UNDER_WAY
        self.totals = PageTotals()
        self.attempts = 0
        self.resume_at = float("-inf")
        self._error: TerminalError | None = None
        self._began_at: float | None = None
        self._ended_at = 0.0

    def began(self, now: float) -> None:
        if self._began_at is None:
            self._began_at = self._ended_at = now

    def took(self, page: Page, now: float) -> None:
        """A page came: the next one begins where the service says, or nowhere."""
        self.counted(page.totals, now)
        self.attempts = 0
        self.last_key = page.last_key
        self.state = SegmentState.DONE if page.last_key is None else SegmentState.UNDER_WAY

    def counted(self, more: PageTotals, now: float) -> None:
        self.totals = self.totals.plus(more)
        self._ended_at = now

    def failed(self, error: TerminalError) -> None:
        self._error = error
        self.state = SegmentState.FAILED

    def standing(self) -> Segment:
        seconds = 0.0 if self._began_at is None else self._ended_at - self._began_at
        return Segment(self.number, self.state, self.last_key, self.totals, seconds, self._error)

    @property
    def goes_on(self) -> bool:
        return self.state in (SegmentState.NOT_STARTED, SegmentState.UNDER_WAY)


class EmptyPages:
    """Counts the pages that a filter left empty although there was more, where the caller had set a ``Limit``."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._limit: int | None = request.get("Limit") if has_filter(request) else None
        self._first: Page | None = None
        self._totals = PageTotals()

    def saw(self, page: Page) -> None:
        if self._limit is None or page.returned or page.last_key is None:
            return
        self._first = self._first or page
        self._totals = self._totals.plus(page.totals)

    def finding(self) -> FilterFinding | None:
        if self._limit is None or self._first is None:
            return None
        consumed = self._totals.consumed
        return FilterFinding(
            self._limit,
            self._first.number,
            self._first.examined,
            self._totals.pages,
            self._totals.examined,
            None if consumed is None else consumed.units,
        )
