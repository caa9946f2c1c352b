"""``batch_writer`` takes what the SDK's takes, and drops nothing of which it knows the end; answers are synthetic."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from typing import Any

import boto3
import pytest
from boto3.dynamodb.table import BatchWriter as SdkBatchWriter
from botocore.exceptions import ReadTimeoutError

from itemledger.batch_writing import BatchWriter, batch_writer
from itemledger.crew.clients import client_config
from itemledger.errors import IncompleteBatchError, ManifestError
from itemledger.ledger import Policy
from itemledger.testing import Call, FakeClock, ScriptedClient, describe_table_response, error
from tests.batching.faces import TABLE, FakeTable, carrying, patient, told, writing
from tests.drivers.both import DRIVERS, Driver

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)
LOST = ReadTimeoutError(endpoint_url="http://127.0.0.1")


def options(driver: Driver, table: Any, **more: Any) -> tuple[Any, dict[str, Any]]:
    clock = FakeClock()
    return driver.client(respond=table, clock=clock), {**patient(driver, clock), **more}


async def put(batch: Any, letters: str) -> None:
    for letter in letters:
        await batch.put_item(Item={"pk": letter, "n": 1})


# --------------------------------------------------------------------------------------------------- as the SDK has it


def test_its_methods_take_what_the_sdk_takes() -> None:
    for name in ("put_item", "delete_item"):
        theirs, ours = (inspect.signature(getattr(of, name)).parameters for of in (SdkBatchWriter, BatchWriter))
        assert list(theirs) == list(ours)


@both_drivers
def test_puts_and_deletes_are_sent_in_calls_of_25_when_the_block_ends(driver: Driver) -> None:
    table = FakeTable()
    table.items = {"X": {"pk": {"S": "X"}}}
    client, run = options(driver, table)

    async def body() -> Any:
        async with writing(driver, client, **run) as batch:
            await put(batch, "AB")
            await batch.delete_item(Key={"pk": "X"})
            assert [] == table.asked
        return batch.report

    report = driver.run(body())

    assert ((3, "", "", ""), 2) == (told(report), report.calls)
    assert ["put AB", "delete X"] == table.asked
    assert {"A", "B"} == set(table.items)


@both_drivers
def test_a_full_buffer_is_sent_before_the_block_ends(driver: Driver) -> None:
    table = FakeTable()
    client, run = options(driver, table)

    async def body() -> Any:
        async with writing(driver, client, **run) as batch:
            for number in range(100):
                assert 0 == batch.report.written
                await batch.put_item(Item={"pk": str(number)})
            return batch.report

    assert (100, 4) == (driver.run(body()).written, len(table.asked))


@both_drivers
@pytest.mark.parametrize("steps", ["put put", "put delete", "delete put", "put delete put"])
def test_puts_and_deletes_of_one_key_in_one_buffer_keep_their_order(driver: Driver, steps: str) -> None:
    table = FakeTable()
    client, run = options(driver, table)

    async def body() -> Any:
        async with writing(driver, client, **run) as batch:
            for number, step in enumerate(steps.split()):
                if step == "put":
                    await batch.put_item(Item={"pk": "A", "n": number})
                else:
                    await batch.delete_item(Key={"pk": "A"})
            await put(batch, "B")
        return batch.report

    report = driver.run(body())

    count = len(steps.split())
    assert (count + 1, count + 1) == (report.written, report.total)
    assert steps.split() == [asked.split()[0] for asked in table.asked if "A" in asked]
    last = steps.split()[-1]
    assert (str(count - 1) if last == "put" else None) == table.items.get("A", {}).get("n", {}).get("N")


@both_drivers
def test_with_overwrite_by_pkeys_only_the_last_of_a_key_is_sent_and_the_others_are_counted(driver: Driver) -> None:
    table = FakeTable()
    client, run = options(driver, table, overwrite_by_pkeys=["pk"])

    async def body() -> Any:
        async with writing(driver, client, **run) as batch:
            await batch.put_item(Item={"pk": "A", "n": 1})
            await put(batch, "B")
            await batch.delete_item(Key={"pk": "A"})
            await batch.put_item(Item={"pk": "A", "n": 3})
        return batch.report

    report = driver.run(body())

    assert (["put BA"], 2, 2, 4) == (table.asked, report.written, report.replaced, report.total)
    assert {"N": "3"} == table.items["A"]["n"]
    assert report.complete


@pytest.mark.parametrize("names", [["sk"], ["pk", "sk"], []])
def test_overwrite_by_pkeys_that_is_not_the_whole_key_is_refused(names: list[str]) -> None:
    """The SDK takes any names, and replaces items that the table would keep apart."""
    with pytest.raises(ManifestError, match="the key of T is pk; name all of it"):
        batch_writer(ScriptedClient([]), TABLE, key={"pk": "S"}, overwrite_by_pkeys=names)


@both_drivers
def test_the_key_is_read_with_describe_table_when_it_is_left_out(driver: Driver) -> None:
    table = FakeTable()

    async def respond(call: Call) -> Any:
        if call.operation == "describe_table":
            return describe_table_response(TABLE, {"pk": "S", "sk": "N"})
        return await table(call)

    client, run = options(driver, respond, key=None, overwrite_by_pkeys=["pk", "sk"])

    async def body() -> Any:
        async with writing(driver, client, **run) as batch:
            await batch.put_item(Item={"pk": "A", "sk": 1})
            await batch.put_item(Item={"pk": "A", "sk": 2})
        return batch.report

    assert (2, 0) == (driver.run(body()).written, table.asked.count("put A"))


@both_drivers
def test_a_table_that_cannot_be_described_is_said_before_the_block_begins(driver: Driver) -> None:
    client = driver.client([error("AccessDeniedException")])

    async def body() -> None:
        async with writing(driver, client, key=None):
            raise AssertionError("the block began")

    with pytest.raises(ManifestError, match=r"AccessDeniedException.*give key="):
        driver.run(body())


@both_drivers
def test_typed_items_are_taken_as_they_are(driver: Driver) -> None:
    table = FakeTable()
    client, run = options(driver, table, values="typed")

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await batch.put_item(Item={"pk": {"S": "A"}, "set": {"SS": ["x"]}})

    driver.run(body())

    assert {"A": {"pk": {"S": "A"}, "set": {"SS": ["x"]}}} == table.items


@both_drivers
def test_an_item_that_is_filled_again_for_each_put_is_written_each_time(driver: Driver) -> None:
    table = FakeTable()
    client, run = options(driver, table)

    async def body() -> None:
        item: dict[str, Any] = {"nested": {}}
        async with writing(driver, client, **run) as batch:
            for letter in "ABC":
                item["pk"] = item["nested"]["letter"] = letter
                await batch.put_item(Item=item)

    driver.run(body())

    assert ["A", "B", "C"] == [item["nested"]["M"]["letter"]["S"] for item in table.items.values()]


# ------------------------------------------------------------------------------------------------ nothing is dropped


@both_drivers
def test_what_is_not_written_is_raised_when_the_block_ends(driver: Driver) -> None:
    client, run = options(driver, FakeTable(lambda call: "B"), policy=Policy(max_attempts=2))

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await put(batch, "ABC")

    with carrying(IncompleteBatchError) as box:
        driver.run(body())

    assert (2, "B", "", "") == told(box[1])


@both_drivers
def test_an_error_of_the_blocks_own_sends_what_is_buffered_and_carries_the_report(driver: Driver) -> None:
    table = FakeTable(lambda call: "B")
    client, run = options(driver, table, policy=Policy(max_attempts=1))

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await put(batch, "ABC")
            raise ZeroDivisionError

    with carrying(ZeroDivisionError) as box:
        driver.run(body())

    assert (["put ABC"], (2, "B", "", "")) == (table.asked, told(box[1]))


@both_drivers
def test_an_item_that_could_never_be_written_is_named_and_the_buffered_are_written(driver: Driver) -> None:
    table = FakeTable()
    client, run = options(driver, table)

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await put(batch, "AB")
            await batch.put_item(Item={"n": 1})

    with carrying(ManifestError) as box:
        driver.run(body())

    assert ((2,), (2, "", "", "")) == (box[0].positions, told(box[1]))


@both_drivers
def test_after_a_refused_item_the_block_may_go_on(driver: Driver) -> None:
    table = FakeTable()
    client, run = options(driver, table)

    async def body() -> Any:
        async with writing(driver, client, **run) as batch:
            await put(batch, "A")
            with pytest.raises(ManifestError):
                await batch.put_item(Item={"n": 1})
            await put(batch, "B")
        return batch.report

    assert ((2, "", "", ""), ["put AB"]) == (told(driver.run(body())), table.asked)


@both_drivers
@pytest.mark.parametrize("flushed", [True, False], ids=["in flush", "at the end"])
def test_ctrl_c_in_a_flush_leaves_over_what_it_had_yet_to_send_and_sends_nothing_more(
    driver: Driver, flushed: bool
) -> None:
    """Puts go before deletes: those are neither sent after the interrupt nor forgotten."""

    def meddle(call: Call) -> Any:
        raise KeyboardInterrupt

    table = FakeTable(meddle)
    client, run = options(driver, table)

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await put(batch, "AB")
            await batch.delete_item(Key={"pk": "X"})
            if flushed:
                await batch.flush()

    with carrying(KeyboardInterrupt) as box:
        driver.run(body())

    assert (["put AB"], (0, "X", "", "AB")) == (table.asked, told(box[1]))


@both_drivers
def test_after_an_interrupted_flush_the_next_one_sends_only_what_came_since(driver: Driver) -> None:
    table = FakeTable()

    def meddle(call: Call) -> Any:
        if len(table.asked) == 1:
            raise KeyboardInterrupt
        return None

    table = FakeTable(meddle)
    client, run = options(driver, table)

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await put(batch, "AB")
            with pytest.raises(KeyboardInterrupt):
                await batch.flush()
            await batch.flush()
            await put(batch, "C")

    with carrying(IncompleteBatchError) as box:
        driver.run(body())

    assert (["put AB", "put C"], (1, "", "", "AB")) == (table.asked, told(box[1]))


@both_drivers
def test_after_an_error_that_every_call_would_meet_nothing_is_sent_and_everything_is_left_over(driver: Driver) -> None:
    table = FakeTable(lambda call: error("AccessDeniedException"))
    client, run = options(driver, table)
    given = 0

    async def body() -> None:
        nonlocal given
        async with writing(driver, client, **run) as batch:
            for number in itertools.count():
                given += 1
                await batch.put_item(Item={"pk": str(number)})

    with carrying(IncompleteBatchError) as box:
        driver.run(body())

    report = box[1]
    assert (100, 1, 100, 100) == (given, len(table.asked), len(report.leftover), report.total)
    assert "AccessDeniedException" == report.terminal_error.code
    assert "100 left over" in str(box[0])


@both_drivers
def test_who_goes_on_after_that_gets_each_item_left_over(driver: Driver) -> None:
    table = FakeTable(lambda call: error("AccessDeniedException"))
    client, run = options(driver, table)

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await put(batch, "A")
            for step in (batch.flush(), put(batch, "B"), put(batch, "C")):
                with pytest.raises(IncompleteBatchError):
                    await step

    with carrying(IncompleteBatchError) as box:
        driver.run(body())

    assert (["put A"], (0, "ABC", "", "")) == (table.asked, told(box[1]))


@both_drivers
def test_an_error_of_another_writer_keeps_its_own_report(driver: Driver) -> None:
    outer, run = options(driver, FakeTable())
    inner, _ = options(driver, FakeTable(lambda call: "A"))

    async def body() -> None:
        async with writing(driver, outer, **run) as first:
            await put(first, "BC")
            async with writing(driver, inner, **run, policy=Policy(max_attempts=1)) as second:
                await put(second, "A")

    with carrying(IncompleteBatchError) as box:
        driver.run(body())

    assert (0, "A", "", "") == told(box[1])


@both_drivers
def test_lost_answers_are_looked_up_and_a_delete_of_unknown_end_stays_unknown(driver: Driver) -> None:
    """A put that is there as it was sent is done. An item that is still there may be another writer's by now."""
    table = FakeTable()

    def meddle(call: Call) -> Any:
        if call.operation == "batch_get_item":
            return None
        if "DeleteRequest" not in str(call.request):
            table.carry_out(call)
        return LOST

    table = FakeTable(meddle)
    table.items = {"X": {"pk": {"S": "X"}}}
    client, run = options(driver, table)

    async def body() -> None:
        async with writing(driver, client, **run) as batch:
            await put(batch, "AB")
            await batch.delete_item(Key={"pk": "X"})

    with carrying(IncompleteBatchError) as box:
        driver.run(body())

    assert (2, "", "", "X") == told(box[1])
    assert ["put AB", "get AB", "delete X", "get X"] == table.asked


def test_a_cancelled_block_sends_nothing_more_and_leaves_over_what_is_buffered() -> None:
    driver = DRIVERS[1]
    table = FakeTable()
    client, run = options(driver, table)

    async def body() -> Any:
        async def block() -> None:
            async with writing(driver, client, **run) as batch:
                await put(batch, "AB")
                begun.set()
                await asyncio.Event().wait()

        begun = asyncio.Event()
        running = asyncio.create_task(block())
        await begun.wait()
        running.cancel()
        try:
            await running
        except asyncio.CancelledError as cancelled:
            return cancelled.report  # type: ignore[attr-defined]

    report = driver.run(body())

    assert ([], (0, "AB", "", "")) == (table.asked, told(report))


@pytest.mark.aio
def test_a_client_for_asyncio_is_refused_by_the_blocking_writer() -> None:
    async def body() -> None:
        session = pytest.importorskip("aiobotocore.session").get_session()
        async with session.create_client("dynamodb", config=client_config()) as client:
            with pytest.raises(ManifestError, match="AsyncClient"):
                batch_writer(client, TABLE)
            with carrying(IncompleteBatchError) as box, batch_writer(client, TABLE, key={"pk": "S"}) as batch:
                batch.put_item(Item={"pk": "A"})
            assert 1 == len(box[1].leftover)

    asyncio.run(body())


def test_a_resources_client_which_converts_values_by_itself_writes_nothing_wrong() -> None:
    """``boto3.resource(...).meta.client`` takes plain values, so ours would be taken for maps."""
    client = boto3.resource("dynamodb").meta.client
    with pytest.raises(ManifestError, match="resource"):
        batch_writer(client, TABLE, key={"pk": "S"})
