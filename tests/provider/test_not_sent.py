"""What proves that nothing was sent, on real sockets: a refused connection does, one that breaks later does not."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config

from itemledger import provider
from itemledger.apis.sqs import SendMessageBatch
from itemledger.core.answer import Failure
from itemledger.core.write_api import Proof
from tests.engines.launch import REGION

API = SendMessageBatch(queue_url="http://127.0.0.1/queue")
REQUEST = API.request([API.entry({"MessageBody": "pay 10"}, 0)])


@contextmanager
def reset_after_the_request() -> Iterator[tuple[str, list[bytes]]]:
    """A server that reads the request and then breaks the connection with a reset; what it read is the journal."""
    journal: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                journal.append(connection.recv(65536))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", journal
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@contextmanager
def nobody_listens() -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def config(**more: Any) -> Config:
    return Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=5, **more)


def called(endpoint_url: str, **more: Any) -> Proof:
    client = boto3.client("sqs", endpoint_url=endpoint_url, region_name=REGION, config=config(**more))
    provider.observe(client, API.operation, API.service)
    end = provider.call(client, API.operation, REQUEST)
    assert isinstance(end, Failure), end
    return API.explain(end)


def called_by_aiobotocore(endpoint_url: str) -> Proof:
    async def call() -> Any:
        session = pytest.importorskip("aiobotocore.session").get_session()
        async with session.create_client(
            "sqs",
            endpoint_url=endpoint_url,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=config(),
        ) as client:
            provider.observe(client, API.operation, API.service)
            return await provider.call_async(client, API.operation, REQUEST)

    end = asyncio.run(call())
    assert isinstance(end, Failure), end
    return API.explain(end)


def test_a_refused_connection_proves_that_nothing_was_sent() -> None:
    with nobody_listens() as url:
        assert Proof.NOT_PROCESSED is called(url)


def test_a_reset_after_the_request_proves_nothing() -> None:
    with reset_after_the_request() as (url, journal):
        assert Proof.NOTHING is called(url)
        assert any(b"SendMessageBatch" in each for each in journal)


def test_a_reset_by_a_proxy_after_the_request_proves_nothing() -> None:
    with reset_after_the_request() as (url, journal):
        assert Proof.NOTHING is called("http://queue.invalid", proxies={"http": url})
        assert any(b"SendMessageBatch" in each for each in journal)


@pytest.mark.aio
def test_a_refused_connection_of_aiohttp_proves_that_nothing_was_sent() -> None:
    with nobody_listens() as url:
        assert Proof.NOT_PROCESSED is called_by_aiobotocore(url)


@pytest.mark.aio
def test_a_reset_of_aiohttps_connection_after_the_request_proves_nothing() -> None:
    with reset_after_the_request() as (url, journal):
        assert Proof.NOTHING is called_by_aiobotocore(url)
        assert any(b"SendMessageBatch" in each for each in journal)
