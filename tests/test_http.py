"""Reads as HTTP answers (R16). All answers of the service are scripted, so the evidence is synthetic."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import itemledger as il
from itemledger.http import http_outcome
from itemledger.shadow import SwitchedOffError, switched_off
from itemledger.testing import FakeClock, ScriptedClient, batch_get_response, error

TABLE, KEY = "Orders", {"pk": "S"}
SECRET_KEY, SECRET_VALUE = "customer-4711", "4000123412341234"


def typed(pk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}}


def read(steps: Sequence[Any], keys: Sequence[str], **options: Any) -> il.ReadResult:
    clock = FakeClock()
    settled: dict[str, Any] = {"concurrency": 1, "clock": clock, "sleep": clock.sleep, **options}
    return il.read_batch(ScriptedClient(steps), TABLE, keys, KEY, **settled)


def accepted() -> il.ReadResult:
    row = {**typed(SECRET_KEY), "card": {"S": SECRET_VALUE}}
    return read([batch_get_response([row], table=TABLE)], [SECRET_KEY])


def rejected() -> il.ReadResult:
    return read([batch_get_response([], table=TABLE)], [SECRET_KEY])


def left_over(**options: Any) -> il.ReadResult:
    steps = [batch_get_response([], table=TABLE, unprocessed=[typed(SECRET_KEY)])]
    return read(steps, [SECRET_KEY], max_passes=1, **options)


def forbidden() -> il.ReadResult:
    refusal = error("AccessDeniedException", f"not authorized on key {SECRET_KEY} of {TABLE}")
    return read([refusal], [SECRET_KEY])


def impossible() -> il.LedgerInvariantError:
    row = {**typed("nobody-asked"), "card": {"S": SECRET_VALUE}}
    with pytest.raises(il.LedgerInvariantError) as caught:
        read([batch_get_response([row], table=TABLE)], [SECRET_KEY])
    return caught.value


@pytest.mark.parametrize(
    ("status", "decision", "make"),
    [
        (200, il.Decision.ACCEPT, accepted),
        (404, il.Decision.REJECT, rejected),
        (503, il.Decision.RETRY, left_over),
        (502, il.Decision.HOLD, forbidden),
        (502, il.Decision.REPAIR, impossible),
    ],
)
def test_each_decision_has_its_status(
    status: int, decision: il.Decision, make: Callable[[], il.ReadResult | il.LedgerInvariantError]
) -> None:
    outcome = http_outcome(make())

    assert (status, decision) == (outcome.status, outcome.decision)
    assert (status, decision.label) == (outcome.body["status"], outcome.body["decision"])


@pytest.mark.parametrize("make", [accepted, rejected, left_over, forbidden, impossible])
def test_the_body_is_json_and_names_no_key_item_table_or_error(
    make: Callable[[], il.ReadResult | il.LedgerInvariantError],
) -> None:
    outcome = http_outcome(make())

    text = json.dumps([outcome.body, outcome.reason, outcome.headers])

    for private in (SECRET_KEY, SECRET_VALUE, "nobody-asked", "card", TABLE, "AccessDenied", "SYNTHETIC-1"):
        assert private not in text


def test_the_body_counts_where_the_keys_stand_and_names_the_observation() -> None:
    steps = [batch_get_response([typed("A")], table=TABLE, unprocessed=[typed("B")])]
    result = read(steps, ["A", "B", "Z"], max_passes=1)

    body = http_outcome(result).body

    assert {"requested": 3, "returned": 1, "processed_not_returned": 1, "unresolved": 1} == body["counts"]
    assert [result.observation.id] == body["observation_ids"]


def test_only_a_retryable_answer_says_when_to_come_again() -> None:
    assert ("1", 1) == (http_outcome(left_over()).headers["Retry-After"], http_outcome(left_over()).retry_after_s)
    for final in (accepted(), rejected(), forbidden(), impossible()):
        assert "Retry-After" not in http_outcome(final).headers
        assert http_outcome(final).retry_after_s is None


@pytest.mark.parametrize(("backoff_cap_s", "told"), [(0.01, "1"), (1.0, "1"), (1.2, "2"), (30.0, "30")])
def test_retry_after_is_whole_seconds_that_outlast_the_read_s_own_longest_pause(
    backoff_cap_s: float, told: str
) -> None:
    assert told == http_outcome(left_over(backoff_cap_s=backoff_cap_s)).headers["Retry-After"]


def test_no_failure_may_be_kept_by_a_cache() -> None:
    assert {} == http_outcome(accepted()).headers
    for failure in (rejected(), left_over(), forbidden(), impossible()):
        assert "no-store" == http_outcome(failure).headers["Cache-Control"]


def test_the_policy_decides_between_found_and_not_found() -> None:
    result = rejected()

    assert 404 == http_outcome(result).status
    assert 200 == http_outcome(result, required=il.NONE).status


def test_the_list_adapter_s_error_keeps_the_decision_it_was_raised_with() -> None:
    for make, status in ((rejected, 404), (left_over, 503), (forbidden, 502)):
        with pytest.raises(il.IncompleteReadError) as caught:
            make().items()

        assert status == http_outcome(caught.value, required=il.NONE).status


def test_an_error_never_becomes_a_success() -> None:
    *_, summary = il.iter_read(ScriptedClient([batch_get_response([typed("A")], table=TABLE)]), TABLE, ["A"], KEY)
    assert isinstance(summary, il.ReadResult)
    with pytest.raises(il.IncompleteReadError) as caught:
        summary.items()  # complete and accepted, but its items were handed out before

    assert 502 == http_outcome(caught.value).status


def test_impossible_evidence_over_several_tables_counts_them_all() -> None:
    rows = {"Orders": [], "Customers": [typed("X")]}
    answer = {**batch_get_response([]), "Responses": rows}
    reads = [il.TableRead("Orders", ["A", "B"], KEY), il.TableRead("Customers", ["C"], KEY)]
    with pytest.raises(il.LedgerInvariantError) as caught:
        il.read_tables(ScriptedClient([answer]), reads, concurrency=1)

    outcome = http_outcome(caught.value)

    assert (502, 3, 3) == (outcome.status, outcome.body["counts"]["requested"], outcome.body["counts"]["unresolved"])


def test_impossible_evidence_without_a_result_is_still_repair() -> None:
    outcome = http_outcome(il.LedgerInvariantError("a scanned row lacks its key"))

    assert (502, il.Decision.REPAIR, []) == (outcome.status, outcome.decision, outcome.body["observation_ids"])


def test_a_shadow_read_that_is_switched_off_is_a_dependency_failure() -> None:
    with pytest.raises(SwitchedOffError) as caught:
        switched_off("off", 3).items()

    outcome = http_outcome(caught.value)

    assert (502, il.Decision.HOLD) == (outcome.status, outcome.decision)
