"""Items through any batch API, with a report of every one: thin over a ledger in memory and ``work``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from itemledger.batch_report import BatchReport
from itemledger.batch_run import BatchOptions, Chunk, Run
from itemledger.core.write_api import WriteApi
from itemledger.crew.result import WorkResult
from itemledger.sync import work


class SyncBatchOptions(BatchOptions, total=False):
    """``sleep(seconds)`` waits while nothing is due; it can be replaced in tests."""

    sleep: Callable[[float], None]


def with_backoff(
    client: Any, api: WriteApi, items: Iterable[object], **options: Unpack[SyncBatchOptions]
) -> BatchReport:
    """Sends items through any API of ``itemledger.apis``, again what was left over, and reports on every one.

    ``with_backoff(client, SendMessageBatch(queue_url=...), entries)``. Items of one id or key are sent one after the
    other, in their order. An error that every further call would meet ends the sending: what was not sent is left over.

    Raises ManifestError for an item that could never be sent, with its position, and what ``items`` raises; an
    interrupt comes as it is. All of them carry ``.report``, in which what was drawn and not sent is left over.
    """
    with Run(client, options) as run:
        for item in items:
            for chunk in run.give(api, run.read(api, item)):
                run.ended(send(client, chunk, options))
        for chunk in run.flush():
            run.ended(send(client, chunk, options))
    return run.report


def send(client: Any, chunk: Chunk, options: SyncBatchOptions) -> WorkResult:
    """Works on a chunk to its end."""
    return work(client, chunk.ledger, chunk.operation_id, **chunk.options, sleep=options.get("sleep", time.sleep))
