"""What a batch writer of either driver buffers: puts and deletes of one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.batch_run import BatchOptions, Chunk, Run
from itemledger.core.answer import Answer, Failure
from itemledger.errors import ManifestError
from itemledger.provider import described


class Writes(Run):
    """A run over two APIs, one to put and one to delete."""

    def __init__(
        self,
        client: Any,
        table_name: str,
        key: Mapping[str, str],
        overwrite_by_pkeys: Sequence[str] | None,
        values: Literal["native", "typed"],
        options: BatchOptions,
    ) -> None:
        super().__init__(client, options)
        if overwrite_by_pkeys is not None and set(overwrite_by_pkeys) != set(key):
            raise ManifestError(
                f"overwrite_by_pkeys= names {', '.join(overwrite_by_pkeys)}, and the key of {table_name} is "
                f"{', '.join(key)}; name all of it, and nothing else"
            )
        self._last_wins = overwrite_by_pkeys is not None
        self._puts = BatchWriteItem(table_name=table_name, key=key, values=values)
        self._deletes = BatchWriteItem(table_name=table_name, key=key, action="delete", values=values)

    def put(self, item: Mapping[str, Any]) -> Iterator[Chunk]:
        return self.give(self._puts, self.read(self._puts, item), last_wins=self._last_wins)

    def delete(self, key: Mapping[str, Any]) -> Iterator[Chunk]:
        return self.give(self._deletes, self.read(self._deletes, key), last_wins=self._last_wins)

    def carried_by(self, error: BaseException) -> None:
        """Hangs the report on an error that leaves the block, unless it has another helper's."""
        if getattr(error, "report", None) is None:
            carries: Any = error
            carries.report = self.report


def key_of(table_name: str, description: Answer | Failure) -> dict[str, str]:
    """The table's key, partition key first, by what DescribeTable says."""
    table = None if isinstance(description, Failure) else described(description)
    if table is None:
        why = f" ({description.error})" if isinstance(description, Failure) else ""
        raise ManifestError(f"DescribeTable does not tell the key of {table_name}{why}; give key={{'pk': 'S'}}")
    return {name: str(kind) for name, kind in zip(table.key.names, table.key.types, strict=True)}
