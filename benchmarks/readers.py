"""The readers under test: each takes a client and keys, and says how many items it came to see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

import itemledger as il
from benchmarks import items
from benchmarks.contenders import Contender

#: No deadline is to come into this: a million keys on a slow machine take minutes.
_TIMEOUT_S = 86_400.0

Reader = Callable[[Any, list[Any]], int]


def boto3_loop(client: Any, keys: list[str]) -> int:
    return len(_collected(client, [{"pk": {"S": key}} for key in keys]))


def boto3_loop_sort_key(client: Any, keys: list[tuple[str, int]]) -> int:
    return len(_collected(client, [{"pk": {"S": key}, "line": {"N": str(line)}} for key, line in keys]))


def boto3_loop_native(client: Any, keys: list[str]) -> int:
    deserialize = TypeDeserializer().deserialize
    typed = _collected(client, [{"pk": {"S": key}} for key in keys])
    return len([{name: deserialize(value) for name, value in item.items()} for item in typed])


def _collected(client: Any, keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for first in range(0, len(keys), items.CALL_KEYS):
        chunk = {items.TABLE: {"Keys": keys[first : first + items.CALL_KEYS]}}
        found += client.batch_get_item(RequestItems=chunk)["Responses"][items.TABLE]
    return found


def read_batch_typed(client: Any, keys: list[str]) -> int:
    result = il.read_batch(client, items.TABLE, keys, items.KEY, values="typed", concurrency=1)
    return len(result.items_by_key) if result.complete else 0


def read_batch_sort_key(client: Any, keys: list[tuple[str, int]]) -> int:
    result = il.read_batch(client, items.TABLE, keys, items.SORTED_KEY, values="typed", concurrency=1)
    return len(result.items_by_key) if result.complete else 0


def read_batch(client: Any, keys: Iterable[str]) -> int:
    result = il.read_batch(client, items.TABLE, keys, items.KEY, concurrency=1, timeout_s=_TIMEOUT_S)
    return len(result.items_by_key) if result.complete else 0


def iter_read(client: Any, keys: Iterable[str]) -> int:
    """Looks at each outcome and lets go of it."""
    steps = il.iter_read(client, items.TABLE, keys, items.KEY, concurrency=1, timeout_s=_TIMEOUT_S)
    return sum(isinstance(step, il.KeyOutcome) and step.item is not None for step in steps)


READERS: dict[Contender, Reader] = {
    Contender.BOTO3: boto3_loop,
    Contender.READ_BATCH_TYPED: read_batch_typed,
    Contender.BOTO3_NATIVE: boto3_loop_native,
    Contender.READ_BATCH: read_batch,
    Contender.ITER_READ: iter_read,
    Contender.BOTO3_SORT_KEY: boto3_loop_sort_key,
    Contender.READ_BATCH_SORT_KEY: read_batch_sort_key,
}


def keys_for(contender: Contender, count: int) -> list[Any]:
    """The keys that this contender's table has."""
    sort_key = contender in (Contender.BOTO3_SORT_KEY, Contender.READ_BATCH_SORT_KEY)
    return list(items.sorted_keys(count) if sort_key else items.keys(count))
