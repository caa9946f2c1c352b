"""The field cases of writes and index joins, through the batch helpers: one test per case and named after it.

Scenarios are synthetic; what is right was written down before. FC-05 is in tests/batching/test_hydrate.py.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from itemledger.apis.attribute_values import item_to_native
from itemledger.batch_reading import batch_reader
from itemledger.errors import IncompleteBatchError, ManifestError
from itemledger.hydrating import EntryState, hydrate
from itemledger.tables.page import Page
from itemledger.testing import Call, FakeClock, ScriptedClient, batch_get_response
from tests.batching.faces import TABLE, FakeTable, carrying, patient, writing
from tests.drivers.both import DRIVERS, Driver

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)


def page(*rows: dict[str, Any]) -> Page:
    return Page(rows, len(rows), len(rows), None, None, 0, 1, decode=item_to_native)


def write(driver: Driver, meddle: Any, items: Any, **options: Any) -> tuple[Any, FakeTable]:
    """The report, whether or not it is complete, and the table."""
    table, clock = FakeTable(meddle), FakeClock()
    client = driver.client(respond=table, clock=clock)

    async def body() -> Any:
        try:
            async with writing(driver, client, **{**patient(driver, clock), **options}) as batch:
                for item in items:
                    await batch.put_item(Item=item)
        except IncompleteBatchError as error:
            return error.report
        return batch.report

    return driver.run(body()), table


def test_fc_16_numbers_of_an_index_and_its_table_are_exact_in_any_spelling() -> None:
    entry = {"pk": {"S": "A"}, "n": {"N": "1" + "0" * 41}}
    stored = {"pk": {"S": "A"}, "n": {"N": "1E41"}, "m": {"N": "1." + "0" * 40}}
    with ScriptedClient([batch_get_response([stored], table=TABLE)]) as client:
        (got,) = hydrate(client, [page(entry)], TABLE, "pk")

    assert [EntryState.CURRENT] == [each.state for each in got.entries]
    assert [{"pk": "A", "n": Decimal("1E41"), "m": Decimal(1)}] == list(got.items)


def test_fc_17_five_keys_answered_in_another_order_keep_the_callers() -> None:
    rows = [{"pk": {"S": letter}, "n": {"N": str(number)}} for number, letter in enumerate("ABCDE")]
    with ScriptedClient([batch_get_response([rows[n] for n in (3, 0, 4, 2, 1)], table=TABLE)]) as client:
        (got,) = hydrate(client, [page(*rows)], TABLE, "pk")

    assert [("A", 0), ("B", 1), ("C", 2), ("D", 3), ("E", 4)] == [(item["pk"], item["n"]) for item in got.items]


def test_fc_18_composite_keys_that_spell_alike_together_are_two() -> None:
    rows = [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in (("a", "bc"), ("ab", "c"))]
    with ScriptedClient([batch_get_response(rows[::-1], table=TABLE)]) as client:
        (got,) = hydrate(client, [page(*rows)], TABLE, ["pk", "sk"])

    assert [{"pk": "a", "sk": "bc"}, {"pk": "ab", "sk": "c"}] == list(got.items)


def test_fc_19_a_key_that_lacks_the_sort_key_is_refused_before_any_call_with_its_place() -> None:
    keys: list[Any] = [{"pk": "A", "sk": number} for number in range(5)]
    del keys[3]["sk"]
    with ScriptedClient([]) as client:
        reader = batch_reader(client, TABLE, key={"pk": "S", "sk": "N"})
        for key in keys:
            reader.get_item(Key=key)
        with pytest.raises(ManifestError, match="'sk'") as raised, reader:
            pass

    assert (3,) == raised.value.positions


@both_drivers
def test_fc_20_of_25_puts_5_come_back_unprocessed_and_stay_open_until_they_are_done(driver: Driver) -> None:
    items = [{"pk": letter} for letter in "ABCDEFGHIJKLMNOPQRSTUVWXY"]

    report, table = write(driver, lambda call: "ABCDE", items, timeout_s=3)

    assert (20, [*"ABCDE"]) == (report.written, [item.item["pk"] for item in report.leftover])
    assert 20 == len(table.items)


@both_drivers
def test_fc_21_a_second_call_that_fails_after_sending_leaves_25_done_25_in_doubt_and_10_not_sent(
    driver: Driver,
) -> None:
    def meddle(call: Call) -> Any:
        calls.append(call)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return None

    calls: list[Call] = []

    with carrying(KeyboardInterrupt) as box:
        write(driver, meddle, [{"pk": f"k{number:02d}"} for number in range(60)])

    report = box[1]
    assert (25, 25, 10) == (report.written, len(report.unknown), len(report.leftover))
    assert [*range(25, 50)] == [item.position for item in report.unknown]
    assert [*range(50, 60)] == [item.position for item in report.leftover]


@both_drivers
def test_fc_22_409600_bytes_are_written_and_409601_refused_with_their_size(driver: Driver) -> None:
    size = 409_600 - len("pkA") - len("b")
    items = [{"pk": "A", "b": "x" * size}, {"pk": "B", "b": "x" * (size + 1)}, {"pk": "C"}]

    report, table = write(driver, None, items)

    assert (2, [1]) == (report.written, [item.position for item in report.refused])
    assert "409,601 bytes" in report.refused[0].error_message
    assert {"A", "C"} == set(table.items)
