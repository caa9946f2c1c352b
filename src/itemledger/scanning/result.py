"""Where a scan stands, over all the runs that its checkpoint joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from itemledger.core.answer import TerminalError
from itemledger.tables.page import PageTotals
from itemledger.tables.page_result import PageStop, Segment, SegmentState


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Segments and sums over all runs; why the last one ended.

    ``resumed`` says that an earlier run had begun it. ``approximate_items`` is what DescribeTable told before: an
    estimate that the service renews about every six hours. ``failures`` names the segments whose job on an executor
    ended with an exception, which tells nothing of where they stand: their checkpoints do.
    """

    table_name: str
    index_name: str | None
    segments: tuple[Segment, ...]
    totals: PageTotals
    stop_reason: PageStop
    terminal_error: TerminalError | None = None
    resumed: bool = False
    approximate_items: int | None = None
    failures: Mapping[int, BaseException] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every segment is done, and so every item that stayed in the table has been written."""
        return not self.failures and all(segment.state is SegmentState.DONE for segment in self.segments)

    @property
    def errors(self) -> dict[int, TerminalError]:
        """The service's last word to each segment that failed."""
        return {segment.number: segment.error for segment in self.segments if segment.error is not None}


def sum_of(segments: Iterable[Segment]) -> PageTotals:
    totals = PageTotals()
    for segment in segments:
        totals = totals.plus(segment.totals)
    return totals
