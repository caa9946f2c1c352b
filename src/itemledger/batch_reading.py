"""The batch reader that the SDK lacks: keys are collected in a block, and read together at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, Unpack

from itemledger.core.manifest import KeyNames, ProjectionPaths
from itemledger.core.result import ReadResult
from itemledger.sync import SyncOptions, read_batch


class BatchReader:
    """Collects keys, and reads them all when the block ends; ``result`` is then that of ``read_batch``."""

    result: ReadResult

    def __init__(
        self,
        client: Any,
        table_name: str,
        key: KeyNames | None,
        projection: ProjectionPaths | None,
        consistent_read: bool,
        options: SyncOptions,
    ) -> None:
        self._client = client
        self._table_name = table_name
        self._key = key
        self._projection = projection
        self._consistent_read = consistent_read
        self._options = options
        self._keys: list[object] = []

    def get_item(self, Key: object) -> None:  # noqa: N803
        self._keys.append(dict(Key) if isinstance(Key, Mapping) else Key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            options: SyncOptions = {"fold_duplicates": True, **self._options}
            self.result = read_batch(
                self._client,
                self._table_name,
                self._keys,
                self._key,
                projection=self._projection,
                consistent_read=self._consistent_read,
                **options,
            )


def batch_reader(
    client: Any,
    table_name: str,
    *,
    key: KeyNames | None = None,
    projection: ProjectionPaths | None = None,
    consistent_read: bool = False,
    **options: Unpack[SyncOptions],
) -> BatchReader:
    """The counterpart for reads: ``with batch_reader(client, "Orders") as batch: batch.get_item(Key=...)``.

    Equal keys are read once and answered at each place. Options are those of ``read_batch``. When an error leaves the
    block nothing is read.
    """
    return BatchReader(client, table_name, key, projection, consistent_read, options)
