"""The asyncio driver, for aiobotocore clients: the same names as coroutines, and a task for each call in flight.

A cancelled read raises the same ``CancelledError`` with ``.result`` on it, everything settled until then. Where a
scope turns the cancellation into an error of its own, it hangs there: ``asyncio.timeout`` and ``asyncio.wait_for``
raise a ``TimeoutError`` whose ``__cause__`` it is, ``asyncio.run`` answers Ctrl-C with a ``KeyboardInterrupt`` whose
``__context__`` it is, and a ``TaskGroup`` that cancels its tasks leaves it to the first ``task.result()``. Only
``asyncio.gather(..., return_exceptions=True)`` puts a bare one in its place: catch it inside the task there.
"""

from itemledger.batch_writing_async import AsyncBatchWriter, batch_writer
from itemledger.batching_async import with_backoff
from itemledger.driver_async import (
    AsyncOptions,
    AsyncWorkOptions,
    iter_read,
    read_batch,
    read_tables,
    resume,
    stream,
    work,
)
from itemledger.hydrating_async import hydrate
from itemledger.pages_async import AsyncPages, query_pages, scan_pages
from itemledger.shadow_async import shadow_read

__all__ = [
    "AsyncBatchWriter",
    "AsyncOptions",
    "AsyncPages",
    "AsyncWorkOptions",
    "batch_writer",
    "hydrate",
    "iter_read",
    "query_pages",
    "read_batch",
    "read_tables",
    "resume",
    "scan_pages",
    "shadow_read",
    "stream",
    "with_backoff",
    "work",
]
