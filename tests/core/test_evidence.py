"""The evidence file as it is written: its lines, their chain, and what is never in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

import itemledger as il
from itemledger.core.answer import FailureCause
from itemledger.core.evidence import EvidenceLog, call_event, run_event
from itemledger.core.result import ReadResult, StopReason
from itemledger.evidence import verify
from itemledger.testing import ScriptedClient, batch_get_response, describe_table_response, error
from tests.conftest import MakeTable
from tests.core.evidence_files import ENVIRONMENT, HASHED, PLAIN, file_of, full_answer, parsed, stepped
from tests.core.support import answer, calls, failure, read_of, result_of, settings
from tests.engines.launch import Engine

KEY = {"pk": "S"}


def row(key: str) -> dict[str, Any]:
    return {"pk": {"S": key}, "secret": {"S": "the payload"}}


def scripted(*steps: Any, keys: Any = "ABC", **options: Any) -> ReadResult:
    """A real read through the blocking driver; the script stands in for the service."""
    with ScriptedClient(list(steps)) as client:
        return il.read_batch(
            client, "KnownAnswer", list(keys), options.pop("key", KEY), sleep=lambda _: None, **options
        )


def of_kind(lines: list[bytes], kind: str) -> list[dict[str, Any]]:
    return [line for line in parsed(lines) if line["kind"] == kind]


def test_a_file_is_header_manifest_calls_summary_trailer() -> None:
    result = scripted(batch_get_response([row("A")], unprocessed=[{"pk": {"S": "B"}}]), batch_get_response([row("B")]))
    kinds = [line["kind"] for line in parsed(file_of(result))]
    assert ["header", "manifest", "call", "call", "summary", "trailer"] == kinds


def test_each_line_carries_the_hash_of_the_line_before_it() -> None:
    lines = file_of(scripted(batch_get_response([row("A")])))
    hashes = ["", *(hashlib.sha256(line).hexdigest() for line in lines[:-1])]
    assert hashes == [line["prev"] for line in parsed(lines)]


def test_the_trailer_counts_the_lines_and_hashes_all_before_it() -> None:
    lines = file_of(scripted(batch_get_response([row("A")])))
    trailer = parsed(lines)[-1]
    assert (len(lines), hashlib.sha256(b"".join(lines[:-1])).hexdigest()) == (trailer["lines"], trailer["sha256"])


def test_the_log_knows_the_hash_of_the_whole_file_for_keeping_elsewhere() -> None:
    result = scripted(batch_get_response([row("A")]))
    log = EvidenceLog(HASHED)
    header = log.header(
        observation=result.observation,
        settings=result.settings,
        bounds=result.bounds,
        manifest_size=3,
        environment=ENVIRONMENT,
        policy="all",
    )
    lines = [header, *log.manifest(result.requested_order), *map(log.call, result.ledger)]
    lines += [log.summary(result, result.decide()), log.trailer()]
    assert hashlib.sha256(b"".join(lines)).hexdigest() == log.sha256
    assert log.sha256 == verify(lines).sha256


def test_every_line_is_ascii_and_has_one_spelling() -> None:
    for line in file_of(scripted(batch_get_response([]), keys=["ä", "\u2028"]), tokeniser=PLAIN):
        assert line.isascii()
        assert line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_neither_payload_nor_key_nor_error_message_is_in_a_file_with_tokens() -> None:
    keys = ["customer-4711", "customer-4712"]
    result = scripted(
        batch_get_response([row(keys[0])], unprocessed=[{"pk": {"S": keys[1]}}]),
        error("ThrottlingException", message="customer-4712 was throttled"),
        keys=keys,
    )
    text = b"".join(file_of(result))
    assert not [word for word in (b"customer", b"4712", b"secret", b"the payload") if word in text]
    assert b"ThrottlingException" in text


def test_plain_keys_are_there_only_when_asked_for() -> None:
    result = scripted(batch_get_response([]), keys=[("a", Decimal(1)), ("b", Decimal("2.50"))], key=("pk", "sk"))
    assert [['[{"S":"a"},{"N":"1"}]', '[{"S":"b"},{"N":"2.5"}]']] == [
        line["tokens"] for line in of_kind(file_of(result, tokeniser=PLAIN), "manifest")
    ]


def test_a_manifest_line_has_at_most_a_thousand_tokens_and_says_where_it_starts() -> None:
    read = read_of((settings(), [f"k{i}" for i in range(2001)]))
    read.stop(StopReason.INTERRUPTED)
    manifest = of_kind(file_of(result_of(read)), "manifest")
    assert [(0, 1000), (1000, 1000), (2000, 1)] == [(line["from"], len(line["tokens"])) for line in manifest]


def test_a_call_names_its_keys_by_position_in_request_order() -> None:
    """Leftovers go first in the next request, so its order is not that of the manifest."""
    read = read_of((settings(), "ABCDEF"), call_items=4, concurrency=1)
    (first,) = calls(read.due(0.0))
    read.answered(first, full_answer(first, left="CD"), 1.0)
    (second,) = calls(read.due(1.0))
    read.answered(second, answer(second, absent="C"), 2.0)
    (third,) = calls(read.due(2.0))
    read.answered(third, answer(third), 3.0)
    lines = of_kind(file_of(result_of(read)), "call")
    assert [[[0, 3]], [[2, 3]], [[4, 5]]] == [line["requested"]["positions"] for line in lines]
    assert [([[0, 1]], [[2, 3]]), ([3], []), ([[4, 5]], [])] == [
        (line["returned"]["positions"], line["unprocessed"]["positions"]) for line in lines
    ]
    assert [2] == lines[1]["processed_not_returned"]["positions"]


def test_a_failed_call_tells_code_and_request_id_and_nothing_of_its_keys() -> None:
    lines = file_of(result_of(stepped(lambda _: failure(FailureCause.TRANSIENT, "InternalServerError"))))
    (call,) = of_kind(lines, "call")
    assert {"code": "InternalServerError", "request_id": "r-failed", "transient": True} == call["error"]
    assert [0, 0, 0] == [call[name]["count"] for name in ("returned", "processed_not_returned", "unprocessed")]
    assert call["error"] == of_kind(lines, "summary")[0]["terminal_error"]


def test_a_refused_answer_is_on_record_as_a_broken_invariant() -> None:
    with pytest.raises(il.LedgerInvariantError) as caught:
        scripted(batch_get_response([row("A"), row("A")]))
    result = caught.value.result
    assert isinstance(result, ReadResult)
    lines = file_of(result, decision=caught.value.decision)
    (call,) = of_kind(lines, "call")
    assert (True, "LedgerInvariantError") == (call["invariant_broken"], call["error"]["code"])
    assert il.Decision.REPAIR is verify(lines).decision


def test_the_partition_key_comes_first_although_members_are_sorted() -> None:
    result = scripted(batch_get_response([]), keys=[("a", "b")], key={"zone": "S", "id": "S"})
    (header,) = of_kind(file_of(result), "header")
    assert [{"name": "zone", "type": "S"}, {"name": "id", "type": "S"}] == header["key"]


def test_the_header_tells_what_was_asked_and_within_which_bounds() -> None:
    result = scripted(
        batch_get_response([]),
        consistent_read=True,
        projection=["total", ("a.b", 2)],
        max_passes=3,
        timeout_s=2.5,
    )
    (header,) = of_kind(file_of(result, policy="none"), "header")
    expected = {
        "table": "KnownAnswer",
        "consistent_read": True,
        "projection": ["total", ["a.b", 2]],
        "unprocessed_keys_optional": False,
        "bounds": {
            "max_passes": 3,
            "timeout_s": 2.5,
            "concurrency": 4,
            "backoff_base_s": 0.05,
            "backoff_cap_s": 1.0,
        },
        "manifest_size": 3,
        "tables": 1,
        "tokens": {"algorithm": "hmac-sha256-128", "key_id": HASHED.key_id},
        "environment": ENVIRONMENT,
        "policy": "none",
    }
    assert expected == {name: header[name] for name in expected}


def test_a_file_whose_read_was_projected_verifies_against_its_header() -> None:
    result = scripted(batch_get_response([]), projection=["total", ("a.b", 2)])
    assert 3 == verify(file_of(result, policy="none")).processed_not_returned


def test_the_summary_names_the_last_hundred_request_ids_and_how_many_are_left_out() -> None:
    read = read_of((settings(), [f"k{i}" for i in range(103)]), call_items=1, concurrency=1)
    for _ in range(103):
        (call,) = calls(read.due(0.0))
        read.answered(call, answer(call), 0.0)
    lines = file_of(result_of(read))
    (summary,) = of_kind(lines, "summary")
    assert (["r-4", "r-103"], 100, 3) == (
        [summary["request_ids"][0], summary["request_ids"][-1]],
        len(summary["request_ids"]),
        summary["request_ids_left_out"],
    )
    verify(lines)


def test_the_events_for_a_log_are_the_lines_without_the_chain() -> None:
    result = scripted(batch_get_response([row("A")]))
    lines = parsed(file_of(result))
    unchained = [{name: value for name, value in line.items() if name != "prev"} for line in lines]
    assert unchained[2] == call_event(result.ledger[0], HASHED)
    assert unchained[3] == run_event(result, result.decide(), HASHED, policy="all")


def test_the_events_for_a_log_hold_only_what_any_serialiser_takes() -> None:
    """No enum among them, although one would print alike: JSON's own types alone."""
    left = batch_get_response([row("A")], unprocessed=[{"pk": {"S": "B"}}])
    result = scripted(left, error("ThrottlingException"))
    events = [call_event(entry, HASHED) for entry in result.ledger]
    events.append(run_event(result, result.decide(), HASHED, policy="all"))
    assert {dict, list, str, int, float, bool, type(None)} >= set(map(type, _inside(events)))


def test_folded_duplicates_are_counted_and_verified_once() -> None:
    result = scripted(batch_get_response([row("A")]), keys="ABAA", fold_duplicates=True)
    verified = verify(file_of(result))
    assert (2, 2) == (verified.keys, verified.duplicates_folded)


def test_an_empty_manifest_makes_a_file_that_verifies() -> None:
    verified = verify(file_of(scripted(keys=[])))
    assert (0, 0, il.Decision.ACCEPT) == (verified.keys, verified.calls, verified.decision)


def test_a_table_that_could_not_be_described_makes_a_file_that_verifies() -> None:
    result = scripted(error("AccessDeniedException"), key=None)
    verified = verify(file_of(result))
    assert (3, 0, il.Decision.HOLD) == (verified.unresolved, verified.calls, verified.decision)


def test_a_resumption_asks_for_exactly_the_set_that_the_first_left_unresolved() -> None:
    """The two files name the same set by the same hash, although they have two headers and two chains."""
    first = scripted(
        describe_table_response("KnownAnswer", KEY),
        batch_get_response([row("A")], unprocessed=[{"pk": {"S": "B"}}, {"pk": {"S": "C"}}]),
        key=None,
        max_passes=1,
    )
    with ScriptedClient([batch_get_response([row("B")])]) as client:
        second = il.resume(client, first.hold_record(), sleep=lambda _: None)
    before, after = file_of(first), file_of(second, policy="none")
    assert of_kind(before, "summary")[0]["unresolved"]["sha256"] == of_kind(after, "summary")[0]["manifest"]["sha256"]
    verified = verify(after)
    assert (2, first.observation.id, first.observation.id) == (
        verified.observation_number,
        verified.parent_id,
        verified.first_id,
    )
    assert {"returned": 1, "processed_not_returned": 0} == of_kind(after, "summary")[0]["earlier"]


def test_one_of_several_tables_makes_a_file_of_its_own() -> None:
    """Calls are shared: their numbers have gaps in one table's file, and a pass may be that of another table's key."""
    keys = [[f"k{i}" for i in range(150)], [f"k{i}" for i in range(60)]]
    with ScriptedClient(respond=lambda call: _empty(call.request)) as client:
        results = il.read_tables(
            client, [il.TableRead(f"T{i}", keys[i], KEY) for i in (0, 1)], sleep=lambda _: None, concurrency=1
        )
    for result in results:
        verified = verify(file_of(result, policy="none", tables=2))
        assert (len(result.requested_order), 2) == (verified.processed_not_returned, verified.tables)


def test_a_shared_call_that_left_over_only_keys_of_the_other_table_is_true() -> None:
    def leave_over_second(request: dict[str, Any]) -> dict[str, Any]:
        told = _empty(request)
        if len(request["RequestItems"]) == 2:
            told["UnprocessedKeys"] = {"T1": {"Keys": request["RequestItems"]["T1"]["Keys"]}}
        return told

    with ScriptedClient(respond=lambda call: leave_over_second(call.request)) as client:
        first, second = il.read_tables(
            client, [il.TableRead(f"T{i}", ["A", "B"], KEY) for i in (0, 1)], sleep=lambda _: None, concurrency=1
        )
    assert ("unknown", 0) == (first.ledger[0].leftover_cause, len(first.ledger[0].unprocessed))
    assert (1, 2) == (
        verify(file_of(first, policy="none", tables=2)).calls,
        verify(file_of(second, policy="none", tables=2)).calls,
    )


def test_shared_calls_that_fail_late_in_the_numbering_are_true() -> None:
    """In the second table's file the first call on record is the fourth: its number says nothing of those before."""
    read = read_of((settings("T0"), "ABC"), (settings("T1"), "ABCD"), call_items=1, concurrency=2)
    in_flight = calls(read.due(0.0))
    for _ in range(3):
        call = in_flight.pop(0)
        read.answered(call, answer(call), 0.0)
        in_flight += calls(read.due(0.0))
    for call in in_flight:
        read.answered(call, failure(), 1.0)
    _, second = read.results()
    assert [4, 5] == [entry.call for entry in second.ledger]
    assert 2 == verify(file_of(second, tables=2)).calls


def test_a_call_that_brought_nothing_back_has_neither_request_id_nor_label() -> None:
    lines = file_of(scripted(EndpointConnectionError(endpoint_url="http://scripted.invalid")))
    (call,) = of_kind(lines, "call")
    assert (None, None, None) == (call["error"]["request_id"], call["request_id"], call["label"])
    assert verify(lines).label is None


def test_a_read_of_a_real_engine_leaves_a_file_that_verifies(moto: Engine, make_table: MakeTable) -> None:
    client = moto.client()
    table = make_table(client)
    for i in range(0, 230, 2):
        client.put_item(TableName=table, Item={"pk": {"S": f"k{i}"}})
    result = il.read_batch(client, table, [f"k{i}" for i in range(230)], consistent_read=True)
    verified = verify(file_of(result))
    assert (115, 115, 0, 3) == (
        verified.returned,
        verified.processed_not_returned,
        verified.unresolved,
        verified.calls,
    )
    assert (il.EvidenceLabel.SYNTHETIC, il.Decision.REJECT) == (verified.label, verified.decision)


def _empty(request: dict[str, Any]) -> dict[str, Any]:
    return {"Responses": {table: [] for table in request["RequestItems"]}, "UnprocessedKeys": {}}


def _inside(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, dict):
        for member in value.values():
            yield from _inside(member)
    elif isinstance(value, list):
        for member in value:
            yield from _inside(member)
