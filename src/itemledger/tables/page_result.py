"""Where a run of pages stands: its segments, its sums, what it noticed, and why it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from itemledger.core.answer import TerminalError
from itemledger.tables.page import LastKey, PageTotals


class SegmentState(StrEnum):
    """Where a segment stands; one that is under way or failed goes on after its last key."""

    NOT_STARTED = "not_started"
    UNDER_WAY = "under_way"
    DONE = "done"
    FAILED = "failed"


class PageStop(StrEnum):
    """Why a run of pages ended."""

    COMPLETE = "complete"
    """Every segment came to its end: its last page had no LastEvaluatedKey."""
    MAX_ITEMS = "max_items"
    MAX_EXAMINED = "max_examined"
    REQUEST_FAILED = "request_failed"
    """A segment failed; the others went on to their ends."""
    DEADLINE = "deadline"
    INTERRUPTED = "interrupted"
    """Ctrl-C, SIGTERM, cancellation, or a caller that took no more pages."""
    INVARIANT_BROKEN = "invariant_broken"


#: Ends that the caller asked for: nothing failed.
ASKED_FOR = frozenset({PageStop.COMPLETE, PageStop.MAX_ITEMS, PageStop.MAX_EXAMINED})


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of a scan, or a query as a whole. ``seconds`` are from its first call to its last answer."""

    number: int
    state: SegmentState
    last_key: LastKey | None
    totals: PageTotals
    seconds: float
    error: TerminalError | None = None


@dataclass(frozen=True, slots=True)
class FilterFinding:
    """Pages that came back empty though there was more: ``Limit`` counts items before the filter, not after it.

    The first such page's numbers, and what all of them cost. ``units`` is ``None`` where one did not tell.
    """

    limit: int
    page: int
    examined: int | None
    pages: int
    all_examined: int | None
    units: float | None

    def __str__(self) -> str:
        read = "an unknown number of" if self.examined is None else f"{self.examined:,}"
        cost = "unknown" if self.units is None else f"{self.units:,g}"
        return (
            f"page {self.page} read {read} items, returned 0, and there is more to come: Limit={self.limit:,} counts "
            f"items before the filter. {self.pages:,} such pages, {cost} units. For so many matching items give "
            "max_items=, and no Limit"
        )


@dataclass(frozen=True, slots=True)
class PagesResult:
    """Everything a run of pages knows. ``last_key`` is where a query, or a scan of one segment, would go on."""

    table_name: str
    index_name: str | None
    segments: Sequence[Segment]
    totals: PageTotals
    stop_reason: PageStop
    terminal_error: TerminalError | None = None
    finding: FilterFinding | None = None
    abandoned_calls: int = 0

    @property
    def complete(self) -> bool:
        """Whether every page there is has been handed out."""
        return self.stop_reason is PageStop.COMPLETE

    @property
    def more(self) -> bool:
        return not self.complete

    @property
    def starts(self) -> dict[int, LastKey | None]:
        """Where each segment that is not done goes on, by its number."""
        return {each.number: each.last_key for each in self.segments if each.state is not SegmentState.DONE}

    @property
    def last_key(self) -> LastKey | None:
        """Raises ValueError for several segments, which have one each."""
        [segment] = self.segments
        return segment.last_key
