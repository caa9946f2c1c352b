"""What the setup blocks of a page can ask for: tables and queues on a real engine, calls that leave keys over or fail,
and commands that are killed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import boto3

from itemledger.apis.attribute_values import item_from_native
from tests.cli.proxy import Asked, Proxy, Reply
from tests.docs.killed import kill_after_first_write
from tests.engines.tables import delete_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Json = dict[str, Any]
BATCH = 25


class Service:
    """An engine behind a proxy; what a page's ``boto3.client("dynamodb")`` and ``itemledger`` reach."""

    def __init__(self, engine: DynamoDBClient, proxy: Proxy) -> None:
        self._engine = engine
        self._proxy = proxy
        self._tables_before = self._table_names()
        self._queues_before = self._queue_urls()

    @property
    def endpoint_url(self) -> str:
        return self._proxy.endpoint_url

    def table(
        self, name: str, items: Iterable[Mapping[str, Any]], key: Mapping[str, Literal["S", "N", "B"]] | None = None
    ) -> None:
        """Makes a table for the length of the page and writes these plain items."""
        names = key or {"pk": "S"}
        roles: tuple[Literal["HASH", "RANGE"], ...] = ("HASH", "RANGE")
        self._engine.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": n, "KeyType": role} for n, role in zip(names, roles, strict=False)],
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": kind} for n, kind in names.items()],
            BillingMode="PAY_PER_REQUEST",
        )
        puts: list[Any] = [{"PutRequest": {"Item": item_from_native(item)}} for item in items]
        for start in range(0, len(puts), BATCH):
            left = self._engine.batch_write_item(RequestItems={name: puts[start : start + BATCH]})
            assert not left["UnprocessedItems"]

    def leave_over(self, *values: str, in_calls: int = 1_000_000) -> None:
        """The next ``in_calls`` calls leave over every key with one of these values in it, and answer the others."""
        last = len(self._proxy.requests) + in_calls

        def answering(asked: Asked) -> Reply | None:
            return None if asked.number > last else Reply(_leaving_over(asked.request, asked.forward(), values))

        self._proxy.answering = answering

    def refuse(self, code: str, message: str, *, from_call: int = 1) -> None:
        """An error of the service from the ``from_call``-th call on, counted from now."""
        self._proxy.fail_from(len(self._proxy.requests) + from_call, code, message)

    def answer(self) -> None:
        """From now on every call is answered."""
        self._proxy.answering = lambda asked: None

    def is_used(self) -> None:
        """For a page that makes its tables and queues in front of its readers: they are taken away all the same."""

    def queue(self, name: str) -> str:
        """The URL of a new queue for the length of the page; a FIFO one where its name says so."""
        with closing(boto3.client("sqs")) as client:
            attributes: Any = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
            url: str = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
            return url

    def kill(self, command: str) -> None:
        """Runs a command and kills it (SIGKILL) when its first write is done and the answer is not there yet."""
        kill_after_first_write(command, self._proxy)

    def close(self) -> None:
        """Takes away the tables and queues of the page, whoever made them."""
        for name in self._table_names() - self._tables_before:
            delete_table(self._engine, name)
        with closing(boto3.client("sqs")) as client:
            for url in self._queue_urls() - self._queues_before:
                client.delete_queue(QueueUrl=url)

    def _table_names(self) -> set[str]:
        return set(self._engine.list_tables()["TableNames"])

    def _queue_urls(self) -> set[str]:
        with closing(boto3.client("sqs")) as client:
            return set(client.list_queues().get("QueueUrls", ()))


def _leaving_over(request: Json, answer: Json, values: tuple[str, ...]) -> Json:
    left: Json = {}
    rows: Json = {}
    for table, asked in request["RequestItems"].items():
        busy = [
            key for key in asked["Keys"] if any(value in part.values() for part in key.values() for value in values)
        ]
        if busy:
            left[table] = {**asked, "Keys": busy}
        found = answer["Responses"].get(table, [])
        rows[table] = [row for row in found if not any(key.items() <= row.items() for key in busy)]
    return {**answer, "Responses": rows, "UnprocessedKeys": left}
