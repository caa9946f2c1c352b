"""Two small tables for the examples, offline: the SDK is real, its answers come from memory and are *synthetic*."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config

from itemledger.testing import Attempt, FaultInjector, LeaveUnprocessed, serve_rows

ORDERS = [{"pk": {"S": f"A-{n}"}, "total": {"N": str(n * 10)}} for n in range(1, 251)]
CUSTOMERS = [{"pk": {"S": "c-1"}, "name": {"S": "Ada"}}, {"pk": {"S": "c-2"}, "name": {"S": "Grace"}}]

SETTINGS: dict[str, Any] = {
    "region_name": "eu-west-1",
    "aws_access_key_id": "offline",
    "aws_secret_access_key": "offline",
}


@contextmanager
def client(leaving_over: Collection[str] = (), in_calls: int = 1_000) -> Iterator[Any]:
    """In place of ``boto3.client("dynamodb")``; the first ``in_calls`` answers leave over the keys that are named."""
    sdk: Any = boto3.client(
        "dynamodb", **SETTINGS, config=Config(retries={"mode": "standard", "total_max_attempts": 1})
    )
    with service(sdk, leaving_over, in_calls):
        yield sdk
    sdk.close()


def service(sdk: Any, leaving_over: Collection[str] = (), in_calls: int = 1_000) -> FaultInjector:
    """Answers a client, boto3's or aiobotocore's, for the length of a ``with`` block."""
    busy = LeaveUnprocessed(when=lambda table, key: key["pk"]["S"] in leaving_over)

    def choose(attempt: Attempt) -> LeaveUnprocessed | None:
        return busy if attempt.number <= in_calls else None

    return FaultInjector(sdk, choose, upstream=serve_rows({"Orders": ORDERS, "Customers": CUSTOMERS}))
