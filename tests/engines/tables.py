"""Makes tables on an engine and waits until they can be used."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

AttributeType = Literal["S", "N", "B"]
KeySchema = Sequence[tuple[str, AttributeType]]

READY_BUDGET_S = 10.0

_numbers = itertools.count(1)


def create_table(client: DynamoDBClient, key: KeySchema) -> str:
    """A new table under a name of its own; the first attribute of `key` is the partition key, a second the sort key."""
    name = f"table-{next(_numbers):04d}"
    roles: tuple[Literal["HASH", "RANGE"], ...] = ("HASH", "RANGE")
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": attribute, "AttributeType": kind} for attribute, kind in key],
        KeySchema=[
            {"AttributeName": attribute, "KeyType": role} for (attribute, _), role in zip(key, roles, strict=False)
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    give_up_at = time.monotonic() + READY_BUDGET_S
    while client.describe_table(TableName=name)["Table"]["TableStatus"] != "ACTIVE":
        assert time.monotonic() < give_up_at, f"{name} is not active after {READY_BUDGET_S:.0f} s"
        time.sleep(0.01)
    return name


def delete_table(client: DynamoDBClient, name: str) -> None:
    """Deletes the table, unless the test has done so itself."""
    with contextlib.suppress(client.exceptions.ResourceNotFoundException):
        client.delete_table(TableName=name)
