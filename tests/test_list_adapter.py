"""The list for old callers (R15): complete and accepted, or a typed failure; never a short one. All is synthetic."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

import itemledger as il
from itemledger.testing import FakeClock, ScriptedClient, batch_get_response, error

TABLE, KEY = "Orders", {"pk": "S"}
Row = dict[str, Any]


def typed(pk: str) -> Row:
    return {"pk": {"S": pk}}


def row(pk: str, total: int) -> Row:
    return {"pk": {"S": pk}, "total": {"N": str(total)}}


def read(steps: Sequence[Any], keys: Sequence[str], **options: Any) -> il.ReadResult:
    clock = FakeClock()
    client = ScriptedClient(steps)
    settled: dict[str, Any] = {"concurrency": 1, "clock": clock, "sleep": clock.sleep, **options}
    return il.read_batch(client, TABLE, keys, KEY, **settled)


def answer(*rows: Row, left_over: Sequence[str] = ()) -> dict[str, Any]:
    return batch_get_response(rows, table=TABLE, unprocessed=[typed(pk) for pk in left_over])


def test_a_complete_and_accepted_read_is_a_plain_list_in_the_caller_s_order() -> None:
    result = read([answer(row("B", 2), row("C", 3), row("A", 1))], ["A", "B", "C"])

    items = result.items()

    assert type(items) is list
    assert [
        {"pk": "A", "total": Decimal(1)},
        {"pk": "B", "total": Decimal(2)},
        {"pk": "C", "total": Decimal(3)},
    ] == items


def test_the_list_is_the_caller_s_own_and_leaves_the_result_as_it_was() -> None:
    result = read([answer(row("A", 1))], ["A"])

    result.items().clear()

    assert 1 == len(result.items())


def test_unresolved_keys_never_make_a_shorter_list_whatever_the_policy() -> None:
    result = read([answer(row("A", 1), left_over=["B"])], ["A", "B"], max_passes=1)

    for policy in (il.ALL, il.NONE, ["A"], [], lambda _: True):
        with pytest.raises(il.IncompleteReadError) as caught:
            result.items(required=policy)
        assert il.Decision.RETRY is caught.value.decision
        assert result is caught.value.result


def test_the_failure_says_in_words_what_is_known_and_what_to_do_next() -> None:
    result = read([answer(row("A", 1), left_over=["B"]), error("AccessDeniedException")], ["A", "B", "Z"])

    with pytest.raises(
        il.IncompleteReadError,
        match=r"^hold: 1 returned, 1 processed but not returned, 1 unresolved of 3 keys; stopped by request_failed "
        r"\(AccessDeniedException; request_id=SYNTHETIC-1\); next: keep the hold record",
    ):
        result.items()


def test_an_absent_item_is_refused_unless_the_policy_allows_it() -> None:
    result = read([answer(row("A", 1))], ["A", "Z"])

    with pytest.raises(il.IncompleteReadError) as caught:
        result.items()

    assert il.Decision.REJECT is caught.value.decision
    assert [{"pk": "A", "total": Decimal(1)}] == result.items(required=["A"])
    assert [{"pk": "A", "total": Decimal(1)}] == result.items(required=il.NONE)


def test_an_own_function_decides_on_a_complete_read() -> None:
    result = read([answer(row("A", 1))], ["A", "Z"])

    assert 1 == len(result.items(required=lambda r: len(r.returned) >= 1))
    with pytest.raises(il.IncompleteReadError):
        result.items(required=lambda r: len(r.returned) >= 2)


def test_a_policy_that_names_a_key_nobody_asked_for_is_the_caller_s_mistake() -> None:
    result = read([answer(row("A", 1))], ["A"])

    with pytest.raises(il.ManifestError, match="required key at position 1 is not in the manifest") as caught:
        result.items(required=["A", "Q"])

    assert (1,) == caught.value.positions


def test_an_empty_manifest_is_an_empty_list() -> None:
    assert [] == read([], []).items()


def test_an_item_without_any_projected_attribute_still_stands_in_the_list() -> None:
    result = read([answer(row("A", 1), typed("B"))], ["A", "B"], projection=["total"])

    assert [{"total": Decimal(1)}, {}] == result.items()


def test_folded_duplicates_give_every_input_position_its_item() -> None:
    result = read([answer(row("A", 1), row("B", 2))], ["A", "B", "A"], fold_duplicates=True)

    assert ["A", "B", "A"] == [item["pk"] for item in result.items()]


def test_after_impossible_evidence_there_is_no_list_only_repair() -> None:
    with pytest.raises(il.LedgerInvariantError) as refused:
        read([answer(row("A", 1), row("X", 9))], ["A"])
    result = refused.value.result
    assert isinstance(result, il.ReadResult)

    with pytest.raises(il.IncompleteReadError) as caught:
        result.items(required=il.NONE)

    assert il.Decision.REPAIR is caught.value.decision


def test_a_streamed_read_s_summary_is_no_empty_list() -> None:
    client = ScriptedClient([answer(row("A", 1))])
    *_, summary = il.iter_read(client, TABLE, ["A"], KEY, concurrency=1)
    assert isinstance(summary, il.ReadResult)
    assert il.Decision.ACCEPT is summary.decide()

    with pytest.raises(il.IncompleteReadError, match="streamed read"):
        summary.items()


def test_a_resumed_read_s_list_does_not_pass_for_the_whole_chain() -> None:
    first = read([answer(row("A", 1), left_over=["B"])], ["A", "B"], max_passes=1)
    resumed = il.resume(ScriptedClient([answer(row("B", 2))]), first.hold_record(), concurrency=1)
    assert il.Decision.ACCEPT is resumed.decide(required=il.ALL)

    with pytest.raises(il.IncompleteReadError, match="earlier observation"):
        resumed.items()


def test_concurrent_calls_do_not_change_the_order_of_the_list() -> None:
    keys = [f"k{number:03}" for number in range(250)]
    all_called = threading.Barrier(3, timeout=30)

    def respond(call: Any) -> dict[str, Any]:
        asked = [key["pk"]["S"] for key in call.request["RequestItems"][TABLE]["Keys"]]
        all_called.wait()  # three chunks: none is answered before all have been sent
        return answer(*(row(pk, int(pk[1:])) for pk in reversed(asked)))

    result = il.read_batch(ScriptedClient(respond=respond), TABLE, keys, KEY, concurrency=3)

    assert keys == [item["pk"] for item in result.items()]
