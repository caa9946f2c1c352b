"""What callers can get wrong before anything is sent, and what happens before the first call. Answers are synthetic."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import itemledger as il
from itemledger import aio
from itemledger.testing import (
    AsyncScriptedClient,
    FakeClock,
    ScriptedClient,
    batch_get_response,
    describe_table_response,
    error,
)

A = {"pk": {"S": "a"}}


def unused() -> ScriptedClient:
    """Any call at all would be an error of the script."""
    return ScriptedClient([])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_passes": "3"}, "max_passes must be a whole number; got a str"),
        ({"max_passes": True}, "max_passes must be a whole number; got a bool"),
        ({"max_passes": 1.5}, "max_passes must be a whole number; got a float"),
        ({"concurrency": 257}, "concurrency must be at most 256"),
        ({"max_passes": 10**7}, "max_passes must be at most 1,000,000"),
        ({"timeout_s": None}, "timeout_s must be a number; got a NoneType"),
        ({"timeout_s": float("nan")}, "timeout_s must be more than zero and finite"),
        ({"backoff_cap_s": -1}, "backoff_cap_s must be more than zero and finite"),
        ({"fold_duplicates": "no"}, "fold_duplicates must be True or False; got a str"),
        ({"consistent_read": "no"}, "consistent_read must be True or False; got a str"),
        ({"values": "raw"}, "values must be 'native' or 'typed'"),
        ({"projection": "id"}, "projection='id' is one text"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_by_name_before_any_call(options: Any, says: str) -> None:
    with pytest.raises(il.ManifestError, match=says):
        il.read_batch(unused(), "T", ["a"], "pk", **options)


def test_a_misspelt_option_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="unknown option 'timeout'; the options of a read are max_passes, timeout_s"):
        il.read_batch(unused(), "T", ["a"], "pk", timeout=5)  # type: ignore[call-arg]


@pytest.mark.parametrize("keys", [None, 5, "abc", b"xyz", {"pk": "a"}])
def test_what_is_no_list_of_keys_is_refused(keys: Any) -> None:
    with pytest.raises(il.ManifestError, match="give a list of keys"):
        il.read_batch(unused(), "T", keys, "pk")


@pytest.mark.parametrize("client", [None, object(), "dynamodb"])
def test_what_is_no_client_is_refused(client: Any) -> None:
    with pytest.raises(il.ManifestError, match=r'without batch_get_item; .* boto3.client\("dynamodb"\)'):
        il.read_batch(client, "T", ["a"], "pk")


def test_each_kind_of_client_is_sent_to_its_own_driver() -> None:
    result = il.read_batch(AsyncScriptedClient([batch_get_response([A], table="T")]), "T", ["a"], "pk")
    twin = asyncio.run(aio.read_batch(ScriptedClient([batch_get_response([A], table="T")]), "T", ["a"], "pk"))
    for ended, says in ((result, "use itemledger.aio"), (twin, "use itemledger.read_batch")):
        assert ended.terminal_error is not None
        assert says in ended.terminal_error.message
        assert {"a"} == ended.unresolved
        assert il.Decision.HOLD is ended.decide()


def test_an_empty_manifest_is_complete_without_a_call() -> None:
    assert il.read_batch(unused(), "T", []).complete


def test_refused_credentials_are_tried_once_more_for_describe_table_too() -> None:
    script: list[Any] = [error("ExpiredTokenException"), describe_table_response("T", {"pk": "S"})]
    result = il.read_batch(ScriptedClient([*script, batch_get_response([A], table="T")]), "T", ["a"])
    twin = asyncio.run(aio.read_batch(AsyncScriptedClient([*script, batch_get_response([A], table="T")]), "T", ["a"]))
    assert {"a"} == result.returned == twin.returned

    client = ScriptedClient([error("ExpiredTokenException"), error("ExpiredTokenException")])
    assert il.Decision.HOLD is il.read_batch(client, "T", ["a"]).decide()


@pytest.mark.parametrize("answer", [{"Table": "x"}, {"Table": {"KeySchema": [None]}}, {"Table": {}}, {}])
def test_a_description_that_makes_no_sense_is_a_result(answer: dict[str, Any]) -> None:
    result = il.read_batch(ScriptedClient([answer]), "T", ["a"])
    assert "UnusableDescription; request_id=none" == str(result.terminal_error)
    assert {"a"} == result.unresolved


def test_a_failed_description_is_not_hidden_by_keys_in_mixed_spellings() -> None:
    client = ScriptedClient([error("ThrottlingException")])
    result = il.read_batch(client, "T", ["a", {"id": "b"}])
    assert result.terminal_error is not None
    assert "ThrottlingException" == result.terminal_error.code


def test_a_read_that_met_impossible_evidence_is_not_continued() -> None:
    client = ScriptedClient([batch_get_response([A, A], table="T")])
    with pytest.raises(il.LedgerInvariantError) as caught:
        il.read_batch(client, "T", ["a"], "pk")
    assert isinstance(caught.value.result, il.ReadResult)
    with pytest.raises(il.HoldRecordError, match="impossible evidence"):
        il.resume(unused(), caught.value.result.hold_record())


def test_a_stream_hands_out_its_evidence_call_by_call() -> None:
    script = [
        batch_get_response([A], table="T", unprocessed=[{"pk": {"S": "b"}}]),
        batch_get_response([], table="T"),
    ]
    clock = FakeClock()
    seen: list[il.PassEvidence] = []
    *_, summary = il.iter_read(
        ScriptedClient(script), "T", ["a", "b"], "pk", on_evidence=seen.append, clock=clock, sleep=clock.sleep
    )
    assert [(1, ("a",)), (2, ())] == [(entry.call, entry.returned) for entry in seen]
    assert isinstance(summary, il.ReadResult)
    assert 2 == summary.totals.calls

    async def twin() -> list[int]:
        entries: list[il.PassEvidence] = []
        clock = FakeClock()
        async for _ in aio.iter_read(
            AsyncScriptedClient(script), "T", ["a", "b"], "pk", on_evidence=entries.append, clock=clock,
            sleep=clock.asleep,
        ):  # fmt: skip
            pass
        return [entry.call for entry in entries]

    assert [1, 2] == asyncio.run(twin())


def test_a_tables_request_ids_are_those_of_its_own_calls() -> None:
    def respond(call: Any) -> dict[str, Any]:
        asked = call.request["RequestItems"]
        answer = batch_get_response([], table=next(iter(asked)), request_id=f"r{len(client.requests)}")
        answer["Responses"] = {table: [] for table in asked}
        return answer

    client = ScriptedClient(respond=respond)
    reads = [il.TableRead("T", ["a"], "pk"), il.TableRead("U", [f"k{i}" for i in range(150)], "pk")]
    first, second = il.read_tables(client, reads, concurrency=1)
    assert (1, 2) == (len(first.request_ids), len(second.request_ids))
