"""The hold record: what it keeps, that it reads back as it was, and that damage is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

import itemledger as il
from itemledger import HoldRecord, HoldRecordError
from itemledger.testing import ScriptedClient, batch_get_response, describe_table_response, error


def through_text(record: HoldRecord, *, sort_keys: bool = False) -> Any:
    """As a file gives it back."""
    return json.loads(json.dumps(record.to_json(), sort_keys=sort_keys))


def held(keys: list[object], **options: Any) -> HoldRecord:
    """The record of a read that was throttled at its first call (DescribeTable, where ``key`` is left out)."""
    with ScriptedClient([error("ThrottlingException")]) as client:
        return il.read_batch(client, "T", keys, concurrency=1, **options).hold_record()


def test_a_table_that_could_not_be_described_is_resumed_with_the_keys_as_they_were_named() -> None:
    """The caller's mapping names the sort key first; taken for a tuple it would ask for another key."""
    record = through_text(held([{"sk": "s1", "pk": "p1"}]))
    steps = [describe_table_response("T", {"pk": "S", "sk": "S"}), batch_get_response(table="T")]
    with ScriptedClient(steps) as client:
        result = il.resume(client, record, concurrency=1)
    assert [{"pk": {"S": "p1"}, "sk": {"S": "s1"}}] == client.requests[1]["RequestItems"]["T"]["Keys"]
    assert {("p1", "s1")} == result.processed_not_returned


def test_which_key_attribute_comes_first_survives_a_tool_that_sorts_members() -> None:
    record = held([("u1", "d1")], key={"user": "S", "date": "S"})
    assert record == HoldRecord.from_json(through_text(record, sort_keys=True))


def test_a_projection_of_tuples_reads_back_without_a_file_in_between() -> None:
    record = held(["A"], key="pk", projection=["total", ("a.b", 2)])
    assert record == HoldRecord.from_json(record.to_json())


def test_a_chain_of_observations_leads_back_to_the_first() -> None:
    first = HoldRecord.from_json(through_text(held(["A"], key="pk")))
    ids = [first.observation.id]
    record = first
    for number in (2, 3):
        with ScriptedClient([error("ThrottlingException")]) as client:
            result = il.resume(client, record, concurrency=1)
        assert (number, ids[-1], ids[0]) == (
            result.observation.number,
            result.observation.parent_id,
            result.observation.first_id,
        )
        ids.append(result.observation.id)
        record = HoldRecord.from_json(through_text(result.hold_record()))
    assert 3 == len(set(ids))


def test_the_message_of_an_error_stays_out_of_the_record() -> None:
    with ScriptedClient([error("ValidationException", "names a secret of the request")]) as client:
        record = il.read_batch(client, "T", ["A"], "pk", concurrency=1).hold_record()
    assert {"code": "ValidationException", "request_id": "SYNTHETIC-1", "transient": False} == record.terminal_error
    assert "secret" not in json.dumps(record.to_json())


def test_a_position_with_two_dispositions_or_none_is_damage() -> None:
    record = through_text(held(["A", "B"], key="pk"))
    for positions in ({"unresolved": [[0, 1]], "returned": [1]}, {"unresolved": [0]}, {"unresolved": [0, 1, 2]}):
        with pytest.raises(HoldRecordError, match="the hold record is damaged"):
            HoldRecord.from_json({**record, **positions})


def test_what_was_settled_is_kept_by_hash_and_never_asked_again() -> None:
    steps = [batch_get_response([{"pk": {"S": "A"}}], table="T", unprocessed=[{"pk": {"S": "B"}}])]
    with ScriptedClient(steps) as client:
        record = il.read_batch(client, "T", ["A", "B", "C"], "pk", concurrency=1, max_passes=1).hold_record()
    assert ([0], ("B",)) == ([*record.item_hashes], record.unresolved)
    with ScriptedClient([batch_get_response([{"pk": {"S": "B"}}], table="T")]) as client:
        result = il.resume(client, through_text(record), concurrency=1)
    assert [{"pk": {"S": "B"}}] == client.requests[0]["RequestItems"]["T"]["Keys"]
    assert ("B",) == result.requested_order
    assert {"A"} == result.earlier.returned
    assert {"C"} == result.earlier.processed_not_returned
