"""Pages of Query and Scan through both drivers: arguments, ends, interrupts, and nothing left behind."""

from __future__ import annotations

from contextlib import aclosing
from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, Key

import itemledger as il
from itemledger import pages, pages_async
from itemledger.tables.page import Page
from itemledger.tables.page_result import PagesResult, PageStop
from itemledger.testing import Call, FakeClock, error
from tests.drivers.both import DRIVERS, Driver, every_thread_ends

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)
QUERY: dict[str, Any] = {"TableName": "Orders", "KeyConditionExpression": Key("pk").eq("A")}


def key(n: int) -> dict[str, Any]:
    return {"pk": {"S": "A"}, "n": {"N": str(n)}}


def page(*numbers: int, more: bool = True, **members: Any) -> dict[str, Any]:
    """The answer with these rows; its last key is that of the last of them."""
    rows = [{**key(n), "v": {"N": "1.50"}} for n in numbers]
    last = {"LastEvaluatedKey": key(numbers[-1])} if more else {}
    units = {"ConsumedCapacity": {"TableName": "Orders", "CapacityUnits": 0.5, "Table": {"CapacityUnits": 0.5}}}
    return {"Items": rows, "Count": len(rows), "ScannedCount": len(rows), **units, **last, **members}


async def all_of(driver: Driver, client: Any, kind: str = "query", **arguments: Any) -> tuple[list[Page], PagesResult]:
    """Every page, and the result at the end."""
    if driver.is_async:
        found = getattr(pages_async, f"{kind}_pages")(client, **arguments)
        return [each async for each in found], found.result
    found = getattr(pages, f"{kind}_pages")(client, **arguments)
    return list(found), found.result


@both_drivers
def test_a_query_is_read_to_its_end_and_says_what_it_cost(driver: Driver) -> None:
    client = driver.client([page(1, 2), page(3, more=False)])
    found, result = driver.run(all_of(driver, client, **QUERY))
    assert [[1, 2], [3]] == [[int(item["n"]) for item in each.items] for each in found]
    assert {"pk": "A", "n": Decimal(1), "v": Decimal("1.50")} == found[0].items[0]
    assert (2, 3, 3, 1.0) == (result.totals.pages, result.totals.examined, result.totals.returned, _units(result))
    assert [None, key(2)] == [call.request.get("ExclusiveStartKey") for call in client.calls]
    assert (result.complete, result.more, result.last_key) == (True, False, None)


def _units(result: PagesResult) -> float | None:
    return None if result.totals.consumed is None else result.totals.consumed.units


@both_drivers
def test_conditions_and_plain_values_become_the_requests_own(driver: Driver) -> None:
    client = driver.client([page(1, more=False)])
    arguments = {
        **QUERY,
        "FilterExpression": Attr("total").gt(Decimal("1.50")) & Attr("kind").eq("x"),
        "ExpressionAttributeValues": {":mine": b"\x00"},
        "ExclusiveStartKey": {"pk": "A", "n": 0},
    }
    driver.run(all_of(driver, client, **arguments))
    request = client.calls[0].request
    names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
    assert {"pk", "total", "kind"} == set(names.values())
    assert [{"B": b"\x00"}, {"N": "1.5"}, {"S": "A"}, {"S": "x"}] == sorted(values.values(), key=str)
    for text in (request["KeyConditionExpression"], request["FilterExpression"]):
        assert all(
            word in {**names, **values} for word in text.replace("(", " ").replace(")", " ").split() if word[0] in "#:"
        )
    assert ({"pk": {"S": "A"}, "n": {"N": "0"}}, "INDEXES") == (
        request["ExclusiveStartKey"],
        request["ReturnConsumedCapacity"],
    )


@both_drivers
def test_typed_values_go_in_and_come_out_as_they_are(driver: Driver) -> None:
    client = driver.client([page(1, more=False)])
    arguments = {**QUERY, "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "A"}}}
    (only,), _ = driver.run(all_of(driver, client, values="typed", **arguments))
    assert ({**key(1), "v": {"N": "1.50"}},) == only.items
    assert {":p": {"S": "A"}} == client.calls[0].request["ExpressionAttributeValues"]


@both_drivers
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"TableName": ""}, "TableName= is missing"),
        ({"KeyConditionExpression": None}, "KeyConditionExpression= is missing"),
        ({"KeyConditionExpression": 5}, "KeyConditionExpression= is a int; give text"),
        ({"ReturnConsumedCapacity": "TOTAL"}, "leave it out"),
        ({"Segment": 0, "TotalSegments": 2}, "segments="),
        ({"Limit": 0}, "Limit must be at least 1"),
        ({"max_items": 0}, "max_items must be at least 1"),
        ({"max_items": True}, "must be a whole number"),
        ({"timeout_s": 0}, "timeout_s must be more than zero"),
        ({"values": "plain"}, "values must be"),
        ({"key": "pk"}, "key= must name attributes"),
        ({"ExpressionAttributeValues": {":p": 1.5}}, "ExpressionAttributeValues: :p is a float"),
        ({"ExclusiveStartKey": "A"}, "must be a mapping"),
        ({"ExpressionAttributeNames": {"#kn0": "x"}}, "alias #kn0"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_refused_before_any_call(
    driver: Driver, arguments: dict[str, Any], problem: str
) -> None:
    client = driver.client([])
    with pytest.raises(il.ManifestError, match=problem):
        driver.run(all_of(driver, client, **{**QUERY, **arguments}))
    assert [] == client.calls


@both_drivers
def test_an_option_that_nobody_knows_is_a_mistake(driver: Driver) -> None:
    with pytest.raises(TypeError, match="unknown option 'segments'"):
        driver.run(all_of(driver, driver.client([]), segments=2, **QUERY))


@both_drivers
def test_an_end_that_was_not_asked_for_is_raised_with_everything_until_then(driver: Driver) -> None:
    client = driver.client([page(1), error("ValidationException")])
    with pytest.raises(il.IncompletePagesError, match=r"result\.starts says where") as raised:
        driver.run(all_of(driver, client, **QUERY))
    result = raised.value.result
    assert (PageStop.REQUEST_FAILED, {0: key(1)}, 1) == (result.stop_reason, result.starts, result.totals.pages)


@both_drivers
def test_impossible_evidence_carries_the_result_and_says_repair(driver: Driver) -> None:
    client = driver.client([page(1), page(2, Count=7)])
    with pytest.raises(il.LedgerInvariantError) as raised:
        driver.run(all_of(driver, client, **QUERY))
    assert il.Decision.REPAIR is raised.value.decision
    result: Any = raised.value.result
    assert (1, {0: key(1)}) == (result.totals.pages, result.starts)


@both_drivers
def test_a_throttled_page_is_asked_for_again_after_a_pause(driver: Driver) -> None:
    clock = FakeClock()
    steps = [error("ProvisionedThroughputExceededException"), page(1, more=False)]
    client = driver.client(steps, clock=clock)
    options = {"clock": clock, "sleep": driver.pause(clock), "jitter": lambda low, high: high, "backoff_base_s": 2.0}
    _, result = driver.run(all_of(driver, client, **QUERY, **options))
    assert (2.0, 2, None) == (clock(), result.totals.calls, result.totals.consumed)


@both_drivers
def test_without_a_key_the_table_is_described_where_a_page_may_be_cut(driver: Driver) -> None:
    table = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [
            {"IndexName": "by-v", "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}]},
        ],
    }

    async def respond(call: Call) -> Any:
        return {"Table": table} if call.operation == "describe_table" else page(1, 2, 3, more=False)

    client = driver.client(respond=respond)
    arguments = {**QUERY, "IndexName": "by-v", "FilterExpression": "v > v", "max_items": 2}
    _, result = driver.run(all_of(driver, client, **arguments))
    assert ({**key(2), "v": {"N": "1.50"}}, PageStop.MAX_ITEMS) == (result.last_key, result.stop_reason)
    _, result = driver.run(all_of(driver, client, key=("pk", "n"), **arguments))
    assert key(2) == result.last_key
    assert ["describe_table", "query", "query"] == [call.operation for call in client.calls]


@both_drivers
def test_a_table_that_cannot_be_described_ends_it_before_the_first_page(driver: Driver) -> None:
    client = driver.client([error("AccessDeniedException")])
    with pytest.raises(il.IncompletePagesError, match="AccessDeniedException") as raised:
        driver.run(all_of(driver, client, **QUERY, FilterExpression="f", max_items=2))
    assert 0 == raised.value.result.totals.pages


@both_drivers
def test_segments_run_at_the_same_time_and_say_which_they_are(driver: Driver) -> None:
    barrier = driver.barrier(3)

    async def respond(call: Call) -> Any:
        await barrier.wait()
        number = call.request["Segment"]
        return page(number, more=False)

    client = driver.client(respond=respond)
    with every_thread_ends():
        found, result = driver.run(all_of(driver, client, "scan", TableName="Orders", segments=3))
    assert [(0, 0), (1, 1), (2, 2)] == sorted((each.segment, int(each.items[0]["n"])) for each in found)
    assert {3} == {call.request["TotalSegments"] for call in client.calls}
    assert result.complete


@both_drivers
def test_a_scan_left_early_leaves_nothing_behind_and_can_be_gone_on_from(driver: Driver) -> None:
    client = driver.client([page(1), page(2), page(3, more=False)])

    async def first(client: Any) -> PagesResult:
        if driver.is_async:
            found = pages_async.scan_pages(client, TableName="Orders")
            async with aclosing(found):
                async for _ in found:
                    break
            return found.result
        with pages.scan_pages(client, TableName="Orders") as blocking:
            for _ in blocking:
                break
        return blocking.result

    with every_thread_ends():
        stood = driver.run(first(client))
        rest, _ = driver.run(all_of(driver, client, "scan", TableName="Orders", starts=stood.starts))
    assert (PageStop.INTERRUPTED, {0: key(1)}) == (stood.stop_reason, stood.starts)
    assert [[2], [3]] == [[int(item["n"]) for item in each.items] for each in rest]


@both_drivers
def test_an_interrupt_comes_as_it_is_with_the_result(driver: Driver) -> None:
    client = driver.client([page(1), KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt) as raised:
        driver.run(all_of(driver, client, **QUERY))
    result: Any = getattr(raised.value, "result", None) or getattr(raised.value.__context__, "result", None)
    assert ({0: key(1)}, PageStop.INTERRUPTED) == (result.starts, result.stop_reason)
