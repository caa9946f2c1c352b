"""The demo's table and manifest: composite keys, some absent, some so large that the engine itself leaves keys over."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias

from itemledger.apis.attribute_values import item_from_native

TABLE = "Orders"
OrderKey: TypeAlias = tuple[str, Decimal]
SMALL, LARGE, ABSENT = 3600, 90, 310
#: 90 of these are 35 MB; an answer holds 16 MB.
LARGE_BYTES = 390_000


def load(client: Any) -> int:
    """Creates the table and writes its items through the SDK; returns how many."""
    client.create_table(
        TableName=TABLE,
        KeySchema=[
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "order", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "order", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    written = 0
    items = _items()
    while batch := list(itertools.islice(items, 25)):
        leftovers = client.batch_write_item(RequestItems={TABLE: batch})["UnprocessedItems"]
        assert not leftovers, "the demo's engine leaves no writes over"
        written += len(batch)
    return written


def manifest() -> list[OrderKey]:
    """Every key of the table and ``ABSENT`` that are not there, in an order that is always the same.

    The large ones stand together, as they would for one customer with many scanned documents.
    """
    keys = [_key(i) for i in range(SMALL)]
    keys += [(f"customer-{i % 97:02d}", Decimal(900_000 + i)) for i in range(ABSENT)]
    random.Random(7).shuffle(keys)
    middle = len(keys) // 2
    return keys[:middle] + [_key(i) for i in range(SMALL, SMALL + LARGE)] + keys[middle:]


def _key(i: int) -> OrderKey:
    return f"customer-{i % 97:02d}", Decimal(i)


def _items() -> Iterator[dict[str, Any]]:
    for i in range(SMALL + LARGE):
        customer, order = _key(i)
        item = {"customer": customer, "order": order, "total": Decimal(i % 500) + Decimal("0.95"), "status": "open"}
        if i >= SMALL:
            item["scan"] = "x" * LARGE_BYTES
        yield {"PutRequest": {"Item": item_from_native(item)}}
