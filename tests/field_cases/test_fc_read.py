"""Failures that users of comparable tools met when they read by key, one test per case and named after it.

FC-05 belongs to queries. Scenarios are synthetic; what is right was written down before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.config import Config

import itemledger as il
from itemledger import Decision, LeftoverCause, ManifestError, StopReason, TableRead
from itemledger.testing import (
    Answer,
    Call,
    FakeClock,
    FaultInjector,
    LeaveUnprocessed,
    ScriptedClient,
    Step,
    batch_get_response,
    describe_table_response,
    error,
    serve_rows,
)
from tests.drivers.both import DRIVERS, Driver
from tests.drivers.scenarios import Endpoint, standings

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)

TABLE = "Orders"
KEY = ("pk",)


def typed(names: Any) -> list[dict[str, Any]]:
    return [{"pk": {"S": name}} for name in names]


def answer(found: Any = (), left: Any = (), **members: Any) -> dict[str, Any]:
    return batch_get_response(typed(found), table=TABLE, unprocessed=typed(left), **members)


def asked(request: Mapping[str, Any]) -> list[str]:
    return [key["pk"]["S"] for key in request["RequestItems"][TABLE]["Keys"]]


def patient(driver: Driver, clock: FakeClock) -> dict[str, Any]:
    return {"clock": clock, "sleep": driver.pause(clock), "jitter": lambda low, high: high}


@pytest.fixture
def boto_client() -> Any:
    client = boto3.client(
        "dynamodb",
        region_name="us-east-1",
        endpoint_url="http://127.0.0.1:1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )
    yield client
    client.close()


@both_drivers
@pytest.mark.parametrize("concurrency", [1, 4])
def test_fc_01_leftovers_of_one_chunk_are_resent_and_the_other_is_unaffected(driver: Driver, concurrency: int) -> None:
    names = [f"k{i:03}" for i in range(120)]
    clock = FakeClock()
    filler = {"S": "x" * 100_000}

    async def respond(call: Call) -> Any:
        keys = call.request["RequestItems"][TABLE]["Keys"]
        fits = 40 if len(keys) == 100 else len(keys)
        return batch_get_response(
            [{**key, "filler": filler} for key in keys[:fits]], table=TABLE, unprocessed=keys[fits:]
        )

    client = driver.client(respond=respond, clock=clock)
    options = {**patient(driver, clock), "concurrency": concurrency}
    result = driver.run(driver.read_batch(client, TABLE, names, KEY, **options))
    assert (StopReason.COMPLETE, "R" * 120) == (result.stop_reason, standings(result.outcomes))
    times = Counter(name for request in client.requests for name in asked(request))
    assert {1: 40 + 20, 2: 60} == Counter(times.values())
    assert {1: 20} == Counter(times[name] for name in names[100:])
    assert (LeftoverCause.RESPONSE_SIZE, []) == (result.ledger[0].leftover_cause, clock.sleeps)


@both_drivers
def test_fc_01_leftovers_that_stay_end_at_a_bound_with_one_disposition_each(driver: Driver) -> None:
    names = [f"k{i:03}" for i in range(120)]
    clock = FakeClock()

    async def respond(call: Call) -> Any:
        found = [name for name in asked(call.request) if name not in names[40:100]]
        return answer(found, [name for name in asked(call.request) if name in names[40:100]])

    client = driver.client(respond=respond, clock=clock)
    result = driver.run(driver.read_batch(client, TABLE, names, KEY, **patient(driver, clock)))
    assert "R" * 40 + "U" * 60 + "R" * 20 == standings(result.outcomes)
    assert (StopReason.PASSES_EXHAUSTED, Decision.RETRY) == (result.stop_reason, result.decide())


def test_fc_02_leftovers_in_a_list_are_no_usable_response(boto_client: Any) -> None:
    damaged = Answer({"Responses": {TABLE: typed("B")}, "UnprocessedKeys": [{"pk": {"S": "C"}}]})
    rows = serve_rows({TABLE: typed("ABCD")})
    faults = [LeaveUnprocessed(keep=1), damaged]
    with FaultInjector(boto_client, faults, upstream=rows):
        result = il.read_batch(boto_client, TABLE, list("ABC"), KEY, sleep=lambda seconds: None)
    assert ("RUU", StopReason.REQUEST_FAILED) == (standings(result.outcomes), result.stop_reason)
    assert result.terminal_error is not None
    assert "AttributeError" == result.terminal_error.code
    assert {"B", "C"} == result.unresolved
    assert Decision.HOLD is result.decide()


@both_drivers
def test_fc_02_an_attribute_error_out_of_the_client_keeps_earlier_passes(driver: Driver) -> None:
    clock = FakeClock()
    client = driver.client([answer("A", "BC"), AttributeError("'list' object has no attribute 'items'")])
    result = driver.run(driver.read_batch(client, TABLE, list("ABC"), KEY, **patient(driver, clock)))
    assert ("RUU", StopReason.REQUEST_FAILED) == (standings(result.outcomes), result.stop_reason)


def test_fc_03_both_drivers_leave_identical_ledgers() -> None:
    ledgers = []
    for driver in DRIVERS:
        clock = FakeClock()
        script = [
            Step(answer("CA", "BDE", request_id="r1", retry_attempts=1), takes_s=0.2),
            Step(answer("B", "D", request_id="r2"), takes_s=0.1),
            error("InternalServerError", status=500, request_id="r3"),
        ]
        client = driver.client(script, clock=clock)
        result = driver.run(driver.read_batch(client, TABLE, list("ABCDEZ"), KEY, **patient(driver, clock)))
        ledgers.append(result.ledger)
    blocking, asynchronous = ledgers
    assert 3 == len(blocking)
    assert blocking == asynchronous
    assert [("C", "A"), ("B",), ()] == [tuple(sorted(entry.returned, reverse=True)) for entry in blocking]


@both_drivers
def test_fc_04_every_pass_asks_with_the_same_settings(driver: Driver) -> None:
    clock = FakeClock()
    echo = {"Keys": typed("BC"), "ConsistentRead": False}  # the projection is stripped, the consistency changed
    second = {"Keys": typed("C")}
    client = driver.client(
        [
            batch_get_response(typed("A"), table=TABLE, unprocessed={TABLE: echo}),
            batch_get_response(typed("B"), table=TABLE, unprocessed={TABLE: second}),
            batch_get_response(typed("C"), table=TABLE),
        ],
        clock=clock,
    )
    options = {"projection": ["status", "size"], "consistent_read": True, **patient(driver, clock)}
    result = driver.run(driver.read_batch(client, TABLE, list("ABC"), KEY, **options))
    assert StopReason.COMPLETE is result.stop_reason

    def request(names: str) -> dict[str, Any]:
        settings = {
            "ConsistentRead": True,
            "ProjectionExpression": "#p0, #p1, #p2",
            "ExpressionAttributeNames": {"#p0": "status", "#p1": "size", "#p2": "pk"},
        }
        return {"RequestItems": {TABLE: {"Keys": typed(names), **settings}}, "ReturnConsumedCapacity": "TOTAL"}

    assert [request("ABC"), request("BC"), request("C")] == client.requests
    noted = [[note for note in entry.notes if "came back with other" in note] for entry in result.ledger]
    assert [1, 1, 0] == [len(notes) for notes in noted]
    assert "ConsistentRead" in noted[0][0]
    assert "ProjectionExpression" in noted[0][0]
    assert 1 == len({entry.request_hash for entry in result.ledger})


def test_fc_06_the_fake_cuts_answers_at_16_mb_and_at_1_mb_per_partition() -> None:
    client = ScriptedClient(respond=Endpoint(300 * 1024))
    keys = [{"pk": {"S": f"p{i}"}, "sk": {"N": "1"}} for i in range(100)]
    one = client.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
    assert (52, 48) == (len(one["Responses"][TABLE]), len(one["UnprocessedKeys"][TABLE]["Keys"]))
    keys = [{"pk": {"S": "p"}, "sk": {"N": str(i)}} for i in range(100)]
    one = client.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
    assert (3, 97) == (len(one["Responses"][TABLE]), len(one["UnprocessedKeys"][TABLE]["Keys"]))


@both_drivers
def test_fc_06_a_hundred_large_items_are_read_without_a_pause(driver: Driver) -> None:
    clock = FakeClock()
    endpoint = Endpoint(300 * 1024)

    async def respond(call: Call) -> Any:
        return endpoint(call)

    for keys, calls in (([(f"p{i}", 1) for i in range(100)], 2), ([("p", i) for i in range(100)], 34)):
        client = driver.client(respond=respond, clock=clock)
        options = {**patient(driver, clock), "concurrency": 1}
        result = driver.run(driver.read_batch(client, TABLE, keys, ("pk", "sk"), **options))
        assert (StopReason.COMPLETE, 100, []) == (result.stop_reason, len(result.returned), clock.sleeps)
        assert calls == len(client.requests)


@both_drivers
def test_fc_07_pauses_are_drawn_from_a_growing_capped_range_and_there_is_none_after_the_last_pass(
    driver: Driver,
) -> None:
    clock = FakeClock()
    ranges: list[tuple[float, float]] = []
    draws = iter([0.01, 0.02, 0.07, 0.03])

    def jitter(low: float, high: float) -> float:
        ranges.append((low, high))
        return next(draws)

    client = driver.client([answer("", "A") for _ in range(5)], clock=clock)
    options = {
        **patient(driver, clock),
        "jitter": jitter,
        "max_passes": 5,
        "backoff_base_s": 0.1,
        "backoff_cap_s": 0.3,
    }
    result = driver.run(driver.read_batch(client, TABLE, ["A"], KEY, **options))
    assert StopReason.PASSES_EXHAUSTED is result.stop_reason
    assert [(0.0, 0.1), (0.0, 0.2), (0.0, 0.3), (0.0, 0.3)] == ranges
    assert [0.01, 0.02, 0.07, 0.03] == [round(pause, 9) for pause in clock.sleeps]


@both_drivers
def test_fc_08_the_budget_covers_the_time_inside_a_call(driver: Driver) -> None:
    clock = FakeClock()
    client = driver.client([Step(answer("A", "B", retry_attempts=3), takes_s=5.0)], clock=clock)
    result = driver.run(driver.read_batch(client, TABLE, list("AB"), KEY, timeout_s=2.0, **patient(driver, clock)))
    assert 1 == len(client.requests)
    assert ("RU", StopReason.DEADLINE) == (standings(result.outcomes), result.stop_reason)
    assert (1, 3) == (result.ledger[0].application_pass, result.ledger[0].sdk_retry_attempts)
    assert result.hold_record().deadline_reached


@both_drivers
def test_fc_09_credentials_are_refreshed_once(driver: Driver) -> None:
    clock = FakeClock()
    client = driver.client([answer("A", "BC"), error("ExpiredTokenException"), answer("BC")], clock=clock)
    result = driver.run(driver.read_batch(client, TABLE, list("ABC"), KEY, **patient(driver, clock)))
    assert (StopReason.COMPLETE, "RRR") == (result.stop_reason, standings(result.outcomes))
    assert [["A", "B", "C"], ["B", "C"], ["B", "C"]] == [asked(request) for request in client.requests]
    client = driver.client([answer("A", "BC"), error("ExpiredTokenException"), error("ExpiredTokenException")])
    result = driver.run(driver.read_batch(client, TABLE, list("ABC"), KEY, **patient(driver, clock)))
    assert (StopReason.REQUEST_FAILED, "RUU") == (result.stop_reason, standings(result.outcomes))
    assert Decision.HOLD is result.decide()
    assert ("B", "C") == result.hold_record().unresolved


@both_drivers
def test_fc_10_a_new_observation_continues_and_asks_no_settled_key(driver: Driver) -> None:
    clock = FakeClock()
    client = driver.client([answer("A", "CD"), error("ExpiredToken"), error("ExpiredToken")])
    first = driver.run(driver.read_batch(client, TABLE, list("ABCD"), KEY, **patient(driver, clock)))
    assert "RNUU" == standings(first.outcomes)
    record = first.hold_record()
    for hold in (record, record.to_json()):
        refreshed = driver.client([answer("D")])
        second = driver.run(driver.resume(refreshed, hold, **patient(driver, clock)))
        assert [["C", "D"]] == [asked(request) for request in refreshed.requests]
        assert ("NR", StopReason.COMPLETE) == (standings(second.outcomes), second.stop_reason)
        assert (2, first.observation.id) == (second.observation.number, second.observation.parent_id)
        assert second.observation.id != first.observation.id
        assert second.earlier.returned == {"A"}
        assert second.earlier.processed_not_returned == {"B"}
        assert Decision.ACCEPT is second.decide(["A", "D"])
        assert Decision.REJECT is second.decide()


@both_drivers
def test_fc_11_a_namespaced_code_without_its_suffix_is_a_throttle(driver: Driver) -> None:
    client = driver.client([error("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceeded", request_id="r1")])
    result = driver.run(driver.read_batch(client, TABLE, list("AB"), KEY))
    assert "ProvisionedThroughputExceededException; request_id=r1" == str(result.terminal_error)
    assert Decision.RETRY is result.decide()


@both_drivers
def test_fc_12_folded_duplicates_have_an_outcome_each(driver: Driver) -> None:
    client = driver.client([answer("BA")])
    result = driver.run(driver.read_batch(client, TABLE, list("ABA"), KEY, fold_duplicates=True))
    assert [["A", "B"]] == [asked(request) for request in client.requests]
    assert [("A", 0, None), ("B", 1, None), ("A", 2, 0)] == [
        (outcome.key, outcome.position, outcome.duplicate_of) for outcome in result.outcomes
    ]
    untouched = driver.client([])
    with pytest.raises(ManifestError) as refused:
        driver.run(driver.read_batch(untouched, TABLE, list("ABA"), KEY))
    assert ((0, 2), []) == (refused.value.positions, untouched.calls)


@both_drivers
def test_fc_13_a_duplicate_across_the_chunk_border_is_found_before_any_call(driver: Driver) -> None:
    names = [f"k{i:03}" for i in range(149)]
    names.insert(120, "k007")
    client = driver.client([])
    with pytest.raises(ManifestError, match="positions 7 and 120") as refused:
        driver.run(driver.read_batch(client, TABLE, names, KEY))
    assert ((7, 120), []) == (refused.value.positions, client.calls)


#: Every spelling, and the one that DynamoDB stores and returns.
GOLDEN = {
    "-0": "0",
    "007": "7",
    "1e3": "1000",
    "1.50": "1.5",
    "1E-130": "0." + "0" * 129 + "1",
    "12345678901234567890123456789012345678": "12345678901234567890123456789012345678",
    "0.12345678901234567890123456789012345678": "0.12345678901234567890123456789012345678",
}


@both_drivers
def test_fc_14_numbers_have_one_canonical_form(driver: Driver) -> None:
    rows = [{"pk": {"N": text}} for text in GOLDEN.values()]
    client = driver.client([batch_get_response(rows, table=TABLE)])
    keys = [{"pk": {"N": text}} for text in GOLDEN]
    result = driver.run(driver.read_batch(client, TABLE, keys, KEY))
    assert [{"pk": {"N": text}} for text in GOLDEN.values()] == client.requests[0]["RequestItems"][TABLE]["Keys"]
    assert "R" * len(GOLDEN) == standings(result.outcomes)
    # Also when the service, or another one, spells them as we were given them.
    client = driver.client([batch_get_response(keys, table=TABLE)])
    result = driver.run(driver.read_batch(client, TABLE, [Decimal(text) for text in GOLDEN], KEY))
    assert "R" * len(GOLDEN) == standings(result.outcomes)
    untouched = driver.client([])
    with pytest.raises(ManifestError, match="39 significant digits") as refused:
        driver.run(driver.read_batch(untouched, TABLE, [1, int("1" * 39)], KEY))
    assert ((1,), []) == (refused.value.positions, untouched.calls)


@both_drivers
def test_fc_15_name_and_arn_are_one_table(driver: Driver) -> None:
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
    described = describe_table_response(TABLE, {"pk": "S"})
    client = driver.client([described, described, answer("A")])
    reads = [TableRead(TABLE, ["A"]), TableRead(arn, ["A"])]
    results = driver.run(driver.read_tables(client, reads, fold_duplicates=True))
    assert ["R", "R"] == [standings(result.outcomes) for result in results]
    sent = client.requests[2]["RequestItems"]
    assert [typed("A")] == [entry["Keys"] for entry in sent.values()]


@both_drivers
def test_fc_16_long_numbers_come_back_exactly(driver: Driver) -> None:
    row = {"pk": {"S": "A"}, "big": {"N": "1" + "0" * 41}, "small": {"N": "1." + "0" * 40}}
    client = driver.client([batch_get_response([row], table=TABLE)])
    result = driver.run(driver.read_batch(client, TABLE, ["A"], KEY))
    item = result.items_by_key["A"]
    assert {"pk": "A", "big": 10**41, "small": 1} == item
    assert [Decimal, Decimal] == [type(item["big"]), type(item["small"])]


@both_drivers
def test_fc_17_outcomes_are_in_the_callers_order(driver: Driver) -> None:
    rows = [{"pk": {"S": name}, "n": {"N": str(ord(name))}} for name in "DBEAC"]
    client = driver.client([batch_get_response(rows, table=TABLE)])
    result = driver.run(driver.read_batch(client, TABLE, list("ABCDE"), KEY))
    assert [("A", 65), ("B", 66), ("C", 67), ("D", 68), ("E", 69)] == [
        (outcome.key, outcome.item and outcome.item["n"]) for outcome in result.outcomes
    ]
    assert [65, 66, 67, 68, 69] == [item["n"] for item in result.items()]


@both_drivers
def test_fc_18_composite_keys_do_not_run_together(driver: Driver) -> None:
    rows = [
        {"pk": {"S": "ab"}, "sk": {"S": "c"}, "n": {"N": "2"}},
        {"pk": {"S": "a"}, "sk": {"S": "bc"}, "n": {"N": "1"}},
    ]
    client = driver.client([batch_get_response(rows, table=TABLE)])
    result = driver.run(driver.read_batch(client, TABLE, [("a", "bc"), ("ab", "c")], ("pk", "sk")))
    assert [(("a", "bc"), 1), (("ab", "c"), 2)] == [
        (outcome.key, outcome.item and outcome.item["n"]) for outcome in result.outcomes
    ]


@both_drivers
@pytest.mark.parametrize("third", [{"pk": "c"}, ("c",), "c"], ids=["mapping", "tuple", "single"])
def test_fc_19_a_key_without_its_sort_key_is_refused_before_any_call(driver: Driver, third: object) -> None:
    keys: list[object] = [{"pk": name, "sk": 1} for name in "abde"]
    keys.insert(3, third)
    client = driver.client([])
    with pytest.raises(ManifestError, match=r"position 3.*sk") as refused:
        driver.run(driver.read_batch(client, TABLE, keys, {"pk": "S", "sk": "N"}))
    assert ((3,), []) == (refused.value.positions, client.calls)
