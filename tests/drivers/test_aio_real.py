"""The asyncio driver with real aiobotocore clients, against real engines and real sockets."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config

import itemledger as il
from itemledger import Decision, EvidenceLabel, LeftoverCause, StopReason, TableRead, aio
from itemledger.core.answer import BodyCheck
from itemledger.origin import label_of
from itemledger.testing import (
    Answer,
    CutBody,
    DropMember,
    EmptyBody,
    Fault,
    FaultInjector,
    Hang,
    LeaveUnprocessed,
    NotJson,
    ResetAfter,
    ServerError,
    Throttle,
    WrongCrc,
    instant_retries,
    serve_rows,
)
from tests.drivers.both import GIVE_UP_S
from tests.drivers.scenarios import standings

if TYPE_CHECKING:
    from tests.conftest import MakeTable
    from tests.engines.launch import Engine

pytestmark = pytest.mark.aio

LETTERS = "ABCD"
NOWHERE = "http://127.0.0.1:1"
AWS_URL = "https://dynamodb.us-east-1.amazonaws.com/"


@asynccontextmanager
async def aio_client(endpoint_url: str, attempts: int = 1, **config: Any) -> AsyncIterator[Any]:
    session = pytest.importorskip("aiobotocore.session").get_session()
    async with session.create_client(
        "dynamodb",
        region_name="us-east-1",
        endpoint_url=endpoint_url,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": attempts}, **config),
    ) as client:
        yield client


def load(engine: Engine, table: str, items: Iterable[Mapping[str, Any]]) -> None:
    client = engine.client()
    for item in items:
        client.put_item(TableName=table, Item=item)


@pytest.fixture
def letters(engine: Engine, make_table: MakeTable) -> str:
    """A table that holds A, B, C and D."""
    table = make_table(engine)
    load(engine, table, [{"pk": {"S": letter}, "n": {"N": str(ord(letter))}} for letter in LETTERS])
    return table


def test_a_healthy_read_names_every_key(engine: Engine, make_table: MakeTable) -> None:
    table = make_table(engine, (("pk", "S"), ("sk", "N")))
    load(engine, table, [{"pk": {"S": "p"}, "sk": {"N": str(i)}, "n": {"N": f"{i}.5"}} for i in range(0, 250, 2)])
    keys = [("p", i) for i in range(250)]

    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url) as client:
            return await aio.read_batch(client, table, keys, consistent_read=True)

    result = asyncio.run(body())
    assert (StopReason.COMPLETE, "RN" * 125) == (result.stop_reason, standings(result.outcomes))
    assert [Decimal(f"{i}.5") for i in range(0, 250, 2)] == [o.item["n"] for o in result.outcomes if o.item]
    assert (3, 0, EvidenceLabel.SYNTHETIC) == (
        result.totals.calls,
        result.totals.sdk_retry_attempts,
        result.totals.label,
    )
    assert 3 == len({entry.request_id for entry in result.ledger} - {None})
    for entry in result.ledger:
        assert entry.body_check is BodyCheck.CRC32
        assert entry.response_bytes is not None
        assert entry.response_bytes > 100


def test_both_drivers_say_the_same_of_one_engine(engine: Engine, letters: str) -> None:
    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url) as client:
            return await aio.read_batch(client, letters, list("ZDCBA"), projection=["n"])

    asynchronous = asyncio.run(body())
    blocking = il.read_batch(engine.client(), letters, list("ZDCBA"), projection=["n"])
    assert "NRRRR" == standings(asynchronous.outcomes)
    assert blocking.outcomes == asynchronous.outcomes
    (one,), (other,) = blocking.ledger, asynchronous.ledger
    assert (one.findings, one.label, one.body_check, one.response_bytes, one.consumed, one.request_hash) == (
        other.findings,
        other.label,
        other.body_check,
        other.response_bytes,
        other.consumed,
        other.request_hash,
    )


def test_leftovers_made_by_size_are_read_on_without_a_pause(moto: Engine, make_table: MakeTable) -> None:
    table = make_table(moto)
    load(moto, table, [{"pk": {"S": f"k{i}"}, "filler": {"S": "x" * 390_000}} for i in range(60)])

    async def never(seconds: float) -> None:
        raise AssertionError("size-made leftovers need no pause")

    async def body() -> il.ReadResult:
        async with aio_client(moto.endpoint_url) as client:
            keys = [*(f"k{i}" for i in range(60)), "absent"]
            return await aio.read_batch(client, table, keys, ("pk",), max_passes=1, sleep=never, concurrency=1)

    result = asyncio.run(body())
    assert "R" * 60 + "N" == standings(result.outcomes)
    assert 2 == result.totals.calls
    assert LeftoverCause.RESPONSE_SIZE is result.ledger[0].leftover_cause
    assert len(result.ledger[0].unprocessed) in (17, 18)


def test_leftovers_put_in_on_a_real_engine_are_asked_again(engine: Engine, letters: str) -> None:
    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url) as client:
            faults = [LeaveUnprocessed(keep=3), LeaveUnprocessed(keep=1), None]
            with FaultInjector(client, faults, operation="batch_get_item"):
                return await aio.read_batch(client, letters, list("ABCDZ"))

    result = asyncio.run(body())
    assert (StopReason.COMPLETE, "RRRRN") == (result.stop_reason, standings(result.outcomes))
    assert [("D", "Z"), ("Z",), ()] == [entry.unprocessed for entry in result.ledger]


@pytest.mark.parametrize(
    "fault",
    [CutBody(at=0.5), CutBody(at=0.5, keep_crc=False), CutBody(at=0), EmptyBody(), NotJson(), WrongCrc()],
    ids=str,
)
def test_a_damaged_body_is_no_usable_response(engine: Engine, letters: str, fault: Fault) -> None:
    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url) as client:
            with FaultInjector(client, [LeaveUnprocessed(keep=2), fault], operation="batch_get_item"):
                return await aio.read_batch(client, letters, list("ABCDZ"))

    result = asyncio.run(body())
    assert (StopReason.REQUEST_FAILED, "RRUUU") == (result.stop_reason, standings(result.outcomes))
    assert result.terminal_error is not None
    assert ("DamagedResponse", True) == (result.terminal_error.code, result.terminal_error.transient)
    assert Decision.RETRY is result.decide()


def test_an_intact_body_without_unprocessed_keys_is_impossible_evidence(engine: Engine, letters: str) -> None:
    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url) as client:
            with FaultInjector(client, [DropMember("UnprocessedKeys")], operation="batch_get_item"):
                return await aio.read_batch(client, letters, list("ABZ"))

    with pytest.raises(il.LedgerInvariantError, match="has no UnprocessedKeys"):
        asyncio.run(body())


def test_leftovers_in_a_list_are_no_usable_response() -> None:
    damaged = Answer({"Responses": {"T": [{"pk": {"S": "A"}}]}, "UnprocessedKeys": [{"pk": {"S": "B"}}]})

    async def body() -> il.ReadResult:
        async with aio_client(NOWHERE) as client:
            with FaultInjector(client, [damaged]):
                return await aio.read_batch(client, "T", list("AB"), ("pk",))

    result = asyncio.run(body())
    assert ("UU", Decision.HOLD) == (standings(result.outcomes), result.decide())
    assert "AttributeError; request_id=none" == str(result.terminal_error)


def test_throttled_attempts_are_counted_and_explain_the_leftovers(engine: Engine, letters: str) -> None:
    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url, attempts=3) as client:
            faults = [Throttle(), Throttle(), LeaveUnprocessed(keep=1), None]
            injector = FaultInjector(client, faults, operation="batch_get_item")
            with instant_retries(client), injector:
                return await aio.read_batch(client, letters, list("AB"), ("pk",))

    result = asyncio.run(body())
    assert [(2, LeftoverCause.THROTTLE), (0, None)] == [
        (entry.sdk_retry_attempts, entry.leftover_cause) for entry in result.ledger
    ]
    assert (2, 2) == (result.totals.application_passes, result.totals.sdk_retry_attempts)


@pytest.mark.parametrize(
    ("fault", "code", "retries"),
    [
        (Throttle(), "ProvisionedThroughputExceededException", 1),
        (ServerError(), "InternalServerError", 1),
        (ResetAfter(), "ReadTimeoutError", 1),
    ],
    ids=["throttle", "5xx", "timeout"],
)
def test_a_failure_shows_the_attempts_of_the_sdk(
    engine: Engine, letters: str, fault: Fault, code: str, retries: int
) -> None:
    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url, attempts=2) as client:
            with instant_retries(client), FaultInjector(client, [fault, fault]):
                return await aio.read_batch(client, letters, list("AB"), ("pk",))

    result = asyncio.run(body())
    assert ("UU", Decision.RETRY) == (standings(result.outcomes), result.decide())
    assert result.terminal_error is not None
    assert (code, retries) == (result.terminal_error.code, result.totals.sdk_retry_attempts)


@pytest.mark.parametrize("key", [None, ("pk",)], ids=["described", "given"])
def test_a_missing_table_is_for_a_person(engine: Engine, key: Any) -> None:
    async def body() -> il.ReadResult:
        async with aio_client(engine.endpoint_url) as client:
            return await aio.read_batch(client, "no-such-table", list("AB"), key)

    result = asyncio.run(body())
    assert ("UU", Decision.HOLD) == (standings(result.outcomes), result.decide())
    assert result.terminal_error is not None
    assert "ResourceNotFoundException" == result.terminal_error.code


def test_a_stream_and_a_resumption(engine: Engine, letters: str) -> None:
    async def body() -> tuple[list[Any], il.ReadResult]:
        async with aio_client(engine.endpoint_url) as client:
            with FaultInjector(client, [LeaveUnprocessed(keep=3), Throttle()], operation="batch_get_item"):
                steps: list[Any] = [step async for step in aio.iter_read(client, letters, list("ABCDZ"))]
            return steps, await aio.resume(client, steps[-1].hold_record().to_json())

    (*outcomes, summary), second = asyncio.run(body())
    assert ("RRRUU", StopReason.REQUEST_FAILED) == (standings(outcomes), summary.stop_reason)
    assert ("RN", StopReason.COMPLETE) == (standings(second.outcomes), second.stop_reason)
    assert (2, summary.observation.id) == (second.observation.number, second.observation.parent_id)


def test_two_tables_in_one_call(engine: Engine, letters: str, make_table: MakeTable) -> None:
    other = make_table(engine)

    async def body() -> tuple[il.ReadResult, ...]:
        async with aio_client(engine.endpoint_url) as client:
            return await aio.read_tables(client, [TableRead(letters, ["A", "Z"]), TableRead(other, ["A"])])

    assert ["RN", "N"] == [standings(result.outcomes) for result in asyncio.run(body())]


def test_calls_overlap_on_real_sockets(engine: Engine, letters: str) -> None:
    keys = [f"k{i}" for i in range(400)]

    async def body() -> il.ReadResult:
        fourth_is_there = asyncio.Event()
        number = itertools.count(1)

        def choose(attempt: Any) -> Fault | None:
            # The first three hang until the fourth is in flight, too.
            if next(number) < 4:
                return Hang(fourth_is_there, at_most_s=GIVE_UP_S)
            fourth_is_there.set()
            return None

        async with aio_client(engine.endpoint_url) as client:
            with FaultInjector(client, choose):
                return await aio.read_batch(client, letters, keys, ("pk",), concurrency=4)

    result = asyncio.run(body())
    assert (StopReason.COMPLETE, 400) == (result.stop_reason, len(result.processed_not_returned))


# ------------------------------------------------------------------------------------------- calls that are left alone


@asynccontextmanager
async def silent_server() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Accepts a request and never answers; the event says that one has arrived."""
    arrived = asyncio.Event()
    writers = []

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        await reader.read()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", arrived
    finally:
        server.close()
        for writer in writers:
            writer.close()


def calls_in_flight() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("itemledger")]


def test_a_cancelled_read_leaves_no_call_and_a_client_that_still_works(engine: Engine, letters: str) -> None:
    async def body() -> None:
        never, reached = asyncio.Event(), asyncio.Event()
        async with aio_client(engine.endpoint_url) as client:
            faults = [LeaveUnprocessed(keep=3), Hang(never, reached)]
            with FaultInjector(client, faults, operation="batch_get_item"):
                task = asyncio.create_task(aio.read_batch(client, letters, list("ABCDZ")))
                async with asyncio.timeout(GIVE_UP_S):
                    await reached.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError) as raised:
                    await task
                assert [] == calls_in_flight()
            result = vars(raised.value)["result"]
            assert ("RRRUU", StopReason.INTERRUPTED, 1) == (
                standings(result.outcomes),
                result.stop_reason,
                result.abandoned_calls,
            )
            second = await aio.resume(client, result.hold_record())
            assert "RN" == standings(second.outcomes)

    asyncio.run(body())


@pytest.mark.parametrize("how", ["cancelled", "deadline", "stream closed"])
def test_a_request_on_its_way_over_a_socket_is_left_within_one_turn(how: str) -> None:
    async def body() -> None:
        async with silent_server() as (url, arrived), aio_client(url) as client:
            keys = list("AB")
            if how == "deadline":
                result = await aio.read_batch(client, "T", keys, ("pk",), timeout_s=0.5)
                assert (StopReason.DEADLINE, 1) == (result.stop_reason, result.abandoned_calls)
            elif how == "cancelled":
                task = asyncio.create_task(aio.read_batch(client, "T", keys, ("pk",)))
                await arrived.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError) as raised:
                    await task
                assert "UU" == standings(vars(raised.value)["result"].outcomes)
            else:
                stream = aio.iter_read(client, "T", keys, ("pk",))
                reader = asyncio.ensure_future(anext(stream))
                await arrived.wait()
                reader.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await reader
                await stream.aclose()
            assert [] == calls_in_flight()

    asyncio.run(body())


# ------------------------------------------------------------------------------------------------------ evidence labels


def test_the_label_is_read_off_the_body_s_source(engine: Engine, letters: str) -> None:
    """An answer of a local engine plays one of AWS here: only the host name is changed."""

    async def body() -> list[Any]:
        seen: list[Any] = []
        async with aio_client(engine.endpoint_url) as client:
            client.meta.events.register_last(
                "after-call.dynamodb", lambda http_response, **_: seen.append(http_response)
            )
            await aio.read_batch(client, letters, ["A"], ("pk",))
            with FaultInjector(client, [], upstream=serve_rows({letters: []})):
                await aio.read_batch(client, letters, ["A"], ("pk",))
        return seen

    over_a_socket, injected = asyncio.run(body())
    assert EvidenceLabel.SYNTHETIC is label_of(over_a_socket)
    assert EvidenceLabel.OBSERVED is label_of(SimpleNamespace(url=AWS_URL, raw=over_a_socket.raw))
    assert EvidenceLabel.SYNTHETIC is label_of(SimpleNamespace(url=AWS_URL, raw=injected.raw))


def test_a_response_object_that_no_connection_made_is_synthetic() -> None:
    response = pytest.importorskip("aiohttp").ClientResponse
    made_up = response.__new__(response)  # as mocking libraries do
    assert EvidenceLabel.SYNTHETIC is label_of(SimpleNamespace(url=AWS_URL, raw=made_up))
