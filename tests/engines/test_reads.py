"""The main job on engines that share no code: what they hold and leave over, and what a fault layer takes away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NoReturn

import pytest
from botocore.config import Config

import itemledger as il
from itemledger.apis.attribute_values import item_from_native
from itemledger.core.answer import BodyCheck
from itemledger.testing import CutBody, FaultInjector, LeaveUnprocessed, ResetAfter, ResetBefore, Throttle
from tests.conftest import MakeTable
from tests.engines.launch import Engine

LARGE = "x" * 390_000
THREE_ATTEMPTS = Config(retries={"mode": "standard", "total_max_attempts": 3})


def put(client: Any, table: str, items: Iterable[Mapping[str, object]]) -> None:
    requests = [{"PutRequest": {"Item": item_from_native(item)}} for item in items]
    for start in range(0, len(requests), 25):
        answer = client.batch_write_item(RequestItems={table: requests[start : start + 25]})
        assert not answer["UnprocessedItems"]


def no_pause(seconds: float) -> NoReturn:
    pytest.fail(f"slept {seconds} s where no pause was called for")


@pytest.mark.parametrize("concurrency", [1, 4])
def test_every_key_gets_its_own_row_in_the_callers_order(
    engine: Engine, make_table: MakeTable, concurrency: int
) -> None:
    client = engine.client()
    table = make_table(engine)
    put(client, table, ({"pk": f"k{i}", "n": i} for i in range(0, 250, 2)))

    result = il.read_batch(client, table, [f"k{i}" for i in range(250)], concurrency=concurrency)

    assert result.complete
    assert [f"k{i}" for i in range(250)] == [outcome.key for outcome in result.outcomes]
    for i, outcome in enumerate(result.outcomes):
        expected = {"pk": f"k{i}", "n": Decimal(i)} if i % 2 == 0 else None
        assert expected == outcome.item
    assert {f"k{i}" for i in range(1, 250, 2)} == result.processed_not_returned
    assert 3 == result.totals.calls
    assert il.EvidenceLabel.SYNTHETIC is result.totals.label
    assert {BodyCheck.CRC32} == {entry.body_check for entry in result.ledger}


@pytest.mark.parametrize(
    ("kind", "present", "absent"),
    [
        ("S", ["a", "ä", "\u2028"], ["A"]),
        ("N", [1, Decimal("-0.5"), Decimal("12345678901234567890123456789012345678"), Decimal("1E-130")], [2]),
        ("B", [b"a", bytearray(b"\x00\xff")], [b"A"]),
    ],
)
def test_keys_of_each_type_are_read_by_value(
    engine: Engine, make_table: MakeTable, kind: Any, present: list[Any], absent: list[Any]
) -> None:
    client = engine.client()
    table = make_table(engine, [("id", kind)])
    put(client, table, ({"id": key} for key in present))

    result = il.read_batch(client, table, present + absent)

    assert len(present) == len(result.returned)
    assert len(absent) == len(result.processed_not_returned)
    assert result.complete


def test_a_number_is_one_key_in_every_spelling(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine, [("id", "N")])
    put(client, table, [{"id": Decimal("100"), "v": "hundred"}])

    result = il.read_batch(client, table, [{"id": {"N": "1e2"}}])

    assert "hundred" == result.items_by_key[Decimal(100)]["v"]
    with pytest.raises(il.ManifestError, match="positions 0 and 1"):
        il.read_batch(client, table, [100, Decimal("1.0E2")])


def test_composite_keys_with_equal_joined_text_stay_apart(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine, [("pk", "S"), ("sk", "S")])
    put(client, table, [{"pk": "a", "sk": "bc", "v": 1}, {"pk": "ab", "sk": "c", "v": 2}])

    result = il.read_batch(client, table, [("a", "bc"), {"pk": "ab", "sk": "c"}, ("abc", "x")])

    assert [Decimal(1), Decimal(2), None] == [o.item and o.item["v"] for o in result.outcomes]
    assert {("abc", "x")} == result.processed_not_returned


#: What one answer of each engine holds: 16 MB on moto as on AWS, about 1.4 MB on dynalite.
FITTING = {"moto": 42, "dynalite": 3}


@pytest.mark.parametrize("concurrency", [1, 4])
def test_large_items_end_complete_in_about_as_many_calls_as_fit(
    engine: Engine, make_table: MakeTable, concurrency: int
) -> None:
    client = engine.client()
    table = make_table(engine)
    count = 130
    put(client, table, ({"pk": f"k{i}", "v": LARGE} for i in range(count)))

    result = il.read_batch(client, table, [f"k{i}" for i in range(count)], concurrency=concurrency, sleep=no_pause)

    assert (il.StopReason.COMPLETE, count) == (result.stop_reason, len(result.returned))
    necessary = -(-count // FITTING[engine.name])
    assert necessary <= result.totals.calls <= necessary + concurrency
    left_over = [entry for entry in result.ledger if entry.unprocessed]
    assert left_over
    assert {il.LeftoverCause.RESPONSE_SIZE} == {entry.leftover_cause for entry in left_over}


def test_leftovers_are_asked_again_with_the_first_passs_settings(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine)
    put(client, table, ({"pk": f"k{i}", "status": LARGE, "secret": "s"} for i in range(60)))

    result = il.read_batch(
        client, table, [f"k{i}" for i in range(60)], projection=["status"], consistent_read=True, sleep=no_pause
    )

    assert result.complete
    assert result.totals.calls > 1
    assert {("status",)} == {tuple(item) for item in result.items_by_key.values()}  # neither the secret nor the key
    assert 1 == len({entry.request_hash for entry in result.ledger})


def test_injected_leftovers_are_resent_until_none_is_left(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine)
    put(client, table, ({"pk": f"k{i}"} for i in range(40)))
    pauses: list[float] = []
    script = [LeaveUnprocessed(every_nth=2), LeaveUnprocessed(keep=3), None]

    with FaultInjector(client, script, operation="batch_get_item"):
        # A pause that is drawn next to nothing is over before anybody could wait for it.
        result = il.read_batch(
            client, table, [f"k{i}" for i in range(50)], sleep=pauses.append, jitter=lambda low, high: high
        )

    assert result.complete
    assert (3, 40, 10) == (result.totals.application_passes, len(result.returned), len(result.processed_not_returned))
    assert [50, 25, 22] == [len(entry.requested) for entry in result.ledger]
    assert 2 == len(pauses)


def test_a_lost_response_is_an_sdk_retry_and_no_application_pass(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client(THREE_ATTEMPTS)
    table = make_table(engine)
    put(client, table, [{"pk": "a"}])

    with FaultInjector(client, [ResetAfter()], operation="batch_get_item"):
        result = il.read_batch(client, table, ["a", "z"])

    assert result.complete
    assert (1, 1) == (result.totals.sdk_retry_attempts, result.totals.application_passes)


def test_leftovers_behind_a_throttled_attempt_say_so(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client(THREE_ATTEMPTS)
    table = make_table(engine)
    put(client, table, [{"pk": "a"}, {"pk": "b"}])

    with FaultInjector(client, [Throttle(), LeaveUnprocessed(keep=1)], operation="batch_get_item"):
        result = il.read_batch(client, table, ["a", "b"])

    assert il.LeftoverCause.THROTTLE is result.ledger[0].leftover_cause
    assert result.complete


@pytest.mark.parametrize("keep_crc", [True, False])
def test_a_cut_answer_settles_nothing_and_the_read_goes_on_from_its_hold_record(
    engine: Engine, make_table: MakeTable, keep_crc: bool
) -> None:
    client = engine.client()
    table = make_table(engine)
    put(client, table, ({"pk": f"k{i}"} for i in range(120)))
    keys = [f"k{i}" for i in range(140)]

    with FaultInjector(client, [None, CutBody(at=0.5, keep_crc=keep_crc)], operation="batch_get_item"):
        first = il.read_batch(client, table, keys, concurrency=1)

    assert (100, 0, 40) == tuple(map(len, (first.returned, first.processed_not_returned, first.unresolved)))
    assert first.terminal_error is not None
    assert "DamagedResponse" == first.terminal_error.code
    assert il.Decision.RETRY is first.decide()

    second = il.resume(client, first.hold_record().to_json())

    assert set(keys[100:]) == set(second.requested_order)
    assert (20, 20, 0) == tuple(map(len, (second.returned, second.processed_not_returned, second.unresolved)))
    assert (2, first.observation.id) == (second.observation.number, second.observation.parent_id)
    assert il.Decision.REJECT is second.decide()
    assert il.Decision.ACCEPT is second.decide(required=keys[:120])


def test_a_dead_engine_leaves_every_key_unresolved(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine)

    with FaultInjector(client, [ResetBefore()], operation="batch_get_item"):
        result = il.read_batch(client, table, ["a"], key="pk")

    assert {"a"} == result.unresolved
    assert "EndpointConnectionError; request_id=none" == str(result.terminal_error)


def test_a_missing_table_is_a_result_on_hold(engine: Engine) -> None:
    client = engine.client()
    for key in (None, "pk"):
        result = il.read_batch(client, "NoSuchTable", ["a"], key=key)
        assert {"a"} == result.unresolved
        assert result.terminal_error is not None
        assert "ResourceNotFoundException" == result.terminal_error.code
        assert il.Decision.HOLD is result.decide()


def test_two_tables_are_read_under_one_deadline_in_shared_calls(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    users, orders = make_table(engine), make_table(engine, [("pk", "S"), ("sk", "N")])
    put(client, users, [{"pk": "a", "name": "Ann"}])
    put(client, orders, [{"pk": "a", "sk": 1, "total": 5}])

    reads = [il.TableRead(users, ["a", "b"]), il.TableRead(orders, [("a", 1), ("a", 2)], projection=["total"])]
    first, second = il.read_tables(client, reads)

    assert "Ann" == first.items_by_key["a"]["name"]
    assert {("a", Decimal(1)): {"total": Decimal(5)}} == second.items_by_key
    assert (1, 1) == (first.totals.calls, second.totals.calls)
    assert first.request_ids == second.request_ids


def test_a_streamed_read_hands_out_every_key_once_and_then_the_summary(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(engine)
    put(client, table, ({"pk": f"k{i}"} for i in range(150)))

    *outcomes, summary = il.iter_read(client, table, [f"k{i}" for i in range(260)])

    assert isinstance(summary, il.ReadResult)
    assert summary.complete
    assert {f"k{i}" for i in range(260)} == {o.key for o in outcomes if isinstance(o, il.KeyOutcome)}
    assert (260, 150) == (len(outcomes), sum(o.item is not None for o in outcomes if isinstance(o, il.KeyOutcome)))
    assert ({}, ()) == (summary.items_by_key, summary.ledger)


def test_dynalite_says_what_a_read_consumed(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(dynalite)
    put(client, table, ({"pk": f"k{i}"} for i in range(5)))

    keys = [f"k{i}" for i in range(6)]

    assert 3.0 == il.read_batch(client, table, keys).totals.consumed
    assert 6.0 == il.read_batch(client, table, keys, consistent_read=True).totals.consumed
