"""``batch_writer`` as the SDK has it, with a report of every item."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, Unpack

from itemledger.batch_report import BatchReport
from itemledger.batch_run import Chunk
from itemledger.batch_writes import Writes, key_of
from itemledger.batching import SyncBatchOptions, send
from itemledger.errors import ManifestError
from itemledger.provider import call


class BatchWriter:
    """Puts and deletes, buffered and sent in batches: ``with batch_writer(client, "Orders") as batch``.

    ``report`` says at any moment what became of what is no longer buffered. Leaving the block sends what is, also when
    an error of the block's own leaves it, and raises IncompleteBatchError when not everything is written. An error that
    leaves the block carries the report; what an interrupted flush had yet to send is left over in it.
    """

    def __init__(self, client: Any, writes: Writes, options: SyncBatchOptions) -> None:
        self._client = client
        self._writes = writes
        self._options = options

    @property
    def report(self) -> BatchReport:
        return self._writes.report

    def put_item(self, Item: Mapping[str, Any]) -> None:  # noqa: N803  # the SDK's name
        """Raises ManifestError for an item that could never be written; nothing else is lost by it. After an error that
        every call would meet it raises IncompleteBatchError, and what is buffered is left over."""
        self._send(self._writes.put(Item))
        self._writes.raise_if_blocked()

    def delete_item(self, Key: Mapping[str, Any]) -> None:  # noqa: N803
        """As ``put_item``, for the key of an item that is to go."""
        self._send(self._writes.delete(Key))
        self._writes.raise_if_blocked()

    def flush(self) -> None:
        """Sends what is buffered and waits for its end."""
        self._send(self._writes.flush())
        self._writes.raise_if_blocked()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.flush()
            self.report.raise_unless_complete()
            return
        try:
            self._send(self._writes.flush())  # after a flush that was cut short nothing is buffered any more
        finally:
            self._writes.carried_by(error)

    def _send(self, chunks: Iterable[Chunk]) -> None:
        with self._writes as run:
            for chunk in chunks:
                run.ended(send(self._client, chunk, self._options))


def batch_writer(
    client: Any,
    table_name: str,
    *,
    key: Mapping[str, str] | None = None,
    overwrite_by_pkeys: Sequence[str] | None = None,
    values: Literal["native", "typed"] = "native",
    **options: Unpack[SyncBatchOptions],
) -> BatchWriter:
    """The SDK's ``table.batch_writer()`` for a low-level client, that neither loops for ever nor drops what it knows.

    ``key`` maps the key's attributes to S, N or B, and is read with DescribeTable when left out. With
    ``overwrite_by_pkeys`` of several items of one key in the buffer only the last is sent; without it they are sent one
    after the other. Options: see ``BatchOptions``.
    """
    _check_spelling(client)
    if key is None:
        key = key_of(table_name, call(client, "describe_table", {"TableName": table_name}))
    return BatchWriter(client, Writes(client, table_name, key, overwrite_by_pkeys, values, options), options)


def _check_spelling(client: Any) -> None:
    """Refuses the client of a resource, which users of ``table.batch_writer()`` have at hand: it converts values by
    itself, and would take our typed ones for maps."""
    if not hasattr(getattr(client, "meta", None), "service_model"):
        return
    asked = {"params": {}, "model": client.meta.service_model.operation_model("BatchWriteItem"), "context": {}}
    answers = client.meta.events.emit("provide-client-params.dynamodb.BatchWriteItem", **asked)
    if inspect.iscoroutine(answers):  # of a client for asyncio, which is refused where it is called
        answers.close()
        return
    if any(getattr(handler, "__module__", "").startswith("boto3.dynamodb") for handler, _ in answers):
        raise ManifestError(
            'client= belongs to a boto3 resource and converts values by itself; give boto3.client("dynamodb")'
        )
