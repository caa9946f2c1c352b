"""Which of the rows that are due share a request: as many as its limits allow, in order."""

from __future__ import annotations

from collections.abc import Sequence

from itemledger.core.reconcile import Limits
from itemledger.core.rows import Row


def pack(candidates: Sequence[Row], limits: Limits) -> int:
    """How many of the first candidates fit into one request; at least one, where there is one.

    The bytes are those that the service counts; a row with a ``batch_limit`` shares its request with fewer, which is
    how the one item is found for which a whole batch is refused. A row that must be replayed in its exact request
    (``replay_of``) never shares one here.
    """
    most, size = limits.items, 0
    for count, row in enumerate(candidates):
        most = min(most, row.batch_limit or most)
        size += row.size_bytes
        too_large = limits.request_bytes is not None and size > limits.request_bytes
        if count and (count >= most or too_large or row.replay_of is not None):
            return count
        if row.replay_of is not None:
            return 1
    return min(len(candidates), most)


def pack_look_ups(candidates: Sequence[Row], limits: Limits) -> int:
    """How many of the first candidates share a look-up; the bytes are those that its answer may carry."""
    size = 0
    for count, row in enumerate(candidates[: limits.items]):
        size += row.size_bytes
        if count and limits.request_bytes is not None and size > limits.request_bytes:
            return count
    return min(len(candidates), limits.items)
