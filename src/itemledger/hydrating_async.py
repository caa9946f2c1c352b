"""The same for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any, Unpack

from itemledger.core.manifest import KeyNames
from itemledger.driver_async import AsyncOptions, read_batch
from itemledger.hydrating import HydratedPage, hydrated, keys_of
from itemledger.tables.page import Page


async def hydrate(
    client: Any,
    pages: AsyncIterable[Page],
    table_name: str,
    key: KeyNames,
    *,
    consistent_read: bool = False,
    **options: Unpack[AsyncOptions],
) -> AsyncIterator[HydratedPage]:
    """As ``itemledger.hydrate``, with a ``dynamodb`` client of aiobotocore and ``async for``."""
    async for page in pages:
        if not (keys := keys_of(page, key, options)):
            yield HydratedPage(page, (), None)
            continue
        asking: AsyncOptions = {**options, "values": "typed", "fold_duplicates": True}
        yield hydrated(page, await read_batch(client, table_name, keys, key, consistent_read=consistent_read, **asking))
