"""``batch_writer`` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Unpack

from itemledger.batch_report import BatchReport
from itemledger.batch_run import Chunk
from itemledger.batch_writes import Writes, key_of
from itemledger.batching_async import AsyncBatchOptions, send
from itemledger.provider import call_async


class AsyncBatchWriter:
    """As ``itemledger.BatchWriter``, with coroutines: ``await batch.put_item(Item=...)``."""

    def __init__(self, client: Any, writes: Writes, options: AsyncBatchOptions) -> None:
        self._client = client
        self._writes = writes
        self._options = options

    @property
    def report(self) -> BatchReport:
        return self._writes.report

    async def put_item(self, Item: Mapping[str, Any]) -> None:  # noqa: N803  # the SDK's name
        await self._send(self._writes.put(Item))
        self._writes.raise_if_blocked()

    async def delete_item(self, Key: Mapping[str, Any]) -> None:  # noqa: N803
        await self._send(self._writes.delete(Key))
        self._writes.raise_if_blocked()

    async def flush(self) -> None:
        await self._send(self._writes.flush())
        self._writes.raise_if_blocked()

    async def _send(self, chunks: Iterable[Chunk]) -> None:
        with self._writes as run:
            for chunk in chunks:
                run.ended(await send(self._client, chunk, self._options))

    async def _left_by(self, error: BaseException) -> None:
        try:
            if isinstance(error, asyncio.CancelledError):  # whoever cancels does not want to wait
                self._writes.abandon(error)
            else:
                await self._send(self._writes.flush())
        finally:
            self._writes.carried_by(error)


@asynccontextmanager
async def batch_writer(
    client: Any,
    table_name: str,
    *,
    key: Mapping[str, str] | None = None,
    overwrite_by_pkeys: Sequence[str] | None = None,
    values: Literal["native", "typed"] = "native",
    **options: Unpack[AsyncBatchOptions],
) -> AsyncIterator[AsyncBatchWriter]:
    """As ``itemledger.batch_writer``, for ``async with``; after a cancellation what is buffered is left over."""
    if key is None:
        key = key_of(table_name, await call_async(client, "describe_table", {"TableName": table_name}))
    writer = AsyncBatchWriter(client, Writes(client, table_name, key, overwrite_by_pkeys, values, options), options)
    try:
        yield writer
    except BaseException as error:
        await writer._left_by(error)
        raise
    await writer.flush()
    writer.report.raise_unless_complete()
