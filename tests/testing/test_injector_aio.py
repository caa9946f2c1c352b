"""The same injector on an aiobotocore client, in front of real engines."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError

from itemledger.testing import (
    CutBody,
    FakeClock,
    FaultInjector,
    Hang,
    LeaveUnprocessed,
    ResetAfter,
    ScriptError,
    Slow,
    Throttle,
    WrongCrc,
    instant_retries,
    serve_rows,
)

if TYPE_CHECKING:
    from tests.conftest import MakeTable
    from tests.engines.launch import Engine

pytestmark = [pytest.mark.aio, pytest.mark.asyncio]

KEYS = [{"pk": {"S": name}} for name in "ABCD"]


@asynccontextmanager
async def aio_client(endpoint_url: str | None, mode: str = "standard", attempts: int = 1) -> AsyncIterator[Any]:
    session = pytest.importorskip("aiobotocore.session").get_session()
    async with session.create_client(
        "dynamodb",
        region_name="us-east-1",
        endpoint_url=endpoint_url,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": mode, "total_max_attempts": attempts}),  # type: ignore[arg-type]
    ) as client:
        yield client


@pytest.fixture
def table(engine: Engine, make_table: MakeTable) -> str:
    name = make_table(engine)
    engine.client().batch_write_item(RequestItems={name: [{"PutRequest": {"Item": item}} for item in KEYS]})
    return name


async def test_leftovers_are_made_on_a_real_engine_with_a_fitting_crc(engine: Engine, table: str) -> None:
    async with aio_client(engine.endpoint_url, "legacy") as client:  # legacy: a wrong CRC would raise
        with FaultInjector(client, [LeaveUnprocessed(keep=1), None]) as injector:
            partly = await client.batch_get_item(RequestItems={table: {"Keys": KEYS}})
            whole = await client.batch_get_item(RequestItems={table: {"Keys": KEYS}})
    assert {table: KEYS[:1]} == partly["Responses"]
    assert {table: {"Keys": KEYS[1:]}} == partly["UnprocessedKeys"]
    assert "LeaveUnprocessed" == partly["ResponseMetadata"]["HTTPHeaders"]["x-itemledger-fault"]
    assert 4 == len(whole["Responses"][table])
    assert "x-itemledger-fault" not in whole["ResponseMetadata"]["HTTPHeaders"]
    assert ["LeaveUnprocessed"] == [fired.fault for fired in injector.fired]


async def test_a_reset_after_loses_the_answer_of_a_write_that_happened(engine: Engine, table: str) -> None:
    async with aio_client(engine.endpoint_url) as client:
        with FaultInjector(client, [ResetAfter()]), pytest.raises(ReadTimeoutError):
            await client.put_item(TableName=table, Item={"pk": {"S": "Z"}})
        assert "Item" in await client.get_item(TableName=table, Key={"pk": {"S": "Z"}})


@pytest.mark.parametrize("mode", ["legacy", "standard"])
async def test_two_throttles_and_an_answer_are_two_sdk_retries(engine: Engine, table: str, mode: str) -> None:
    async with aio_client(engine.endpoint_url, mode, attempts=3) as client:
        with instant_retries(client) as pauses_s, FaultInjector(client, [Throttle(), Throttle()]) as injector:
            response = await client.batch_get_item(RequestItems={table: {"Keys": KEYS}})
    assert response["ResponseMetadata"]["RetryAttempts"] == 2
    assert [1, 2] == [fired.sdk_attempt for fired in injector.fired]
    assert len(pauses_s) == 2


@pytest.mark.parametrize("fault", [CutBody(at=0.5), CutBody(at=0.5, keep_crc=False)], ids=str)
async def test_a_cut_body_is_an_empty_success(engine: Engine, table: str, fault: CutBody) -> None:
    async with aio_client(engine.endpoint_url) as client:
        with FaultInjector(client, [fault]):
            response = await client.batch_get_item(RequestItems={table: {"Keys": KEYS}})
    assert {"ResponseMetadata"} == set(response)


async def test_a_wrong_crc_is_retried_and_then_returned_unverified(engine: Engine, table: str) -> None:
    async with aio_client(engine.endpoint_url, attempts=2) as client:
        with instant_retries(client), FaultInjector(client, [WrongCrc(), WrongCrc()]):
            response = await client.batch_get_item(RequestItems={table: {"Keys": KEYS}})
    assert response["ResponseMetadata"]["RetryAttempts"] == 1
    assert 4 == len(response["Responses"][table])


async def test_alone_it_answers_from_memory_while_other_calls_hang() -> None:
    release, reached = asyncio.Event(), asyncio.Event()
    faults = itertools.chain([Hang(release, reached)], itertools.repeat(None))
    async with aio_client("http://127.0.0.1:1") as client:
        with FaultInjector(client, faults, upstream=serve_rows({"T": KEYS})):
            hung = asyncio.create_task(client.batch_get_item(RequestItems={"T": {"Keys": KEYS[:1]}}))
            async with asyncio.timeout(10):
                await reached.wait()
            other = await client.batch_get_item(RequestItems={"T": {"Keys": KEYS[1:]}})
            assert not hung.done()
            release.set()
            assert {"T": KEYS[:1]} == (await hung)["Responses"]
    assert {"T": KEYS[1:]} == other["Responses"]


async def test_a_slow_attempt_waits_by_a_sleep_of_either_kind() -> None:
    clock = FakeClock()
    async with aio_client("http://127.0.0.1:1") as client:
        for sleep in (clock.sleep, clock.asleep):
            with (
                FaultInjector(client, [Slow(1.5, then=Throttle())], sleep=sleep),
                pytest.raises(ClientError, match="ProvisionedThroughputExceeded"),
            ):
                await client.batch_get_item(RequestItems={"T": {"Keys": KEYS}})
    assert [1.5, 1.5] == clock.sleeps


async def test_what_would_block_the_loop_or_go_to_aws_fails_the_test() -> None:
    async with aio_client("http://127.0.0.1:1") as client:
        injector = FaultInjector(client, [Hang(threading.Event())])
        with pytest.raises(ScriptError, match=r"asyncio\.Event"), injector:
            await client.list_tables()
        injector = FaultInjector(client, [Hang(asyncio.Event(), at_most_s=0.01)])
        with pytest.raises(ScriptError, match="nobody set its event"), injector:
            await client.list_tables()
    async with aio_client(None) as client:
        injector = FaultInjector(client, [])
        with pytest.raises(ScriptError, match="would go to dynamodb"), injector:
            await client.list_tables()
