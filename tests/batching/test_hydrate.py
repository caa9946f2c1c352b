"""From index entries to items: in the entries' order, and each with what is known of it; answers are synthetic."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from itemledger.apis.attribute_values import item_to_native
from itemledger.errors import ManifestError
from itemledger.hydrating import EntryState, HydratedPage
from itemledger.tables.page import Page
from itemledger.testing import Call, FakeClock, batch_get_response, error
from tests.batching.faces import TABLE, hydrate, patient
from tests.drivers.both import DRIVERS, Driver

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)
CURRENT, STALE, GONE, UNRESOLVED = EntryState


def entry(letter: str, **more: Any) -> dict[str, Any]:
    return {"pk": {"S": letter}, "status": {"S": "open"}, **more}


def page(*rows: Mapping[str, Any], **members: Any) -> Page:
    given = {
        "returned": len(rows),
        "examined": len(rows),
        "consumed": None,
        "last_key": None,
        "segment": 0,
        "number": 1,
    }
    return Page(tuple(rows), **{"decode": item_to_native, **given, **members})


def run(driver: Driver, respond: Any, *pages: Page, key: Any = "pk", **options: Any) -> list[HydratedPage]:
    clock = FakeClock()
    client = driver.client(respond=respond, clock=clock)
    return driver.run(hydrate(driver, client, pages, TABLE, key, **{**patient(driver, clock), **options}))


def serving(*items: Mapping[str, Any], asked: list[str] | None = None) -> Any:
    """A table that holds these items and answers with them in the order that is the other way round."""

    async def respond(call: Call) -> Any:
        keys = call.request["RequestItems"][TABLE]["Keys"]
        if asked is not None:
            asked.append("".join(key["pk"]["S"] for key in keys))
        found = [item for item in reversed(items) if any(key["pk"] == item["pk"] for key in keys)]
        return batch_get_response(found, table=TABLE)

    return respond


def states(hydrated: HydratedPage) -> str:
    return " ".join(each.state for each in hydrated.entries)


@both_drivers
def test_each_entry_keeps_its_place_and_is_labelled(driver: Driver) -> None:
    table = serving(
        entry("A", total={"N": "1"}),
        entry("C") | {"status": {"S": "closed"}},
        {"pk": {"S": "D"}},
    )

    (got,) = run(driver, table, page(entry("A"), entry("B"), entry("C"), entry("D")))

    assert "current gone stale stale" == states(got)
    assert ["A", "B", "C", "D"] == [each.entry["pk"] for each in got.entries]
    assert {"pk": "A", "status": "open", "total": Decimal(1)} == got.entries[0].item
    assert None is got.entries[1].item
    assert {"pk": "C", "status": "closed"} == got.entries[2].item
    assert ({"pk": "A", "status": "open", "total": Decimal(1)},) == got.items
    assert (True, 1) == (got.complete, len(got.read.ledger if got.read else ()))


@both_drivers
def test_fc_05_an_entry_whose_item_comes_back_as_a_leftover_is_asked_for_again_and_nothing_vanishes(
    driver: Driver,
) -> None:
    left = {"pk": {"S": "B"}}
    answers = iter(
        [
            batch_get_response([entry("A")], table=TABLE, unprocessed=[left]),
            batch_get_response([entry("B")], table=TABLE),
        ]
    )

    async def respond(call: Call) -> Any:
        return next(answers)

    (got,) = run(driver, respond, page(entry("A"), entry("B"), request_id="index-1"))

    assert "current current" == states(got)
    assert got.read is not None
    assert ["A", "B"] == [key for evidence in got.read.ledger for key in evidence.returned]
    assert "index-1" == got.page.request_id


@both_drivers
@pytest.mark.parametrize("failure", ["AccessDeniedException", "InternalServerError"])
def test_a_read_that_ends_early_leaves_entries_unresolved_and_never_gone(driver: Driver, failure: str) -> None:
    async def respond(call: Call) -> Any:
        return error(failure)

    (got,) = run(driver, respond, page(entry("A")), max_passes=2)

    assert ("unresolved", None, False, ()) == (states(got), got.entries[0].item, got.complete, got.items)


@both_drivers
def test_leftovers_to_the_end_are_unresolved_beside_what_came(driver: Driver) -> None:
    found = iter([[entry("A")]])

    async def respond(call: Call) -> Any:
        return batch_get_response(next(found, []), table=TABLE, unprocessed=[{"pk": {"S": "B"}}])

    (got,) = run(driver, respond, page(entry("A"), entry("B")), max_passes=3)

    assert "current unresolved" == states(got)


@both_drivers
def test_entries_of_one_item_are_read_once_and_each_is_compared_by_itself(driver: Driver) -> None:
    asked: list[str] = []
    newer = entry("A") | {"status": {"S": "closed"}}

    (got,) = run(driver, serving(newer, asked=asked), page(entry("A"), newer, entry("A")))

    assert ("stale current stale", ["A"]) == (states(got), asked)


@both_drivers
def test_pages_are_read_one_by_one_and_an_empty_one_reads_nothing(driver: Driver) -> None:
    asked: list[str] = []
    table = serving(entry("A"), entry("B"), asked=asked)

    got = run(driver, table, page(entry("A")), page(number=2), page(entry("B"), number=3))

    assert (["current", "", "current"], ["A", "B"]) == ([states(each) for each in got], asked)
    assert (None, True, ()) == (got[1].read, got[1].complete, got[1].items)


@both_drivers
def test_more_entries_than_a_call_takes_keep_their_order(driver: Driver) -> None:
    rows = [{"pk": {"S": f"k{number:03d}"}} for number in range(250)]

    (got,) = run(driver, serving(*rows), page(*rows))

    assert [row["pk"]["S"] for row in rows] == [each.item["pk"] for each in got.entries if each.item]


@both_drivers
def test_items_are_spelled_as_the_pages_are(driver: Driver) -> None:
    row = entry("A", total={"N": "1"})

    (got,) = run(driver, serving(row), page(row, decode=dict))

    assert (row, row, "current") == (got.entries[0].entry, got.entries[0].item, states(got))
    with pytest.raises(ManifestError, match="values= to the query or scan"):
        run(driver, serving(row), page(row), values="typed")


SAME: Any = [
    ({"N": "1.0"}, {"N": "1"}),
    ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
    ({"NS": ["1", "2"]}, {"NS": ["2.0", "1"]}),
    ({"M": {"x": {"N": "10"}}}, {"M": {"x": {"N": "1E1"}}}),
    ({"B": b"x"}, {"B": b"x"}),
]
OTHER: Any = [
    ({"BOOL": True}, {"N": "1"}),
    ({"S": "1"}, {"N": "1"}),
    ({"B": b"x"}, {"S": "x"}),
    ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
    ({"M": {"x": {"BOOL": False}}}, {"M": {"x": {"N": "0"}}}),
    ({"NULL": True}, {"BOOL": True}),
]


@pytest.mark.parametrize(
    ("indexed", "stored", "state"),
    [*((*pair, CURRENT) for pair in SAME), *((*pair, STALE) for pair in OTHER)],
)
def test_attributes_are_compared_by_value_and_type(indexed: Any, stored: Any, state: EntryState) -> None:
    row, item = entry("A", x=indexed), entry("A", x=stored)

    (got,) = run(DRIVERS[0], serving(item), page(row))

    assert [state] == [each.state for each in got.entries]


@both_drivers
def test_the_table_is_asked_by_the_whole_of_its_own_key_and_strongly_where_wanted(driver: Driver) -> None:
    requests: list[Any] = []
    row = {"pk": {"S": "A"}, "sk": {"N": "7"}, "status": {"S": "open"}}

    async def respond(call: Call) -> Any:
        requests.append(call.request["RequestItems"][TABLE])
        return batch_get_response([row], table=TABLE)

    (got,) = run(driver, respond, page(row), key=["pk", "sk"], consistent_read=True)

    assert [{"Keys": [{"pk": {"S": "A"}, "sk": {"N": "7"}}], "ConsistentRead": True}] == requests
    assert "current" == states(got)


@both_drivers
def test_entries_without_the_tables_key_are_refused(driver: Driver) -> None:
    with pytest.raises(ManifestError, match="no 'sk', a part of its table's key"):
        run(driver, serving(), page(entry("A")), key=["pk", "sk"])


@both_drivers
def test_pages_that_were_only_counted_are_refused_and_not_taken_for_empty_ones(driver: Driver) -> None:
    with pytest.raises(ManifestError, match="counted"):
        run(driver, serving(), page(returned=5))


@both_drivers
def test_an_interrupt_in_a_read_carries_its_result(driver: Driver) -> None:
    async def respond(call: Call) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        run(driver, respond, page(entry("A")))

    assert ("A",) == raised.value.result.requested_order  # type: ignore[attr-defined]
