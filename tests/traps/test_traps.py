"""The traps of keyed reads, each a test named after it: what a service may say that a careless reader gets wrong.

Synthetic: every answer is scripted, and every expectation is written by hand.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from boto3.dynamodb.types import Binary
from botocore.config import Config
from botocore.stub import Stubber

import itemledger as il
from itemledger.core.keys import Key
from itemledger.testing import (
    Call,
    FakeClock,
    ScriptedClient,
    Step,
    batch_get_response,
    describe_table_response,
    error,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

T = "T"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{T}"  # as describe_table_response tells it
LETTER = {
    il.Disposition.RETURNED: "R",
    il.Disposition.PROCESSED_NOT_RETURNED: "N",
    il.Disposition.UNRESOLVED: "U",
}
EXPIRED = error("ExpiredTokenException", "The security token included in the request is expired")


def row(letter: str, **more: Any) -> dict[str, Any]:
    return {"pk": {"S": letter}, **more}


def rows(letters: str) -> list[dict[str, Any]]:
    return [row(letter) for letter in letters]


def said(found: str = "", left: str = "", *, table: str = T) -> dict[str, Any]:
    """An answer with these rows and these leftovers."""
    return batch_get_response(rows(found), table=table, unprocessed=rows(left))


def without(member: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != member}


def read(client: Any, keys: Sequence[object], key: Any = "pk", **options: Any) -> il.ReadResult:
    """A read of one table on a clock that only its own pauses move."""
    clock = FakeClock()
    bounds: dict[str, Any] = {"clock": clock, "sleep": clock.sleep, "jitter": lambda low, high: high}
    return il.read_batch(client, T, keys, key, **{"concurrency": 1, **bounds, **options})


def read_script(steps: Sequence[Any], keys: Sequence[object] = "ABC", key: Any = "pk", **options: Any) -> il.ReadResult:
    with ScriptedClient(steps) as client:
        return read(client, list(keys), key, **options)


def refused(steps: Sequence[Any], keys: Sequence[object] = "ABC", key: Any = "pk", **options: Any) -> Refusal:
    """The read must call the last answer impossible; what was settled before it rides on the error."""
    with pytest.raises(il.LedgerInvariantError) as caught:
        read_script(steps, keys, key, **options)
    assert il.Decision.REPAIR is caught.value.decision
    assert isinstance(caught.value.result, il.ReadResult)
    return Refusal(str(caught.value), caught.value.result)


class Refusal:
    """What the error says, and the result it carries."""

    def __init__(self, text: str, result: il.ReadResult) -> None:
        self.text = text
        self.result = result


def keys_of(client: ScriptedClient) -> list[list[Key]]:
    """The plain keys of each call, all of the one table that it asks."""
    entries = [request["RequestItems"].values() for request in client.requests if "RequestItems" in request]
    asked = [entry["Keys"] for (entry,) in entries]
    return [[next(iter(key["pk"].values())) for key in keys] for keys in asked]


def standings(result: il.ReadResult) -> str:
    """A letter for each key in the caller's order: returned, not returned, unresolved."""
    return "".join(LETTER[outcome.disposition] for outcome in result.outcomes)


@pytest.fixture
def stubbed() -> Iterator[tuple[DynamoDBClient, Stubber]]:
    """A real SDK client that answers from a Stubber, which checks every request against the service model."""
    client: DynamoDBClient = boto3.client(
        "dynamodb",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )
    with Stubber(client) as stubber:
        yield client, stubber
        stubber.assert_no_pending_responses()
    client.close()


# ------------------------------------------------------------------------------------------- T1: the leftovers member


@pytest.mark.parametrize("null", [False, True], ids=["absent", "null"])
def test_t01_without_leftovers_member_silence_proves_nothing(null: bool) -> None:
    answer = {**said("A"), "UnprocessedKeys": None} if null else without("UnprocessedKeys", said("A"))
    refusal = refused([said("A", left="BC"), answer], "ABC")
    assert "no UnprocessedKeys" in refusal.text
    assert "RUU" == standings(refusal.result)


def test_t01_an_empty_leftovers_map_is_the_end() -> None:
    assert "RRN" == standings(read_script([said("AB")]))


def test_t01_an_empty_list_of_leftover_keys_is_the_end_and_is_noted() -> None:
    result = read_script([batch_get_response(rows("AB"), table=T, unprocessed={T: {"Keys": []}})])
    assert "RRN" == standings(result)
    assert ("UnprocessedKeys names the table with an empty list of keys",) == result.ledger[0].notes


def test_t01_an_endpoint_known_to_leave_the_member_out_is_believed_when_told_so_and_noted() -> None:
    result = read_script([without("UnprocessedKeys", said("AB"))], unprocessed_keys_optional=True)
    assert "RRN" == standings(result)
    assert ("UnprocessedKeys absent; accepted because unprocessed_keys_optional is set",) == result.ledger[0].notes


@pytest.mark.parametrize("leftovers", [{T: {}}, {T: {"Keys": None}}, {T: {"Keys": {}}}, {T: None}, [], "B"], ids=str)
def test_t01_leftovers_without_a_list_of_keys_are_impossible(leftovers: Any) -> None:
    refusal = refused([{**said("A"), "UnprocessedKeys": leftovers}])
    assert {"A", "B", "C"} == refusal.result.unresolved


def test_t01_an_answer_without_any_member_is_impossible_even_for_the_lenient() -> None:
    refusal = refused([{}], unprocessed_keys_optional=True)
    assert {"A", "B", "C"} == refusal.result.unresolved


# -------------------------------------------------------------------------- T2 to T8: rows and leftovers that cannot be


def test_t02_a_leftover_table_that_was_not_requested_is_impossible() -> None:
    other = batch_get_response(rows("AB"), table=T, unprocessed={"Other": {"Keys": rows("C")}})
    refusal = refused([said("A", left="BC"), other])
    assert "UnprocessedKeys names table 'Other'" in refusal.text
    assert "RUU" == standings(refusal.result)


def test_t03_a_row_for_a_table_that_was_not_requested_is_impossible() -> None:
    answer = said("ABC")
    answer["Responses"]["Other"] = rows("A")
    refusal = refused([answer])
    assert "Responses names table 'Other'" in refusal.text
    assert {"A", "B", "C"} == refusal.result.unresolved


def test_t04_a_row_outside_the_pass_is_impossible_though_the_manifest_has_its_key() -> None:
    def answer(call: Call) -> Mapping[str, Any]:  # the second call asks for the 101st key only
        return (
            said("")
            if len(call.request["RequestItems"][T]["Keys"]) == 100
            else batch_get_response([row("k0")], table=T)
        )

    client = ScriptedClient(respond=answer)
    with pytest.raises(il.LedgerInvariantError, match="outside this call") as caught:
        read(client, [f"k{i}" for i in range(101)])
    assert isinstance(caught.value.result, il.ReadResult)
    assert {"k100"} == caught.value.result.unresolved
    assert 100 == len(caught.value.result.processed_not_returned)


def test_t04_a_row_outside_the_manifest_is_impossible_on_a_later_pass_too() -> None:
    refusal = refused([said("A", left="BC"), said("BZ")])
    assert "RUU" == standings(refusal.result)
    assert "Z" not in refusal.text


@pytest.mark.parametrize(("second", "agreement"), [({}, "equal"), ({"n": {"N": "2"}}, "conflicting")])
def test_t05_the_same_row_twice_is_impossible_equal_or_not(second: dict[str, Any], agreement: str) -> None:
    twice = batch_get_response([row("B"), row("C"), row("B", **second)], table=T)
    refusal = refused([said("A", left="BC"), twice])
    assert f"twice, with {agreement} content" in refusal.text
    assert "RUU" == standings(refusal.result)


def test_t06_a_key_both_returned_and_left_over_is_impossible() -> None:
    refusal = refused([said("A", left="BC"), said("BC", left="B")])
    assert "both unprocessed and returned" in refusal.text
    assert "RUU" == standings(refusal.result)


def test_t06_a_key_left_over_twice_is_impossible() -> None:
    refusal = refused([said("A", left="BB")])
    assert "twice as unprocessed" in refusal.text
    assert {"A", "B", "C"} == refusal.result.unresolved


@pytest.mark.parametrize("settled", ["returned", "absent"])
def test_t07_a_row_for_a_key_that_was_settled_before_is_impossible(settled: str) -> None:
    first = said("A" if settled == "returned" else "", left="BC")
    refusal = refused([first, said("ABC")])
    expected = "RUU" if settled == "returned" else "NUU"
    assert expected == standings(refusal.result)


@pytest.mark.parametrize(
    "keyless", [{"n": {"N": "1"}}, {}, {"pk": {}}, {"pk": {"NULL": True}}, {"pk": {"S": 5}}], ids=str
)
def test_t08_a_row_without_its_key_is_impossible(keyless: dict[str, Any]) -> None:
    refusal = refused([said("A", left="BC"), batch_get_response([keyless], table=T)])
    assert "lacks a readable pk" in refusal.text
    assert "RUU" == standings(refusal.result)


def test_t08_a_row_without_its_sort_key_is_impossible() -> None:
    refusal = refused([batch_get_response([row("A")], table=T)], [("A", "1")], ("pk", "sk"))
    assert "pk or sk" in refusal.text


# ----------------------------------------------------------------------------------- T9 to T11: one key, many spellings


@pytest.mark.parametrize("spelling", ["1000", "1E3", "1e+3", "1000.0", "01000", "+1000", "0.1E4"])
def test_t09_a_number_row_in_another_spelling_answers_for_its_key(spelling: str) -> None:
    result = read_script([batch_get_response([{"pk": {"N": spelling}}], table=T)], [1000])
    assert {Decimal(1000)} == result.returned


@pytest.mark.parametrize("spelling", ["1000", "1E3", "1000.0"])
def test_t09_a_number_left_over_in_another_spelling_is_asked_for_again_in_our_own(spelling: str) -> None:
    steps = [batch_get_response(table=T, unprocessed=[{"pk": {"N": spelling}}]), batch_get_response(table=T)]
    with ScriptedClient(steps) as client:
        result = read(client, [1000, 5])
    assert [["1000", "5"], ["1000"]] == keys_of(client)
    assert {Decimal(1000), Decimal(5)} == result.processed_not_returned


@pytest.mark.parametrize(
    ("asked", "came"),
    [("1", {"N": "1"}), (1, {"S": "1"}), (b"1", {"S": "1"}), ("1", {"B": b"1"}), (1, {"B": b"1"}), (b"1", {"N": "1"})],
    ids=repr,
)
def test_t10_a_key_of_the_right_value_but_another_type_is_impossible(asked: object, came: dict[str, Any]) -> None:
    refusal = refused([batch_get_response([{"pk": came}], table=T)], [asked])
    assert 1 == len(refusal.result.unresolved)
    refusal = refused([batch_get_response(table=T, unprocessed=[{"pk": came}])], [asked])
    assert 1 == len(refusal.result.unresolved)


BINARY = [b"\x00\xff", bytearray(b"\x00\xff"), memoryview(b"\x00\xff"), Binary(b"\x00\xff"), {"pk": {"B": b"\x00\xff"}}]


@pytest.mark.parametrize("spelling", BINARY, ids=lambda value: type(value).__name__)
def test_t11_a_binary_key_in_any_python_type_is_one_key(spelling: object) -> None:
    with ScriptedClient([]) as client, pytest.raises(il.ManifestError) as caught:
        read(client, [b"other", b"\x00\xff", spelling])
    assert (1, 2) == caught.value.positions
    result = read_script([batch_get_response([{"pk": {"B": b"\x00\xff"}}], table=T)], [spelling])
    assert {b"\x00\xff"} == result.returned


@pytest.mark.parametrize("kind", [bytes, bytearray], ids=lambda kind: str(kind.__name__))
def test_t11_a_binary_key_in_any_type_of_the_answer_is_one_key(kind: Callable[[bytes], object]) -> None:
    result = read_script([batch_get_response([{"pk": {"B": kind(b"k")}}], table=T)], [b"k"])
    assert {b"k"} == result.returned


# ------------------------------------------------------------------------------------ T12, T13: leftovers as they come


def test_t12_leftovers_in_any_order_are_asked_for_again_and_nothing_else() -> None:
    with ScriptedClient([said("C", left="EBDA"), said("BAE", left="D"), said("D")]) as client:
        result = read(client, [*"ABCDE"])
    assert [["A", "B", "C", "D", "E"], ["A", "B", "D", "E"], ["D"]] == [
        sorted(map(str, keys)) for keys in keys_of(client)
    ]
    assert [*"ABCDE"] == [outcome.key for outcome in result.outcomes]
    assert result.complete


def test_t13_leftovers_with_the_projection_stripped_are_asked_for_as_before(
    stubbed: tuple[DynamoDBClient, Stubber],
) -> None:
    client, stubber = stubbed
    asked = {
        "ConsistentRead": True,
        "ProjectionExpression": "#n0,#n1",
        "ExpressionAttributeNames": {"#n0": "n", "#n1": "pk"},
    }
    seen: list[dict[str, Any]] = []
    client.meta.events.register("provide-client-params.dynamodb", lambda params, **_: seen.append(params))
    stripped = {T: {"Keys": rows("B")}}
    stubber.add_response(
        "batch_get_item", without("ResponseMetadata", batch_get_response(rows("A"), table=T, unprocessed=stripped))
    )
    stubber.add_response("batch_get_item", {"Responses": {T: [row("B", n={"N": "2"})]}, "UnprocessedKeys": {}})
    result = read(client, [*"AB"], projection=["n"], consistent_read=True)
    first, second = (request["RequestItems"][T] for request in seen)
    assert first["ConsistentRead"] is True
    assert set(asked) < set(first)
    assert {"Keys": rows("A") + rows("B"), **without("Keys", first)} == first
    assert {"Keys": rows("B"), **without("Keys", first)} == second
    assert {} == result.items_by_key["A"]  # the key was added for us only
    assert {"n": Decimal(2)} == result.items_by_key["B"]
    assert 1 == len({entry.request_hash for entry in result.ledger})
    (note,) = result.ledger[0].notes
    assert "ConsistentRead, ExpressionAttributeNames, ProjectionExpression" in note


# ------------------------------------------------------------------------------------------ T14, T15: more than asked


def test_t14_a_reply_larger_than_what_was_asked_is_impossible() -> None:
    refusal = refused([said("ABCDE")])
    assert {"A", "B", "C"} == refusal.result.unresolved
    refusal = refused([said("A", left="BCDE")])
    assert {"A", "B", "C"} == refusal.result.unresolved


@pytest.mark.parametrize(
    ("told", "units"),
    [
        ({}, None),
        ({"ConsumedCapacity": None}, None),
        ({"ConsumedCapacity": []}, None),
        ({"ConsumedCapacity": {"TableName": T, "CapacityUnits": 1.5}}, 1.5),
        ({"ConsumedCapacity": [{"TableName": T, "CapacityUnits": 1.5}]}, 1.5),
        ({"ConsumedCapacity": [{"TableName": ARN, "CapacityUnits": 1.5}]}, None),
        (
            {"ConsumedCapacity": [{"TableName": "Other", "CapacityUnits": 9.0}, {"TableName": T, "CapacityUnits": 1}]},
            1.0,
        ),
        ({"ConsumedCapacity": [{"TableName": T}]}, None),
        ({"ConsumedCapacity": "1.5"}, None),
    ],
    ids=str,
)
def test_t15_capacity_that_is_not_told_is_unknown_and_never_zero(told: dict[str, Any], units: float | None) -> None:
    result = read_script([{**said("ABC"), **told}])
    assert (units, units) == (result.ledger[0].consumed, result.totals.consumed)
    both = read_script([{**said("AB", left="C"), **told}, said("C")])
    assert (units, None) == (both.ledger[0].consumed, both.totals.consumed)


def test_t15_capacity_told_under_the_arn_counts_when_the_arn_was_sent() -> None:
    answer = {**said("A", table=ARN), "ConsumedCapacity": [{"TableName": ARN, "CapacityUnits": 0.5}]}
    with ScriptedClient([answer]) as client:
        result = il.read_batch(client, ARN, ["A"], "pk", concurrency=1)
    assert 0.5 == result.totals.consumed


# -------------------------------------------------------------------------------------- T16 to T19: time and bounds


def test_t16_the_answer_of_a_slow_call_counts_but_nothing_is_asked_after_the_deadline() -> None:
    clock = FakeClock()
    with ScriptedClient([Step(said("A", left="BC"), takes_s=5.0)], clock=clock) as client:
        result = read(client, [*"ABC"], clock=clock, sleep=clock.sleep, timeout_s=2.0)
    assert "RUU" == standings(result)
    assert il.StopReason.DEADLINE is result.stop_reason
    assert [] == clock.sleeps


def test_t16_a_call_that_hangs_past_the_deadline_is_abandoned_and_counted() -> None:
    release = threading.Event()

    def answer(call: Call) -> Mapping[str, Any]:
        if len(call.request["RequestItems"][T]["Keys"]) == 100:
            return said()
        release.wait(30)
        return said()

    result = il.read_batch(
        ScriptedClient(respond=answer), T, [f"k{i}" for i in range(101)], "pk", timeout_s=0.2, concurrency=2
    )
    release.set()
    assert (il.StopReason.DEADLINE, 1) == (result.stop_reason, result.abandoned_calls)
    assert {"k100"} == result.unresolved
    assert il.Decision.RETRY is result.decide()


def test_t17_cancelled_in_the_pause_raises_the_same_interrupt_with_what_was_settled() -> None:
    interrupt = KeyboardInterrupt("the caller's own")

    def sleep(_: float) -> None:
        raise interrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        read_script([said("A", left="B")], sleep=sleep)
    assert interrupt is caught.value
    result: il.ReadResult = vars(caught.value)["result"]
    assert "RUN" == standings(result)
    assert il.StopReason.INTERRUPTED is result.stop_reason
    assert il.Decision.HOLD is result.decide()


def test_t18_leftovers_that_never_shrink_end_at_the_bound_unresolved() -> None:
    result = read_script([said("", left="ABC")] * 3, max_passes=3)
    assert "UUU" == standings(result)
    assert (il.StopReason.PASSES_EXHAUSTED, 3) == (result.stop_reason, result.totals.application_passes)
    assert il.Decision.RETRY is result.decide()


@pytest.mark.parametrize(("max_passes", "calls"), [(100, 100), (8, 8)])
def test_t19_leftovers_that_shrink_by_one_a_pass_are_followed_as_far_as_the_bounds_allow(
    max_passes: int, calls: int
) -> None:
    def answer(call: Call) -> Mapping[str, Any]:
        first, *rest = call.request["RequestItems"][T]["Keys"]
        return batch_get_response([first], table=T, unprocessed=rest)

    client = ScriptedClient(respond=answer)
    result = read(client, [f"k{i:02}" for i in range(100)], max_passes=max_passes, timeout_s=3600)
    assert calls == len(client.calls)
    assert calls == len(result.returned)
    assert 100 - calls == len(result.unresolved)
    assert set() == result.processed_not_returned


# -------------------------------------------------------------------------------------------- T20 to T23: the request


def test_t20_a_duplicate_across_the_chunk_border_is_refused_before_any_call() -> None:
    with ScriptedClient([]) as client, pytest.raises(il.ManifestError) as caught:
        read(client, [*range(100), 7])
    assert (7, 100) == caught.value.positions


def test_t20_a_folded_duplicate_across_the_chunk_border_is_asked_once_and_told_twice() -> None:
    client = ScriptedClient(respond=lambda call: batch_get_response(table=T))
    result = read(client, [*range(100), 7], fold_duplicates=True)
    assert [100] == [len(keys) for keys in keys_of(client)]
    assert (101, 100) == (len(result.outcomes), len(result.requested_order))
    assert (7, 100) == (result.outcomes[100].duplicate_of, result.outcomes[100].position)


def test_t21_name_and_arn_of_one_table_are_one_table() -> None:
    described = describe_table_response(T, {"pk": "S"})
    reads = [il.TableRead(T, ["A"]), il.TableRead(ARN, ["A"])]
    with ScriptedClient([described, described]) as client, pytest.raises(il.ManifestError) as caught:
        il.read_tables(client, reads, concurrency=1)
    assert (0,) == caught.value.positions
    reads = [il.TableRead(T, ["A"]), il.TableRead(ARN, ["B"])]
    with ScriptedClient([described, described, said("A", left="B"), said("B")]) as client:
        first, second = il.read_tables(client, reads, concurrency=1, sleep=lambda _: None)
    assert [["A", "B"], ["B"]] == keys_of(client)
    assert ("R", "R") == (standings(first), standings(second))


def test_t21_name_and_arn_that_nobody_looked_up_are_refused_before_any_call() -> None:
    reads = [il.TableRead(T, ["A"], "pk"), il.TableRead(ARN, ["B"], "pk")]
    with ScriptedClient([]) as client, pytest.raises(il.ManifestError, match="may be one table"):
        il.read_tables(client, reads)


def test_t21_asked_by_arn_and_answered_by_name_is_the_same_table() -> None:
    with ScriptedClient([said("A", left="B"), said("B", table=ARN)]) as client:
        result = il.read_batch(client, ARN, ["A", "B", "C"], "pk", concurrency=1, sleep=lambda _: None)
    assert "RRN" == standings(result)


def test_t21_a_bare_name_that_two_arns_end_with_answers_for_neither() -> None:
    other = ARN.replace("000000000000", "111111111111")
    reads = [il.TableRead(ARN, ["A"], "pk"), il.TableRead(other, ["B"], "pk")]
    with ScriptedClient([said("AB")]) as client, pytest.raises(il.LedgerInvariantError, match="names table 'T'"):
        il.read_tables(client, reads, concurrency=1)


def test_t22_the_101st_key_goes_into_a_second_call() -> None:
    client = ScriptedClient(respond=lambda call: batch_get_response(table=T))
    result = read(client, [*range(101)])
    assert [100, 1] == [len(keys) for keys in keys_of(client)]
    assert 101 == len(result.processed_not_returned)


def test_t22_the_100_keys_of_a_call_are_counted_over_all_tables() -> None:
    def answer(call: Call) -> Mapping[str, Any]:
        return {"Responses": {table: [] for table in call.request["RequestItems"]}, "UnprocessedKeys": {}}

    client = ScriptedClient(respond=answer)
    reads = [il.TableRead(name, [*range(60)], "pk") for name in ("T1", "T2")]
    results = il.read_tables(client, reads, concurrency=1)
    sizes = [[len(entry["Keys"]) for entry in request["RequestItems"].values()] for request in client.requests]
    assert [[60, 40], [20]] == sizes
    assert [True, True] == [result.complete for result in results]


@pytest.mark.parametrize("projection", [["n"], ["pk"], ["pk", "n.m[0].o", "n.k"], ["size", "name", "a-b"]], ids=str)
def test_t23_no_name_alias_is_left_unused_on_any_pass(projection: list[str]) -> None:
    with ScriptedClient([said("A", left="B"), said("B")]) as client:
        read(client, [*"AB"], projection=projection)
    for request in client.requests:
        entry = request["RequestItems"][T]
        used = set(re.findall(r"#\w+", entry["ProjectionExpression"]))
        assert used == set(entry["ExpressionAttributeNames"])
        assert "pk" in entry["ExpressionAttributeNames"].values()


def test_t23_without_a_projection_no_alias_is_sent() -> None:
    with ScriptedClient([said("A")]) as client:
        read(client, ["A"])
    assert {"Keys"} == set(client.requests[0]["RequestItems"][T])


# ----------------------------------------------------------------------------------------------------------- T29, T30


def test_t29_a_token_that_expires_between_passes_loses_nothing_and_the_read_goes_on_later() -> None:
    result = read_script([said("A", left="B"), EXPIRED, EXPIRED])
    assert "RUN" == standings(result)
    assert il.StopReason.REQUEST_FAILED is result.stop_reason
    assert "ExpiredTokenException; request_id=SYNTHETIC-1" == str(result.terminal_error)
    assert il.Decision.HOLD is result.decide()
    with ScriptedClient([said("B")]) as client:
        resumed = il.resume(client, result.hold_record(), concurrency=1)
    assert [["B"]] == keys_of(client)
    assert "R" == standings(resumed)
    assert il.Decision.REJECT is resumed.decide()  # C is absent, and the chain knows it
    assert il.Decision.ACCEPT is resumed.decide(required=["A", "B"])


def test_t29_a_token_that_a_provider_renews_is_no_end() -> None:
    result = read_script([said("A", left="B"), EXPIRED, said("B")])
    assert "RRN" == standings(result)
    assert result.terminal_error is None


def test_t30_a_large_number_reads_back_exactly_as_key_and_as_value() -> None:
    digits = "1" + "0" * 41  # 1E41 as the service prints it; boto3's own deserializer raises Rounded on it
    found = {"pk": {"N": digits}, "long": {"N": "1." + "0" * 41}, "minus": {"N": f"-{digits}"}}
    with ScriptedClient([batch_get_response([found], table=T)]) as client:
        result = read(client, [Decimal("1E+41")])
    assert [[digits]] == keys_of(client)
    assert {Decimal("1E41")} == result.returned
    item = result.items_by_key[Decimal("1E41")]
    assert (Decimal(10) ** 41, Decimal(1), -(Decimal(10) ** 41)) == (item["pk"], item["long"], item["minus"])


def test_t30_a_value_longer_than_python_s_context_keeps_its_digits() -> None:
    digits = "12345678901234567890123456789012345678"
    result = read_script([batch_get_response([row("A", n={"N": digits})], table=T)], ["A"])
    assert digits == str(result.items_by_key["A"]["n"])
