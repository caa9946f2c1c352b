"""A scan with a checkpoint: every page is written once, whatever ends the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from itemledger.calls import Waiting
from itemledger.core.answer import Answer
from itemledger.errors import CheckpointError, IncompletePagesError, OutputError
from itemledger.pages import Pages
from itemledger.paging import PagesPlan, plan_scan
from itemledger.provider import call
from itemledger.scanning.checkpoint import Checkpoint, ScanIdentity, not_begun, request_sha256, with_earlier
from itemledger.scanning.result import ScanResult, sum_of
from itemledger.scanning.sinks import Sink
from itemledger.tables.page import Page
from itemledger.tables.page_result import PagesResult, Segment, SegmentState


@dataclass(frozen=True, slots=True)
class ScanTable:
    """What DescribeTable tells before a scan; nothing where it may not be asked."""

    table_id: str | None = None
    approximate_items: int | None = None


def describe(client: Any, plan: PagesPlan) -> ScanTable:
    """Asks for the table's identity and size; a scan goes on without them."""
    answer = call(client, "describe_table", {"TableName": plan.request["TableName"]})
    table = answer.response.get("Table") if isinstance(answer, Answer) else None
    if not isinstance(table, Mapping):
        return ScanTable()
    index = plan.request.get("IndexName")
    sized = next((each for each in table.get("GlobalSecondaryIndexes") or () if each.get("IndexName") == index), table)
    told = table.get("TableId"), sized.get("ItemCount")
    return ScanTable(told[0] if isinstance(told[0], str) else None, told[1] if isinstance(told[1], int) else None)


class Scan:
    """One run of a scan into a sink. ``begun`` is told where it stands before its first page, ``progress`` of each."""

    def __init__(
        self,
        client: Any,
        sink: Sink,
        arguments: Mapping[str, Any],
        *,
        checkpoint: Path | None = None,
        begun: Callable[[ScanResult], object] | None = None,
        progress: Callable[[Page], object] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        waiting: Waiting = nullcontext,
    ) -> None:
        self._client = client
        self._sink = sink
        self._path = checkpoint
        self._begun = begun
        self._progress = progress
        self._sleep = sleep
        self._waiting = waiting
        self._plan = plan_scan({**arguments, "values": sink.values})
        self._journal: Checkpoint | None = None
        self._earlier: dict[int, Segment] = {}
        self._standing: dict[int, Segment] = {}
        """Where the segments stand in this run: behind a page only when it is written."""
        self._uncommitted: set[int] = set()

    def run(self) -> ScanResult:
        """To its end. What the service refuses is in the result; an interrupt is raised again with ``.result``.

        Raises CheckpointError and ManifestError before the first page, and whatever the caller's function raises.
        """
        table = describe(self._client, self._plan)
        self._earlier = {number: not_begun(number) for number in self._plan.starts}
        position = None
        if self._path is not None:
            self._journal = Checkpoint.open(self._path, self._identity(table))
            self._earlier, position = dict(self._journal.segments), self._journal.position
        try:
            self._sink.open(position)
            if self._journal is not None and not self._sink.resumable:
                raise CheckpointError(
                    "the output is no file, so nothing can be taken up there; leave the checkpoint out"
                )
            if self._journal is not None and position is None:
                self._journal.commit((), self._sink.commit())  # from here on the output is this scan's
            left = {n: each.last_key for n, each in self._earlier.items() if each.state is not SegmentState.DONE}
            return self._through(replace(self._plan, starts=left), table, resumed=position is not None)
        finally:
            self._sink.close()
            if self._journal is not None:
                self._journal.close()

    def _through(self, plan: PagesPlan, table: ScanTable, *, resumed: bool) -> ScanResult:
        clock = plan.clock
        with Pages(self._client, plan, self._sleep, self._waiting) as pages:
            committed_at = clock()
            if self._begun is not None:
                self._begun(self._result(pages.result, table, resumed=resumed))
            try:
                for page in pages:
                    standing = pages.standing(page.segment)
                    self._sink.write(self._numbered(page))
                    self._stands(standing)  # only now: a page that was not written is not behind us
                    if self._sink.due(clock() - committed_at):
                        self._commit()
                        committed_at = clock()
                    if self._progress is not None:
                        self._progress(page)
            except IncompletePagesError:
                pass  # the result tells
            except BaseException as error:
                with suppress(OutputError, CheckpointError):  # the next run goes on from the commit before
                    self._commit()
                rides_along: Any = error
                rides_along.result = self._result(pages.result, table, resumed=resumed)
                raise
            for segment in pages.result.segments:
                self._stands(segment)  # calls that failed are counted, too
            self._commit()
            return self._result(pages.result, table, resumed=resumed)

    def _numbered(self, page: Page) -> Page:
        """Counted over all runs, so that a page handed out again has the number it had."""
        return replace(page, number=page.number + self._earlier[page.segment].totals.pages)

    def _stands(self, segment: Segment) -> None:
        if segment.totals.calls and self._standing.get(segment.number) != segment:
            self._standing[segment.number] = segment
            self._uncommitted.add(segment.number)

    def _commit(self) -> None:
        if not self._uncommitted:
            return
        position = self._sink.commit()
        if self._journal is not None:
            self._journal.commit([self._over_all_runs(number) for number in sorted(self._uncommitted)], position)
        self._uncommitted.clear()

    def _over_all_runs(self, number: int) -> Segment:
        earlier, now = self._earlier[number], self._standing.get(number)
        return earlier if now is None else with_earlier(earlier, now)

    def _result(self, run: PagesResult, table: ScanTable, *, resumed: bool) -> ScanResult:
        segments = tuple(self._over_all_runs(number) for number in sorted(self._earlier))
        return ScanResult(
            run.table_name,
            run.index_name,
            segments,
            sum_of(segments),
            run.stop_reason,
            run.terminal_error,
            resumed,
            table.approximate_items,
        )

    def _identity(self, table: ScanTable) -> ScanIdentity:
        request = self._plan.request
        return ScanIdentity(
            request["TableName"],
            request.get("IndexName"),
            self._plan.total_segments or 1,
            tuple(sorted(self._plan.starts)),
            request_sha256(request),
            self._sink.output,
            table.table_id,
        )
