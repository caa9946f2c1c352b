"""Predicted capacity beside what engines report: dynalite models most of it, moto none, and they are told apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from itemledger.apis.item_size import item_size
from itemledger.core.answer import EvidenceLabel
from itemledger.pages import Pages, query_pages, scan_pages
from itemledger.tables.alternatives import Design, alternatives
from itemledger.tables.capacity import (
    Change,
    Consistency,
    fetching_page_read,
    item_read,
    item_written,
    items_read,
    items_written,
    page_read,
)
from itemledger.tables.comparison import Agreement, Comparison, Reason, Work, compare, reported_units
from itemledger.tables.index_entry import Index, Projected, write_cost
from itemledger.tables.index_sizes import reported_sizes
from itemledger.tables.page import Page
from itemledger.tables.pages_cost import pages_as_they_came, pages_read
from itemledger.tables.units import Size, Units, measured
from itemledger.tables.waste import filter_finding, waste_of
from tests.conftest import MakeTable
from tests.engines.launch import Engine
from tests.engines.tables import delete_table
from tests.tables.samples import large_orders, sizes_of, small_orders

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

EVENTUAL, STRONG = Consistency.EVENTUAL, Consistency.STRONG
BOTH = {EVENTUAL: False, STRONG: True}
OPEN: Any = {"ExpressionAttributeNames": {"#s": "step"}, "ExpressionAttributeValues": {":s": {"S": "open"}}}


def put_all(client: DynamoDBClient, table: str, items: Iterable[Any]) -> None:
    waiting = iter(items)
    while chunk := [*itertools.islice(waiting, 25)]:
        answer = client.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": item}} for item in chunk]})
        assert not answer.get("UnprocessedItems")


def padded(key: str, size_bytes: int, **attributes: Any) -> dict[str, Any]:
    item: dict[str, Any] = {"pk": {"S": key}, **attributes, "pad": {"S": ""}}
    item["pad"] = {"S": "x" * (size_bytes - item_size(item))}
    return item


def exactly(units: str) -> Units:
    return Units.exactly(Decimal(units))


def judged(subject: str, predicted: Units, told: Any, engine: Engine, work: Work) -> Comparison:
    label = EvidenceLabel.SYNTHETIC
    return compare(subject, predicted, reported_units(told), work, label=label, reporter=engine.name)


# ----------------------------------------------------------------------------------------------- one item after another

READ_SIZES = [50, 4_096, 4_097, 8_192, 10_000]


@pytest.mark.parametrize("consistency", BOTH)
def test_dynalite_charges_reads_of_items_as_predicted(
    dynalite: Engine, make_table: MakeTable, consistency: Consistency
) -> None:
    client = dynalite.client()
    table = make_table(dynalite)
    put_all(client, table, (padded(f"k{size}", size) for size in READ_SIZES))
    keys: list[Any] = [{"pk": {"S": f"k{size}"}} for size in [*READ_SIZES, "-missing"]]
    sizes = [*map(Size, READ_SIZES), None]
    strongly = BOTH[consistency]

    for key, size in zip(keys, sizes, strict=True):
        one = client.get_item(TableName=table, Key=key, ConsistentRead=strongly, ReturnConsumedCapacity="TOTAL")
        assert item_read(size, consistency) == exactly(str(reported_units(one["ConsumedCapacity"])))
    many = client.batch_get_item(
        RequestItems={table: {"Keys": keys, "ConsistentRead": strongly}}, ReturnConsumedCapacity="TOTAL"
    )
    assert items_read(sizes, consistency) == exactly(str(reported_units(many["ConsumedCapacity"])))
    scan = client.scan(TableName=table, ConsistentRead=strongly, ReturnConsumedCapacity="TOTAL")
    present = [*map(Size, READ_SIZES)]
    predicted = page_read(present, consistency)
    assert predicted.units < items_read(present, consistency).units
    found = judged("the scan", predicted, scan["ConsumedCapacity"], dynalite, Work(items=len(present)))
    if strongly:  # dynalite charges every scan as if it were eventual
        assert ((Reason.CONSISTENCY_IGNORED,), predicted) == (found.reasons, found.believed)
    else:
        assert (Agreement.EQUAL, True) == (found.agreement, found.models_capacity)


def test_dynalite_charges_writes_of_items_as_predicted(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(dynalite)
    key = {"pk": {"S": "k"}}
    there: Size | None = None
    for size in [500, 1_640, 3_000, 1_024, 1_025]:
        answer = client.put_item(TableName=table, Item=padded("k", size), ReturnConsumedCapacity="TOTAL")
        predicted = item_written(Change(there, Size(size)))
        assert predicted == exactly(str(reported_units(answer["ConsumedCapacity"])))
        there = Size(size)
    after = Size(item_size({**key, "pad": {"S": "y"}}))
    updated = client.update_item(
        TableName=table,
        Key=key,
        UpdateExpression="SET #p = :y",
        ExpressionAttributeNames={"#p": "pad"},
        ExpressionAttributeValues={":y": {"S": "y"}},
        ReturnConsumedCapacity="TOTAL",
    )
    assert item_written(Change(there, after)) == exactly(str(reported_units(updated["ConsumedCapacity"])))
    for before in (after, None):
        deleted = client.delete_item(TableName=table, Key=key, ReturnConsumedCapacity="TOTAL")
        assert item_written(Change(before)) == exactly(str(reported_units(deleted["ConsumedCapacity"])))


def test_a_batch_of_writes_is_modelled_by_dynalite_and_counted_by_moto(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine)
    sizes = [500, 3_584, 1_500, 1_500]
    puts: list[Any] = [{"PutRequest": {"Item": padded(f"k{n}", size)}} for n, size in enumerate(sizes)]
    predicted = items_written(Change(after=Size(size)) for size in sizes)
    assert exactly("9") == predicted

    answer = client.batch_write_item(RequestItems={table: puts}, ReturnConsumedCapacity="TOTAL")
    found = judged("the batch", predicted, answer["ConsumedCapacity"], engine, Work(items=4))

    if engine.name == "dynalite":
        assert Agreement.EQUAL is found.agreement
    else:
        assert (False, predicted) == (found.models_capacity, found.believed)
        assert (
            "the batch: predicted 9, reported 1: it counts calls, whatever they read or wrote; moto does not model "
            "capacity, and its figure is not believed" == str(found)
        )


def test_moto_counts_keys_where_bytes_are_charged(moto: Engine, make_table: MakeTable) -> None:
    client = moto.client()
    table = make_table(moto)
    put_all(client, table, (padded(f"k{n}", 50) for n in range(5)))
    keys: list[Any] = [{"pk": {"S": f"k{n}"}} for n in range(6)]

    answer = client.batch_get_item(RequestItems={table: {"Keys": keys}}, ReturnConsumedCapacity="TOTAL")
    predicted = items_read([Size(50)] * 5 + [None], EVENTUAL)
    found = judged("six keys", predicted, answer["ConsumedCapacity"], moto, Work(items=6))

    assert (exactly("3"), Decimal(6)) == (found.predicted, found.reported)
    assert Reason.COUNTS_ITEMS is found.reasons[0]
    assert found.models_capacity is False


def test_numbers_leave_a_unit_open_and_the_engine_stays_within(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(dynalite)
    numbers = {"n": {"N": "12.34"}, "m": {"M": {"l": {"L": [{"NS": ["5", "-7.25"]}]}}}}
    for size in range(4_092, 4_102):
        item = padded("k", size, **numbers)
        client.put_item(TableName=table, Item=item)
        answer = client.get_item(TableName=table, Key={"pk": {"S": "k"}}, ReturnConsumedCapacity="TOTAL")
        predicted = item_read(measured(item, item_size), EVENTUAL)
        found = judged("an item", predicted, answer["ConsumedCapacity"], dynalite, Work(items=1))
        assert found.agreement in (Agreement.EQUAL, Agreement.WITHIN_ROUNDING)
        assert (4_094 <= size <= 4_099) is not predicted.certain


# ------------------------------------------------------------------------------------------------ the reference numbers


def run(pages: Pages) -> tuple[list[Page], Pages]:
    return [*pages], pages


def compared(pages: list[Page], items: list[Any], predicted: Units, engine: Engine) -> Comparison:
    """The items of a whole partition, in its order: so those of each page are known, whatever the filter let pass."""
    examined = [page.examined or 0 for page in pages]
    came = pages_as_they_came(sizes_of(items), examined, EVENTUAL).units
    told = [page.consumed for page in pages]
    reported = None if None in told else sum(each.units for each in told if each)
    work = Work(len(pages), len(items), as_they_came=came)
    return compare("the query", predicted, reported, work, label=pages[0].label, reporter=engine.name)


def test_a_scan_for_five_of_a_thousand_against_a_query(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine, (("user", "S"), ("order", "S")))
    items = small_orders()
    put_all(client, table, items)
    one_user: dict[str, Any] = {
        "ExpressionAttributeNames": {"#u": "user"},
        "ExpressionAttributeValues": {":u": {"S": "user-017"}},
        "TableName": table,
        "values": "typed",
    }

    scan_pages_, scan = run(scan_pages(client, FilterExpression="#u = :u", **one_user))
    query_pages_, query = run(query_pages(client, KeyConditionExpression="#u = :u", **one_user))

    wanted = [measured(row, item_size) for page in query_pages_ for row in page.rows]
    by_scan, by_query = (pages_read(sizes, EVENTUAL).units for sizes in (sizes_of(items), wanted))
    assert (exactly("3.5"), exactly("0.5")) == (by_scan, by_query)
    assert (1_000, 5) == (scan.result.totals.examined, scan.result.totals.returned)
    assert (5, 5) == (query.result.totals.examined, query.result.totals.returned)
    if engine.name == "dynalite":
        assert "1,000 : 5 : 3.5" == waste_of(scan.result.totals).ratio
        assert "5 : 5 : 0.5" == waste_of(query.result.totals).ratio
    else:
        for pages, predicted in ((scan_pages_, by_scan), (query_pages_, by_query)):
            told = pages[0].consumed
            assert told is not None
            work = Work(len(pages), pages[0].examined)
            found = compare("it", predicted, told.units, work, label=pages[0].label, reporter=engine.name)
            assert (Decimal(1), False, predicted) == (found.reported, found.models_capacity, found.believed)


def test_a_filter_over_a_thousand_orders_against_a_key_condition(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine, (("pk", "S"), ("sk", "S")))
    items = large_orders()
    put_all(client, table, items)
    customer = {":c": {"S": "customer-1"}}

    pages, filtered = run(
        query_pages(
            client,
            TableName=table,
            KeyConditionExpression="pk = :c",
            FilterExpression="#s = :s",
            ExpressionAttributeNames={"#s": "step"},
            ExpressionAttributeValues={**customer, ":s": {"S": "open"}},
            values="typed",
        )
    )
    keyed_pages, keyed = run(
        query_pages(
            client,
            TableName=table,
            KeyConditionExpression="pk = :c and begins_with(sk, :open)",
            ExpressionAttributeValues={**customer, ":open": {"S": "open#"}},
            values="typed",
        )
    )

    in_order = sorted(items, key=lambda item: str(item["sk"]["S"]))
    predicted = pages_read(sizes_of(in_order), EVENTUAL).units
    wanted = [measured(row, item_size) for page in keyed_pages for row in page.rows]
    assert (exactly("127.5"), exactly("1.5")) == (predicted, pages_read(wanted, EVENTUAL).units)
    assert (1_000, 10) == (filtered.result.totals.examined, filtered.result.totals.returned)
    found = compared(pages, in_order, predicted, engine)
    assert predicted == found.believed
    if engine.name == "dynalite":
        assert "10 : 10 : 1.5" == waste_of(keyed.result.totals).ratio
        assert [992, 8] == [page.examined for page in pages]
        assert [126.5, 1.5] == [page.consumed.units for page in pages if page.consumed]
        assert (Decimal(128), (Reason.OTHER_PAGES,), True) == (found.reported, found.reasons, found.models_capacity)
    else:
        assert (Decimal(len(pages)), False) == (found.reported, found.models_capacity)
        assert Reason.COUNTS_CALLS is found.reasons[0]


def test_a_filter_behind_a_limit_reads_fifty_for_nothing_as_found_beforehand(
    engine: Engine, make_table: MakeTable
) -> None:
    client = engine.client()
    table = make_table(engine, (("pk", "S"), ("sk", "S")))
    items = [padded("p", 200, sk={"S": f"{n:03}"}, step={"S": "open" if n >= 120 else "paid"}) for n in range(140)]
    put_all(client, table, items)

    beforehand = filter_finding(
        ((measured(item, item_size), item["step"]["S"] == "open") for item in items), 50, EVENTUAL
    )
    pages, run_ = run(
        query_pages(
            client,
            TableName=table,
            KeyConditionExpression="pk = :p",
            FilterExpression="#s = :s",
            ExpressionAttributeNames={"#s": "step"},
            ExpressionAttributeValues={":p": {"S": "p"}, ":s": {"S": "open"}},
            Limit=50,
            values="typed",
        )
    )

    assert [0, 0, 20] == [page.returned for page in pages]
    happened = run_.result.finding
    assert beforehand is not None
    assert happened is not None
    assert (1, 50, 2, 100) == (happened.page, happened.examined, happened.pages, happened.all_examined)
    if engine.name == "dynalite":
        assert beforehand == happened
    else:
        assert (3.0, 2.0) == (beforehand.units, happened.units)  # moto counts two calls


@pytest.mark.parametrize("count", [20, 23])
def test_a_full_last_page_has_a_last_key_where_the_engine_is_like_the_service(
    engine: Engine, make_table: MakeTable, count: int
) -> None:
    client = engine.client()
    table = make_table(engine, (("pk", "S"), ("sk", "S")))
    items = [padded("p", 1_000, sk={"S": f"{n:03}"}) for n in range(count)]
    put_all(client, table, items)
    pages, _ = run(
        query_pages(
            client,
            TableName=table,
            KeyConditionExpression="pk = :p",
            ExpressionAttributeValues={":p": {"S": "p"}},
            Limit=10,
            values="typed",
        )
    )
    predicted = pages_read(sizes_of(items), EVENTUAL, limit=10)
    came = [page.examined for page in pages]
    if engine.name == "dynalite" or count == 23:
        assert [page.examined for page in predicted.pages] == came
    else:
        assert [10, 10] == came
    if engine.name == "dynalite":
        for page, cost in zip(pages, predicted.pages, strict=True):
            assert page.consumed is not None
            found = compare("a page", cost.units, page.consumed.units, Work(), label=page.label)
            if page.examined:
                assert Agreement.EQUAL is found.agreement
            else:  # which AWS charges for, and dynalite does not
                assert (Reason.NOTHING_CHARGED,) == found.reasons


def test_a_projection_saves_bytes_and_no_units_on_a_real_engine(dynalite: Engine, make_table: MakeTable) -> None:
    """FC-29."""
    client = dynalite.client()
    table = make_table(dynalite)
    items = [padded(f"k{n}", 1_000) for n in range(50)]
    put_all(client, table, items)
    _, whole = run(scan_pages(client, TableName=table))
    _, projected = run(scan_pages(client, TableName=table, ProjectionExpression="pk"))
    units = pages_read(sizes_of(items), EVENTUAL).units.units
    for pages in (whole, projected):
        assert units == waste_of(pages.result.totals).consumed
    assert (whole.result.totals.response_bytes or 0) > 10 * (projected.result.totals.response_bytes or 0) > 0


# ------------------------------------------------------------------------------------------------------------- indexes

BY_STEP = Index("by_step", ("step",), ("pk", "sk"), Projected.KEYS_ONLY)
BY_DUE = Index("by_due", ("pk", "due"), ("pk", "sk"), Projected.INCLUDE, ("title",))


@pytest.fixture
def indexed(engine: Engine) -> Iterator[tuple[DynamoDBClient, str, Engine]]:
    """A table with a global index BY_STEP and a local one BY_DUE."""
    client = engine.client()
    name = f"indexed-{engine.name}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk", "step", "due")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": BY_STEP.name,
                "KeySchema": [{"AttributeName": "step", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        LocalSecondaryIndexes=[
            {
                "IndexName": BY_DUE.name,
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "due", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
            }
        ],
    )
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 0, "MaxAttempts": 1_000})
    yield client, name, engine
    delete_table(client, name)


def tasks(count: int, size_bytes: int) -> list[Any]:
    return [
        padded("p", size_bytes, sk={"S": f"{n:04}"}, step={"S": "open"}, due={"S": "2026"}, title={"S": "t" * 40})
        for n in range(count)
    ]


def test_entries_of_an_index_are_charged_by_their_own_size(indexed: tuple[DynamoDBClient, str, Engine]) -> None:
    client, table, engine = indexed
    items = tasks(900, 1_000)
    put_all(client, table, items)
    entries = [entry for item in items if (entry := BY_STEP.entry_of(item))]
    predicted = pages_read((measured(entry, item_size) for entry in entries), EVENTUAL).units
    assert predicted.units < pages_read(sizes_of(items), EVENTUAL).units.units / 20

    answer = client.query(
        TableName=table,
        IndexName=BY_STEP.name,
        KeyConditionExpression="#s = :s",
        ReturnConsumedCapacity="INDEXES",
        **OPEN,
    )
    found = judged("the index", predicted, answer["ConsumedCapacity"], engine, Work(items=900))

    assert {"pk", "sk", "step"} == set(answer["Items"][0])
    assert (engine.name == "dynalite") is found.models_capacity


def test_a_design_costs_what_it_was_said_to(indexed: tuple[DynamoDBClient, str, Engine]) -> None:
    """The sparse index of an alternative, built: only the open tasks have its key."""
    client, table, engine = indexed
    items = [
        item if n < 30 else {k: v for k, v in item.items() if k != "step"} for n, item in enumerate(tasks(300, 900))
    ]
    put_all(client, table, items)
    wanted = ["step" in item for item in items]
    found = alternatives(
        items, wanted, filtered_by=("step",), table_key=("pk", "sk"), size_of=item_size, needs=("pk", "sk")
    )
    sparse = next(each for each in found if each.design is Design.SPARSE_INDEX)

    _, scan = run(scan_pages(client, TableName=table, IndexName=BY_STEP.name))

    assert (30, 30) == (sparse.kept, scan.result.totals.examined)
    if engine.name == "dynalite":
        assert sparse.read.units == waste_of(scan.result.totals).consumed


def test_what_a_local_index_fetches_is_rounded_item_by_item_and_dynalite_rounds_once(
    indexed: tuple[DynamoDBClient, str, Engine],
) -> None:
    client, table, engine = indexed
    items = tasks(4, 4_500)
    put_all(client, table, items)
    entries = [measured(entry, item_size) for item in items if (entry := BY_DUE.entry_of(item))]
    predicted = fetching_page_read(entries, sizes_of(items), STRONG)
    assert exactly("9") == predicted

    answer = client.query(
        TableName=table,
        IndexName=BY_DUE.name,
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "p"}},
        Select="ALL_ATTRIBUTES",
        ConsistentRead=True,
        ReturnConsumedCapacity="INDEXES",
    )
    together = page_read(entries, STRONG).plus(page_read(sizes_of(items), STRONG))
    work = Work(items=4, rounded_together=together)
    found = judged("the fetch", predicted, answer["ConsumedCapacity"], engine, work)

    assert predicted == found.believed
    if engine.name == "dynalite":
        assert (Decimal(6), (Reason.ROUNDED_TOGETHER,)) == (found.reported, found.reasons)
    else:
        assert Reason.COUNTS_CALLS is found.reasons[0]


def test_writes_that_indexes_take_are_left_out_by_both_engines(indexed: tuple[DynamoDBClient, str, Engine]) -> None:
    client, table, engine = indexed
    [item] = tasks(1, 900)
    predicted = write_cost(None, item, [BY_STEP, BY_DUE], item_size)
    assert exactly("3") == predicted.units

    answer = client.put_item(TableName=table, Item=item, ReturnConsumedCapacity="INDEXES")
    work = Work(items=1, without_indexes=predicted.table)
    found = judged("the put", predicted.units, answer["ConsumedCapacity"], engine, work)

    assert (Decimal(1), predicted.units) == (found.reported, found.believed)
    assert Reason.INDEXES_LEFT_OUT is found.reasons[0]
    assert "predicted 3, reported 1: it leaves out what the indexes take" in str(found)


def test_index_sizes_come_from_a_live_table_or_are_unknown(indexed: tuple[DynamoDBClient, str, Engine]) -> None:
    client, table, engine = indexed
    put_all(client, table, tasks(3, 500))
    described = client.describe_table(TableName=table)["Table"]

    _, by_step, by_due = reported_sizes(described)

    assert (BY_STEP, BY_DUE) == (by_step.index, by_due.index)
    for index in (by_step, by_due):
        assert index.bytes_per_item is None  # no estimate has been made yet
        assert (0 if engine.name == "dynalite" else None) == index.size_bytes
