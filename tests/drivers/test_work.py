"""Both drivers at a ledger's work: the scenario table, then what a table cannot say."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

import itemledger as il
from itemledger import Decision, WorkStop
from itemledger.apis.dynamodb_statements import BatchExecuteStatement
from itemledger.apis.sqs import SendMessageBatch
from itemledger.core.write_api import Entry
from itemledger.ledger import Alert, Ledger, OnUnknown, Outcome, Policy, Review, Row, Source, Verdict, open_ledger
from itemledger.payloads import Payloads
from itemledger.testing import AsyncScriptedClient, Call, FakeClock, ScriptedClient, Step
from tests.drivers.both import DRIVERS, Driver, every_thread_ends
from tests.drivers.scenarios import highest
from tests.drivers.work_scenarios import (
    OPERATION,
    PUTS,
    RUNS,
    Scenario,
    asked,
    attempts,
    carry_out,
    failed,
    got,
    item,
    planned,
    put,
    standing,
    story,
    value,
)

pytestmark = pytest.mark.parametrize("driver", DRIVERS, ids=str)
concurrencies = pytest.mark.parametrize("concurrency", [1, 4])

NAMES = [f"k{n:02}" for n in range(60)]
TIMEOUT = ReadTimeoutError(endpoint_url="http://127.0.0.1")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with every_thread_ends():
        yield


def work(driver: Driver, client: Any, ledger: Ledger, clock: FakeClock, **options: Any) -> il.WorkResult:
    """A run under the test's clock, with pauses at the top of their range."""
    options = {"clock": clock, "sleep": driver.pause(clock), "jitter": highest, **options}
    return driver.run(driver.work(client, ledger, OPERATION, **options))


def calls_of(client: ScriptedClient | AsyncScriptedClient) -> list[str]:
    return [asked(call) for call in client.calls]


@pytest.mark.parametrize(("scenario", "concurrency"), RUNS, ids=str)
def test_a_run_ends_as_the_table_says(driver: Driver, scenario: Scenario, concurrency: int) -> None:
    end, stories = driver.run(carry_out(driver, scenario, concurrency))
    assert scenario.end == end
    assert scenario.stories == stories


# --------------------------------------------------------------------------------------------------------- field cases


def test_fc_20_of_25_puts_5_come_back_unprocessed_exactly_20_are_reported_as_written(driver: Driver) -> None:
    clock = FakeClock()
    ledger = planned(NAMES[:25], Policy(), clock)
    late = Step(put(left=NAMES[20:25]), takes_s=10.0)  # the run's time is over with this answer

    first = work(driver, driver.client([late], clock=clock), ledger, clock, timeout_s=10.0)

    assert "S" * 20 + "R" * 5 == standing(ledger)
    assert (WorkStop.DEADLINE, Decision.RETRY, False) == (first.stop, first.decision, first.complete)
    assert {Outcome.SUCCEEDED: 20, Outcome.RETRYABLE: 5} == {o: n for o, n in first.counts.items() if n}
    client = driver.client([put()], clock=clock)
    second = work(driver, client, ledger, clock)
    assert ["put " + "".join(NAMES[20:25])] == calls_of(client)
    assert (Decision.ACCEPT, 25) == (second.decision, second.counts[Outcome.SUCCEEDED])


def test_fc_21_a_second_call_that_fails_after_sending_leaves_25_done_25_in_doubt_and_10_not_sent(
    driver: Driver,
) -> None:
    clock = FakeClock()
    ledger = planned(NAMES, Policy(), clock)
    client = driver.client([put(), Step(TIMEOUT, takes_s=10.0)], clock=clock)

    result = work(driver, client, ledger, clock, timeout_s=10.0, concurrency=1)

    assert "S" * 25 + "Q" * 25 + "P" * 10 == standing(ledger)
    assert (25, 25, 10) == tuple(
        result.counts[outcome] for outcome in (Outcome.SUCCEEDED, Outcome.RECONCILE, Outcome.PENDING)
    )
    assert NAMES[25:50] == [json.loads(row.item_id)["S"] for row in ledger.rows(OPERATION, outcome=Outcome.RECONCILE)]
    assert [0] * 10 == [row.dispatches for row in ledger.rows(OPERATION, outcome=Outcome.PENDING)]
    assert (WorkStop.DEADLINE, Decision.RETRY, 2, 0) == (
        result.stop,
        result.decision,
        result.calls,
        result.abandoned_calls,
    )


@concurrencies
def test_fc_22_an_item_over_its_limit_is_refused_here_with_its_size_and_its_neighbours_go(
    driver: Driver, concurrency: int
) -> None:
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    room = 409_600 - len("pk") - 1 - len("v")
    items = [{"pk": "A", "v": "x" * room}, {"pk": "B", "v": "x" * (room + 1)}, {"pk": "C", "v": "x"}]
    told = ledger.plan(OPERATION, PUTS, items, store_payloads=True)
    client = driver.client([put()], clock=clock)

    result = work(driver, client, ledger, clock, concurrency=concurrency)

    assert (3, 1) == (told.new, told.over_limit)
    assert ["put AC"] == calls_of(client)
    assert ("STS", Decision.REJECT) == (standing(ledger), result.decision)
    refused = ledger.row(2)
    assert (409_601, "OverLimit", Review.REFUSED) == (refused.size_bytes, refused.error_code, refused.review)
    assert "409,601" in (refused.error_message or "")


@concurrencies
def test_fc_49_an_answer_later_than_the_client_waits_means_one_send_and_rows_in_reconcile(
    driver: Driver, concurrency: int
) -> None:
    clock = FakeClock()
    ledger = planned("ABC", Policy(), clock)
    client = driver.client([Step(TIMEOUT, takes_s=3.0)], clock=clock)

    result = work(driver, client, ledger, clock, timeout_s=3.0, concurrency=concurrency)

    assert ["put ABC"] == calls_of(client)
    assert ("QQQ", Decision.RETRY) == (standing(ledger), result.decision)
    assert ["dispatched", "lost"] == story(ledger, "A")


def test_fc_50_already_there_after_a_send_without_an_answer_is_no_failure(driver: Driver) -> None:
    """Synthetic: the first INSERT had its effect, so the second is told of a duplicate."""
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    policy = Policy(on_unknown=OnUnknown.AT_LEAST_ONCE, max_attempts=2)
    statements = [{"Statement": "INSERT INTO \"T\" VALUE {'pk': 'A'}", "Id": "A"}]
    ledger.plan(OPERATION, BatchExecuteStatement(), statements, policy=policy, store_payloads=True)
    duplicate = {"Code": "DuplicateItem", "Message": "there already"}
    client = driver.client([TIMEOUT, {"Responses": [{"Error": duplicate}]}], clock=clock)

    result = work(driver, client, ledger, clock)

    row = ledger.row(1)
    assert (Outcome.RECONCILE, Review.EXHAUSTED, "DuplicateItem") == (row.outcome, row.review, row.error_code)
    assert (Decision.HOLD, 1, 0) == (result.decision, result.waiting, result.counts[Outcome.TERMINAL])
    assert 2 == len(client.calls)


def test_already_there_without_an_earlier_send_is_a_refusal(driver: Driver) -> None:
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    statements = [{"Statement": "INSERT INTO \"T\" VALUE {'pk': 'A'}", "Id": "A"}]
    ledger.plan(OPERATION, BatchExecuteStatement(), statements, store_payloads=True)
    duplicate = {"Responses": [{"Error": {"Code": "DuplicateItem"}}], "ResponseMetadata": {"RetryAttempts": 0}}

    result = work(driver, driver.client([duplicate], clock=clock), ledger, clock)

    assert (Outcome.TERMINAL, Decision.REJECT) == (ledger.row(1).outcome, result.decision)


# -------------------------------------------------------------------------------------------------------------- pauses


@concurrencies
def test_the_pauses_after_throttled_calls_grow(driver: Driver, concurrency: int) -> None:
    clock = FakeClock()
    at: list[float] = []

    async def respond(call: Call) -> Any:
        at.append(clock())
        if len(at) <= 5:
            raise failed("ThrottlingException")
        return put()

    ledger = planned("ABC", Policy(throttle_base_s=1.0, backoff_cap_s=60.0), clock)
    client = driver.client(respond=respond, clock=clock)
    work(driver, client, ledger, clock, concurrency=concurrency)

    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert [True] * 5 == [gap >= least for gap, least in zip(gaps, [1, 2, 4, 8, 16], strict=True)]
    assert gaps == sorted(gaps)
    assert ("SSS", "111") == (standing(ledger), attempts(ledger))


def test_nothing_is_looked_up_before_it_has_settled(driver: Driver) -> None:
    clock = FakeClock()
    at: list[float] = []

    async def respond(call: Call) -> Any:
        at.append(clock())
        if call.operation == "batch_get_item":
            return got("ABC")
        raise TIMEOUT

    ledger = planned("ABC", Policy(settle_s=30.0), clock)
    work(driver, driver.client(respond=respond, clock=clock), ledger, clock, jitter=lambda low, high: low)

    assert [0.0, 30.0] == pytest.approx(at)


# --------------------------------------------------------------------------------------------- a cause that goes away


@concurrencies
@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException", "ExpiredTokenException"])
def test_after_the_cause_is_gone_the_next_run_completes(driver: Driver, code: str, concurrency: int) -> None:
    clock = FakeClock()
    ledger = planned(NAMES, Policy(max_attempts=1), clock)
    broken = True

    async def respond(call: Call) -> Any:
        if broken:
            raise failed(code)
        return put()

    client = driver.client(respond=respond, clock=clock)
    first = work(driver, client, ledger, clock, concurrency=concurrency)
    broken = False
    second = work(driver, client, ledger, clock, concurrency=concurrency)

    assert (WorkStop.BLOCKED, Decision.HOLD, 0) == (first.stop, first.decision, first.counts[Outcome.TERMINAL])
    assert first.terminal_error is not None
    assert (code, False) == (first.terminal_error.code, first.terminal_error.transient)
    assert (WorkStop.DONE, Decision.ACCEPT, None) == (second.stop, second.decision, second.terminal_error)
    assert ("S" * 60, "1" * 60) == (standing(ledger), attempts(ledger))


# ------------------------------------------------------------------------------------------------------------ payloads


def file_of(path: Path, letters: str) -> list[tuple[object, Source]]:
    """Writes the items to a file, a line each, and says where each stands."""
    lines = [json.dumps(value(letter)).encode() + b"\n" for letter in letters]
    path.write_bytes(b"".join(lines))
    offsets = [sum(map(len, lines[:n])) for n in range(len(lines))]
    return [
        (value(letter), Source(str(path), offset, len(line)))
        for letter, offset, line in zip(letters, offsets, lines, strict=True)
    ]


#: What happens to the file, and the items that are no longer what was planned.
CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another payload": (lambda path: path.write_bytes(path.read_bytes().replace(b"66", b"99")), "B"),
    "another item": (lambda path: path.write_bytes(path.read_bytes().replace(b'"B"', b'"X"')), "B"),
    "not even an item": (lambda path: path.write_bytes(path.read_bytes().replace(b'"pk": "B"', b'"other": 1')), "B"),
    "no JSON": (lambda path: path.write_bytes(path.read_bytes().replace(b"{", b"[")), "ABC"),
    "no text": (lambda path: path.write_bytes(path.read_bytes().replace(b'"C"', b'"\xff"')), "C"),
    "shorter": (lambda path: path.write_bytes(path.read_bytes()[:30]), "BC"),
    "empty": (lambda path: path.write_bytes(b""), "ABC"),
}


@pytest.mark.parametrize("change", CHANGES)
@concurrencies
def test_an_item_that_is_no_longer_what_was_planned_is_set_aside_and_its_neighbours_go_on(
    driver: Driver, tmp_path: Path, change: str, concurrency: int
) -> None:
    clock, path = FakeClock(), tmp_path / "orders.jsonl"
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan_sourced(OPERATION, PUTS, file_of(path, "ABC"))
    spoil, spoilt = CHANGES[change]
    spoil(path)
    others = "".join(letter for letter in "ABC" if letter not in spoilt)
    client = driver.client([put()] if others else [], clock=clock)
    alerts: list[Alert] = []

    result = work(driver, client, ledger, clock, concurrency=concurrency, on_alert=alerts.append)

    assert [f"put {others}"] * bool(others) == calls_of(client)
    assert (WorkStop.DONE, Decision.HOLD, len(spoilt)) == (result.stop, result.decision, result.waiting)
    numbers = ["ABC".index(letter) + 1 for letter in spoilt]
    aside = [row for row in ledger.rows(OPERATION) if row.number in numbers]
    assert {(Outcome.PENDING, Review.SOURCE_CHANGED)} == {(row.outcome, row.review) for row in aside}
    assert {(None, None, 0, 0)} == {(row.due_at, row.epoch, row.attempts, row.dispatches) for row in aside}
    assert [("source_changed", number) for number in numbers] == [(alert.reason, alert.row) for alert in alerts]

    ledger.plan_sourced(OPERATION, PUTS, file_of(path, "ABC"))  # put back, and the same line again
    again = driver.client([put()], clock=clock)
    assert Decision.ACCEPT is work(driver, again, ledger, clock, concurrency=concurrency).decision
    assert [f"put {spoilt}"] == calls_of(again)


def test_the_error_of_a_batch_names_every_row_that_changed_and_no_place_of_this_machine(
    driver: Driver, tmp_path: Path
) -> None:
    path = tmp_path / "orders.jsonl"
    ledger = open_ledger("memory://")
    ledger.plan_sourced(OPERATION, PUTS, file_of(path, "ABC"))
    path.write_bytes(path.read_bytes().replace(b"66", b"99").replace(b"67", b"99"))

    with Payloads(PUTS) as payloads, pytest.raises(il.SourceChangedError) as raised:
        payloads.load(list(ledger.rows(OPERATION)))

    assert (2, 3) == raised.value.rows
    told = str(raised.value)
    assert told.startswith("row 2: orders.jsonl at byte 21 does not hold what was planned (and 1 more of its batch)")
    assert str(tmp_path) not in told


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


UNREADABLE: dict[str, Callable[[Path], object]] = {"gone": Path.unlink, "a directory": _directory, "a pipe": _pipe}


@pytest.mark.parametrize("how", UNREADABLE)
@concurrencies
def test_an_input_that_cannot_be_read_at_all_ends_the_run_and_says_nothing_of_its_items(
    driver: Driver, tmp_path: Path, how: str, concurrency: int
) -> None:
    clock, path = FakeClock(), tmp_path / "orders.jsonl"
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan_sourced(OPERATION, PUTS, file_of(path, "ABC"))
    before = [replace(row, claims=0) for row in ledger.rows(OPERATION)]
    UNREADABLE[how](path)
    client = driver.client([put()], clock=clock)

    with pytest.raises(il.SourceChangedError, match=r"orders\.jsonl cannot be read .*put the input back") as raised:
        work(driver, client, ledger, clock, concurrency=concurrency)

    assert () == raised.value.rows
    assert str(tmp_path) not in str(raised.value)
    assert [] == client.calls
    left = list(ledger.rows(OPERATION))
    assert before == [replace(row, claims=0, last_epoch=None) for row in left]
    path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
    file_of(path, "ABC")
    assert Decision.ACCEPT is work(driver, client, ledger, clock, concurrency=concurrency).decision
    assert ["put ABC"] == calls_of(client)


def test_what_the_payload_callback_brings_is_sent_and_asked_for_again_with_each_attempt(driver: Driver) -> None:
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan(OPERATION, PUTS, map(value, "ABC"))
    client = driver.client([put(left="B"), put()], clock=clock)
    rows: list[int] = []

    def payload(row: Row) -> object:
        rows.append(row.number)
        return value("ABC"[row.number - 1])

    result = work(driver, client, ledger, clock, payload=payload)

    assert (Decision.ACCEPT, [1, 2, 3, 2]) == (result.decision, rows)


@concurrencies
def test_what_the_payload_callback_raises_comes_as_it_is_and_the_rows_are_free(
    driver: Driver, concurrency: int
) -> None:
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan(OPERATION, PUTS, map(value, "ABC"))
    client = driver.client([put()], clock=clock)
    broken = LookupError("the database is away")

    def payload(row: Row) -> object:
        raise broken

    with pytest.raises(LookupError) as raised:
        work(driver, client, ledger, clock, payload=payload, concurrency=concurrency)

    assert broken is raised.value
    assert [] == client.calls
    assert [(None, 0, 0)] * 3 == [(row.epoch, row.attempts, row.dispatches) for row in ledger.rows(OPERATION)]
    result = work(driver, client, ledger, clock, payload=lambda row: value("ABC"[row.number - 1]))
    assert Decision.ACCEPT is result.decision


@pytest.mark.parametrize("other", [{"pk": "A", "n": 0}, {"pk": "B", "n": 65}, {"n": 65}, "A", None], ids=str)
def test_what_else_a_payload_callback_brings_is_not_sent(driver: Driver, other: object) -> None:
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan(OPERATION, PUTS, [value("A")])
    client = driver.client([], clock=clock)

    result = work(driver, client, ledger, clock, payload=lambda row: other)

    assert ([], Decision.HOLD) == (client.calls, result.decision)
    assert Review.SOURCE_CHANGED is ledger.row(1).review


def test_the_same_payload_under_another_item_id_is_not_sent(driver: Driver) -> None:
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan(OPERATION, SendMessageBatch(queue_url="q"), [{"Id": "a", "MessageBody": "x"}])
    client = driver.client([], clock=clock)

    result = work(driver, client, ledger, clock, payload=lambda row: {"Id": "b", "MessageBody": "x"})

    assert ([], Decision.HOLD) == (client.calls, result.decision)
    assert Review.SOURCE_CHANGED is ledger.row(1).review


def test_a_payload_that_is_nowhere_is_asked_for(driver: Driver) -> None:
    clock = FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan(OPERATION, PUTS, map(value, "ABC"))

    with pytest.raises(il.SourceChangedError, match="store_payloads=True, or give payload=") as raised:
        work(driver, driver.client([]), ledger, clock)
    assert () == raised.value.rows


# -------------------------------------------------------------------------------------------------------------- alerts


@concurrencies
def test_every_row_that_became_terminal_is_told_of_once(driver: Driver, concurrency: int) -> None:
    clock = FakeClock()
    ledger = planned("AB", Policy(max_attempts=1), clock)
    client = driver.client([failed("ValidationException"), put(left="A"), failed("ValidationException")], clock=clock)
    alerts: list[Alert] = []

    work(driver, client, ledger, clock, on_alert=alerts.append, concurrency=concurrency)

    assert [
        Alert(1, '{"S":"A"}', OPERATION, 1, "exhausted", "ValidationException", "w1"),
        Alert(2, '{"S":"B"}', OPERATION, 1, "refused", "ValidationException", "e1"),
    ] == sorted(alerts, key=lambda alert: alert.row)


@concurrencies
def test_what_on_alert_raises_comes_as_it_is_and_no_row_stays_held(driver: Driver, concurrency: int) -> None:
    clock = FakeClock()
    ledger = planned("ABC", Policy(max_attempts=1), clock)
    client = driver.client([put(left="ABC")], clock=clock)
    told: list[int] = []
    broken = LookupError("the pager is away")

    def on_alert(alert: Alert) -> None:
        told.append(alert.row)
        raise broken

    with pytest.raises(LookupError) as raised:
        work(driver, client, ledger, clock, on_alert=on_alert, concurrency=concurrency)

    assert broken is raised.value
    assert ("TTT", [1, 2, 3]) == (standing(ledger), told)
    assert [None] * 3 == [row.epoch for row in ledger.rows(OPERATION)]


# ---------------------------------------------------------------------------------------------- a look-up of one's own


@concurrencies
@pytest.mark.parametrize("coroutine", [False, True], ids=["plain", "coroutine"])
def test_the_callers_look_up_goes_in_the_place_of_the_apis(driver: Driver, coroutine: bool, concurrency: int) -> None:
    clock = FakeClock()
    ledger = planned("ABC", Policy(), clock)
    client = driver.client([TIMEOUT, put()], clock=clock)
    entries: list[Entry] = []

    def look_up(asked_for: Sequence[Entry]) -> list[Verdict]:
        entries.extend(asked_for)
        return [Verdict.SAME, Verdict.ABSENT_CONCLUSIVE, Verdict.DIFFERENT]

    async def slowly(asked_for: Sequence[Entry]) -> list[Verdict]:
        return look_up(asked_for)

    if coroutine and not driver.is_async:
        with pytest.raises(il.ManifestError, match=r"itemledger\.aio"):
            work(driver, client, ledger, clock, look_up=slowly)
        assert [] == client.calls
        return
    result = work(driver, client, ledger, clock, look_up=slowly if coroutine else look_up, concurrency=concurrency)

    assert ["put ABC", "put B"] == calls_of(client)
    assert ("SSQ", Decision.HOLD, 1) == (standing(ledger), result.decision, result.waiting)
    keys = [row.idempotency_key for row in ledger.rows(OPERATION)]
    assert keys == [entry.idempotency_key for entry in entries]
    assert [value(letter) for letter in "ABC"] == [entry.payload for entry in entries]


def _raises(entries: Sequence[Entry]) -> Any:
    raise LookupError("the database is away")


USELESS: dict[str, Callable[[Sequence[Entry]], Any]] = {
    "too few": lambda entries: [Verdict.SAME] * (len(entries) - 1),
    "too many": lambda entries: [Verdict.SAME] * (len(entries) + 1),
    "none": lambda entries: None,
    "another type": lambda entries: [True] * len(entries),
    "its text": lambda entries: ["same"] * len(entries),
    "raises": _raises,
}


@pytest.mark.parametrize("how", USELESS)
@concurrencies
def test_a_look_up_of_no_use_settles_nothing_and_the_next_may(driver: Driver, how: str, concurrency: int) -> None:
    clock = FakeClock()
    ledger = planned("ABC", Policy(), clock)
    client = driver.client([TIMEOUT], clock=clock)
    asked_for: list[int] = []

    def look_up(entries: Sequence[Entry]) -> Any:
        asked_for.append(len(entries))
        return USELESS[how](entries) if len(asked_for) == 1 else [Verdict.SAME] * len(entries)

    result = work(driver, client, ledger, clock, look_up=look_up, concurrency=concurrency)

    assert ("SSS", Decision.ACCEPT, [3, 3]) == (standing(ledger), result.decision, asked_for)
    assert ["dispatched", "lost", "inconclusive", "found"] == story(ledger, "A")


def test_look_ups_that_never_tell_anything_end_with_a_person(driver: Driver) -> None:
    clock = FakeClock()
    ledger = planned("ABC", Policy(max_look_ups=2), clock)
    result = work(driver, driver.client([TIMEOUT], clock=clock), ledger, clock, look_up=USELESS["too few"])

    assert ("QQQ", Decision.HOLD, 3) == (standing(ledger), result.decision, result.waiting)
    assert {Review.INCONCLUSIVE} == {row.review for row in ledger.rows(OPERATION)}


# ----------------------------------------------------------------------------------------------------- several at once


def test_calls_of_one_run_overlap_and_each_item_is_sent_once(driver: Driver) -> None:
    clock = FakeClock()
    ledger = planned(NAMES + [f"x{n}" for n in range(40)], Policy(), clock)

    async def body() -> tuple[il.WorkResult, Any]:
        all_four = driver.barrier(4)  # opens only when four calls are in flight at once

        async def respond(call: Call) -> Any:
            await all_four.wait()
            return put()

        client = driver.client(respond=respond, clock=clock)
        options = {"clock": clock, "sleep": driver.pause(clock), "jitter": highest}
        return await driver.work(client, ledger, OPERATION, concurrency=4, **options), client

    result, client = driver.run(body())
    assert (Decision.ACCEPT, 4) == (result.decision, result.calls)
    assert 100 == len({name for call in client.calls for name in names_in(call)})


def test_two_runs_at_once_on_one_file_send_each_item_once(driver: Driver, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/orders.db"
    names = [f"k{n:03}" for n in range(500)]
    with open_ledger(url) as ledger:
        ledger.plan(OPERATION, PUTS, map(value, names), store_payloads=True)
    sent: list[str] = []

    async def respond(call: Call) -> Any:
        sent.extend(names_in(call))
        return put()

    async def one_run() -> il.WorkResult:
        with open_ledger(url) as ledger:
            return await driver.work(driver.client(respond=respond), ledger, OPERATION, concurrency=4)

    results = both_at_once(driver, one_run)

    assert names == sorted(sent)
    assert [Decision.ACCEPT] * 2 == [result.decision for result in results]
    assert 20 == sum(result.calls for result in results)


def both_at_once(driver: Driver, one_run: Callable[[], Any]) -> list[il.WorkResult]:
    if driver.is_async:

        async def both() -> list[il.WorkResult]:
            return list(await asyncio.gather(one_run(), one_run()))

        return driver.run(both())
    results: list[il.WorkResult] = []
    threads = [threading.Thread(target=lambda: results.append(driver.run(one_run()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def names_in(call: Call) -> list[str]:
    return [entry["PutRequest"]["Item"]["pk"]["S"] for entry in call.request["RequestItems"]["T"]]


def test_what_was_sent_is_what_was_planned(driver: Driver) -> None:
    clock = FakeClock()
    ledger = planned("AB", Policy(), clock)
    client = driver.client([put()], clock=clock)

    work(driver, client, ledger, clock)

    (call,) = client.calls
    assert {"RequestItems": {"T": [{"PutRequest": {"Item": item(letter)}} for letter in "AB"]}} == call.request
