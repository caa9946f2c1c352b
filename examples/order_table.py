"""A table of orders with an index by customer and time, offline: the SDK is real, its answers are *synthetic*."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from orders import SETTINGS

from itemledger.testing import Attempt, FaultInjector

#: Seven orders of each of two customers; every second one is open.
ROWS: list[dict[str, Any]] = [
    {
        "pk": {"S": f"{customer}-{number}"},
        "customer": {"S": customer},
        "placed_at": {"N": str(1_700_000_000 + number)},
        "status": {"S": "open" if number % 2 else "paid"},
        "total": {"N": f"{number}.50"},
    }
    for customer in ("ada", "grace")
    for number in range(1, 8)
]
#: The attributes of the index's key and the table's: pages that end within one of the service's need them.
KEY = ("customer", "placed_at", "pk")


@contextmanager
def client() -> Iterator[Any]:
    """In place of ``boto3.client("dynamodb")``; it answers the queries of these examples, three rows read at a time."""
    sdk: Any = boto3.client("dynamodb", **SETTINGS, config=Config(retries={"total_max_attempts": 1}))
    with FaultInjector(sdk, [], upstream=_query):
        yield sdk
    sdk.close()


def _query(attempt: Attempt) -> dict[str, Any]:
    asked = attempt.request
    values = asked["ExpressionAttributeValues"]
    rows = [row for row in ROWS if row["customer"] == values[":customer"]]
    after = asked.get("ExclusiveStartKey", {"placed_at": {"N": "0"}})["placed_at"]["N"]
    left = [row for row in rows if int(row["placed_at"]["N"]) > int(after)]
    read = left[: min(3, asked.get("Limit", 3))]
    answer = {"Items": [row for row in read if row["status"] == values.get(":status", row["status"])]}
    answer |= {"Count": len(answer["Items"]), "ScannedCount": len(read)}
    return answer if read == left else answer | {"LastEvaluatedKey": {name: read[-1][name] for name in KEY}}
