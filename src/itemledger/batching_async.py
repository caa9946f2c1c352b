"""The same for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Unpack

from itemledger.batch_report import BatchReport
from itemledger.batch_run import BatchOptions, Chunk, Run
from itemledger.core.write_api import WriteApi
from itemledger.crew.result import WorkResult
from itemledger.driver_async import work


class AsyncBatchOptions(BatchOptions, total=False):
    """``await sleep(seconds)`` waits while nothing is due; it can be replaced in tests."""

    sleep: Callable[[float], Awaitable[None]]


async def with_backoff(
    client: Any, api: WriteApi, items: Iterable[object], **options: Unpack[AsyncBatchOptions]
) -> BatchReport:
    """As ``itemledger.with_backoff``, with a client of aiobotocore.

    A cancellation carries ``.report``; what was in flight then is unknown.
    """
    with Run(client, options) as run:
        for item in items:
            for chunk in run.give(api, run.read(api, item)):
                run.ended(await send(client, chunk, options))
        for chunk in run.flush():
            run.ended(await send(client, chunk, options))
    return run.report


async def send(client: Any, chunk: Chunk, options: AsyncBatchOptions) -> WorkResult:
    """Works on a chunk to its end."""
    sleep = options.get("sleep", asyncio.sleep)
    return await work(client, chunk.ledger, chunk.operation_id, **chunk.options, sleep=sleep)
