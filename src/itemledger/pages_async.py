"""Pages of Query and Scan for asyncio; what is asked, and what it means, is the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from itemledger.calls_async import Calls, advance
from itemledger.core.result import Item
from itemledger.core.steps import Ticks
from itemledger.paging import PagesPlan, plan_query, plan_scan, raise_unless_asked_for
from itemledger.provider import call_async, observe
from itemledger.tables.page import Page
from itemledger.tables.page_answer import PageCall
from itemledger.tables.page_result import PagesResult, PageStop
from itemledger.tables.page_run import PageRun


class AsyncPages(AsyncIterator[Page]):
    """As ``itemledger.pages.Pages``, for ``async for``; ``aclose``, or ``async with``, ends what is in flight."""

    def __init__(self, client: Any, plan: PagesPlan, sleep: Callable[[float], Awaitable[None]]) -> None:
        observe(client, plan.operation)
        self._client = client
        self._plan = plan
        self._sleep = sleep
        self._run: PageRun | None = None
        self._steps = self._pages()

    async def __anext__(self) -> Page:
        return await anext(self._steps)

    async def __aenter__(self) -> AsyncPages:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._steps.aclose()

    async def items(self) -> AsyncIterator[Item]:
        """The items of all pages that are still to come, one by one."""
        async for page in self:
            for item in page.items:
                yield item

    @property
    def result(self) -> PagesResult:
        run = self._run or self._plan.begin(None, 0.0)
        return run.result()

    async def _pages(self) -> AsyncGenerator[Page, None]:
        ticks = Ticks(self._plan.clock)
        started_at = ticks.now()
        describe = self._plan.describe
        described = None if describe is None else await call_async(self._client, "describe_table", describe)
        run = self._run = self._plan.begin(described, started_at)
        calls: Calls[PageCall] = Calls(self._client)
        try:
            while (end := await advance(run, calls, ticks, self._sleep)) is not None:
                if isinstance(end, Page):
                    yield end
        except BaseException as error:
            run.stop(PageStop.INTERRUPTED)
            rides_along: Any = error
            rides_along.result = run.result()
            raise
        finally:
            await calls.close()
        raise_unless_asked_for(self._plan.operation, run.result())


def query_pages(
    client: Any, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep, **arguments: Any
) -> AsyncPages:
    """As ``itemledger.query_pages``, with a ``dynamodb`` client of aiobotocore and ``async for``."""
    return AsyncPages(client, plan_query(arguments), sleep)


def scan_pages(
    client: Any, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep, **arguments: Any
) -> AsyncPages:
    """As ``itemledger.scan_pages``, with a ``dynamodb`` client of aiobotocore and ``async for``."""
    return AsyncPages(client, plan_scan(arguments), sleep)
