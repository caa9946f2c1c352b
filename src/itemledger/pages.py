"""Pages of Query and Scan with a blocking client."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from typing import Any

from itemledger.calls import Calls, Waiting, drive
from itemledger.core.result import Item
from itemledger.core.steps import Ticks
from itemledger.paging import PagesPlan, plan_query, plan_scan, raise_unless_asked_for
from itemledger.provider import call, observe
from itemledger.tables.page import Page
from itemledger.tables.page_answer import PageCall
from itemledger.tables.page_result import PagesResult, PageStop, Segment
from itemledger.tables.page_run import PageRun


class Pages(Iterator[Page]):
    """An iterator of pages; ``result`` says at any moment where it stands and what it has cost.

    It ends where the table does, or at a bound that the caller gave. Any other end is raised as IncompletePagesError,
    with that result; so is it carried by an interrupt and a LedgerInvariantError. ``close`` ends what is in flight.
    """

    def __init__(
        self, client: Any, plan: PagesPlan, sleep: Callable[[float], None], waiting: Waiting = nullcontext
    ) -> None:
        observe(client, plan.operation)
        self._client = client
        self._plan = plan
        self._sleep = sleep
        self._waiting = waiting
        self._run: PageRun | None = None
        self._steps = self._pages()

    def __next__(self) -> Page:
        return next(self._steps)

    def __enter__(self) -> Pages:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._steps.close()

    def items(self) -> Iterator[Item]:
        """The items of all pages that are still to come, one by one."""
        for page in self:
            yield from page.items

    @property
    def result(self) -> PagesResult:
        run = self._run or self._plan.begin(None, 0.0)
        return run.result()

    def standing(self, segment: int) -> Segment:
        """Where one segment stands: after the page of it that was handed out last."""
        assert self._run is not None, "a page was handed out"
        return self._run.standing(segment)

    def _pages(self) -> Generator[Page, None, None]:
        ticks = Ticks(self._plan.clock)
        started_at = ticks.now()
        describe = self._plan.describe
        described = None if describe is None else call(self._client, "describe_table", describe)
        run = self._run = self._plan.begin(described, started_at)
        calls: Calls[PageCall] = Calls(self._client, self._plan.bounds.concurrency, self._waiting)
        try:
            for end in drive(run, calls, ticks, self._sleep):
                if isinstance(end, Page):
                    yield end
        except BaseException as error:
            run.stop(PageStop.INTERRUPTED)
            rides_along: Any = error
            rides_along.result = run.result()
            raise
        finally:
            calls.close()
        raise_unless_asked_for(self._plan.operation, run.result())


def query_pages(client: Any, *, sleep: Callable[[float], None] = time.sleep, **arguments: Any) -> Pages:
    """Query, page by page, to its end: only an absent LastEvaluatedKey is one.

    ``client`` is a low-level ``boto3.client("dynamodb")``; arguments are those of its ``query`` and ``PageOptions``::

        for page in query_pages(client, TableName="Orders", KeyConditionExpression=Key("pk").eq("A")):
            page.items, page.examined, page.returned, page.consumed, page.last_key

    Raises ManifestError before any call when the request cannot be carried out.
    """
    return Pages(client, plan_query(arguments), sleep)


def scan_pages(client: Any, *, sleep: Callable[[float], None] = time.sleep, **arguments: Any) -> Pages:
    """Scan, page by page, in ``segments=`` at a time; pages say of which segment they are.

    Arguments are those of the client's ``scan`` and ``ScanOptions``. A segment that fails ends with its reason while
    the others go on to their ends; IncompletePagesError then tells of it.
    """
    return Pages(client, plan_scan(arguments), sleep)
