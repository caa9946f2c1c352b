"""``batch_reader`` collects keys and reads them together when its block ends; answers are synthetic."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.batch_reading import batch_reader
from itemledger.core.result import Disposition
from itemledger.testing import FakeClock, ScriptedClient, batch_get_response
from tests.batching.faces import TABLE
from tests.drivers.scenarios import highest

RETURNED, GONE = Disposition.RETURNED, Disposition.PROCESSED_NOT_RETURNED


def rows(letters: str) -> list[dict[str, Any]]:
    return [{"pk": {"S": letter}} for letter in letters]


def test_equal_keys_are_read_once_and_answered_at_each_place_with_leftovers_asked_again() -> None:
    clock = FakeClock()
    steps = [
        batch_get_response(rows("A"), table=TABLE, unprocessed=rows("B")),
        batch_get_response(rows("B"), table=TABLE),
    ]
    with ScriptedClient(steps, clock=clock) as client:
        run: Any = {"clock": clock, "sleep": clock.sleep, "jitter": highest}
        with batch_reader(client, TABLE, key="pk", consistent_read=True, projection=["pk"], **run) as batch:
            for letter in "ABAC":
                batch.get_item(Key={"pk": letter})
            assert [] == client.calls

    assert [RETURNED, RETURNED, RETURNED, GONE] == [each.disposition for each in batch.result.outcomes]
    asked = client.requests[0]["RequestItems"][TABLE]
    assert (rows("ABC"), True) == (asked["Keys"], asked["ConsistentRead"])
    assert 2 == len(batch.result.ledger)


def test_a_key_that_is_filled_again_is_read_each_time() -> None:
    with ScriptedClient([batch_get_response(rows("AB"), table=TABLE)]) as client:
        key: dict[str, Any] = {}
        with batch_reader(client, TABLE, key="pk") as batch:
            for letter in "AB":
                key["pk"] = letter
                batch.get_item(Key=key)

    assert ["A", "B"] == [each.key for each in batch.result.outcomes]


def test_an_error_that_leaves_the_block_reads_nothing() -> None:
    with ScriptedClient([]) as client:
        reader = batch_reader(client, TABLE, key="pk")
        reader.get_item(Key="A")
        with pytest.raises(ZeroDivisionError), reader:
            raise ZeroDivisionError
        assert not hasattr(reader, "result")


def test_no_keys_are_a_complete_read_of_nothing() -> None:
    with ScriptedClient([]) as client:
        with batch_reader(client, TABLE, key="pk") as batch:
            pass
        assert (True, ()) == (batch.result.complete, batch.result.outcomes)
