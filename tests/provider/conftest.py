"""SDK clients made for one test: with an endpoint where nobody listens, so that only a fault injector can answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    MakeClient = Callable[..., DynamoDBClient]


@pytest.fixture
def make_client() -> Iterator[MakeClient]:
    made: list[DynamoDBClient] = []

    def make(mode: str = "standard", attempts: int = 1, endpoint_url: str = "http://127.0.0.1:1") -> DynamoDBClient:
        retries: Any = {"mode": mode, "total_max_attempts": attempts}
        client: DynamoDBClient = boto3.client(
            "dynamodb",
            region_name="us-east-1",
            endpoint_url=endpoint_url,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries=retries),
        )
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()
