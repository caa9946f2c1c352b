"""The helpers of both drivers behind one face, the words of the tests, and a table that answers from memory."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from itemledger import batch_writing, batch_writing_async, batching, batching_async, hydrating, hydrating_async
from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.batch_report import BatchReport
from itemledger.hydrating import HydratedPage
from itemledger.tables.page import Page
from itemledger.testing import Call, FakeClock, batch_get_response
from tests.drivers.both import Driver
from tests.drivers.scenarios import highest

TABLE = "T"
KEY = {"pk": "S"}
PUTS = BatchWriteItem(table_name=TABLE, key=KEY)


def letters(items: Iterable[Any]) -> str:
    """The keys of reported items, in their order; each is one letter here."""
    return "".join(each.item["pk"] for each in items)


def told(report: BatchReport) -> tuple[int, str, str, str]:
    """A report in short: how many are written, and the letters of the other three."""
    return report.written, letters(report.leftover), letters(report.refused), letters(report.unknown)


def patient(driver: Driver, clock: FakeClock) -> dict[str, Any]:
    return {"clock": clock, "sleep": driver.pause(clock), "jitter": highest, "concurrency": 1}


async def with_backoff(driver: Driver, client: Any, *arguments: Any, **options: Any) -> BatchReport:
    if driver.is_async:
        return await batching_async.with_backoff(client, *arguments, **options)
    return batching.with_backoff(client, *arguments, **options)


@asynccontextmanager
async def writing(driver: Driver, client: Any, **options: Any) -> AsyncIterator[Any]:
    """A writer whose methods are awaited, whatever the driver."""
    arguments: Any = {"key": KEY, **options}
    if driver.is_async:
        async with batch_writing_async.batch_writer(client, TABLE, **arguments) as batch:
            yield batch
        return
    with batch_writing.batch_writer(client, TABLE, **arguments) as batch:
        yield _Awaited(batch)


class _Awaited:
    def __init__(self, batch: Any) -> None:
        self._batch = batch

    @property
    def report(self) -> Any:
        return self._batch.report

    async def put_item(self, Item: Any) -> None:  # noqa: N803
        self._batch.put_item(Item=Item)

    async def delete_item(self, Key: Any) -> None:  # noqa: N803
        self._batch.delete_item(Key=Key)

    async def flush(self) -> None:
        self._batch.flush()


async def hydrate(driver: Driver, client: Any, pages: Iterable[Page], *key: Any, **options: Any) -> list[HydratedPage]:
    if driver.is_async:
        return [each async for each in hydrating_async.hydrate(client, _each(pages), *key, **options)]
    return list(hydrating.hydrate(client, pages, *key, **options))


async def _each(pages: Iterable[Page]) -> AsyncIterator[Page]:
    for page in pages:
        yield page


class FakeTable:
    """Answers BatchWriteItem and BatchGetItem from memory, as the service does; ``meddle`` may answer in its place."""

    def __init__(self, meddle: Callable[[Call], Any] | None = None) -> None:
        self.items: dict[str, Mapping[str, Any]] = {}
        self.asked: list[str] = []
        self._meddle = meddle
        self._lock = threading.Lock()

    async def __call__(self, call: Call) -> Any:
        (entries,) = call.request["RequestItems"].values()
        with self._lock:
            self.asked.append(_asked(call, entries))
            instead = None if self._meddle is None else self._meddle(call)
            if isinstance(instead, BaseException | Mapping):
                return instead
            left = instead or ""
            if call.operation == "batch_get_item":
                found = [self.items[k] for k in (key["pk"]["S"] for key in entries["Keys"]) if k in self.items]
                return batch_get_response(found, table=TABLE)
            self.carry_out(call, left)
            over = [entry for entry in entries if _letter(entry) in left]
            return {
                "UnprocessedItems": {TABLE: over} if over else {},
                "ResponseMetadata": {"RequestId": "w", "HTTPStatusCode": 200, "RetryAttempts": 0},
            }

    def carry_out(self, call: Call, but: str = "") -> None:
        """Writes what a call asks for."""
        for entry in call.request["RequestItems"][TABLE]:
            letter = _letter(entry)
            if letter in but:
                continue
            if "PutRequest" in entry:
                self.items[letter] = entry["PutRequest"]["Item"]
            else:
                self.items.pop(letter, None)


def _letter(entry: Mapping[str, Any]) -> str:
    body: Any = entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"]
    letter: str = body["pk"]["S"]
    return letter


def _asked(call: Call, entries: Any) -> str:
    if call.operation == "batch_get_item":
        return "get " + "".join(key["pk"]["S"] for key in entries["Keys"])
    kind = "put" if "PutRequest" in entries[0] else "delete"
    return f"{kind} " + "".join(map(_letter, entries))


@contextmanager
def carrying(error: type[BaseException]) -> Any:
    """Expects an error, and hands out the report that it carries."""
    box: list[Any] = []
    try:
        yield box
    except error as raised:
        box.append(raised)
        box.append(getattr(raised, "report", None))
    else:
        raise AssertionError(f"no {error.__name__} was raised")
