"""Calls overlap for real, and bounds, failures and impossible evidence hold across all of them, in both drivers."""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import itemledger as il
from itemledger import Decision, StopReason, TableRead
from itemledger.core.result import KeyOutcome
from itemledger.core.steps import Progress
from itemledger.testing import Call, FakeClock, batch_get_response, error
from tests.drivers.both import DRIVERS, Driver, every_thread_ends
from tests.drivers.scenarios import standings

pytestmark = pytest.mark.parametrize("driver", DRIVERS, ids=str)

TABLE = "T"
# Pauses so long that leftovers wait for every call in flight, which a fake clock then skips.
PATIENT: dict[str, Any] = {"backoff_base_s": 30.0, "backoff_cap_s": 30.0, "timeout_s": 600.0}


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with every_thread_ends():
        yield


def names(count: int) -> list[str]:
    return [f"k{i:04}" for i in range(count)]


def asked(request: Mapping[str, Any]) -> list[str]:
    return [key["pk"]["S"] for key in request["RequestItems"][TABLE]["Keys"]]


def answer(found: list[str], left: list[str] | None = None) -> dict[str, Any]:
    typed = [{"pk": {"S": name}} for name in left or []]
    return batch_get_response([{"pk": {"S": name}} for name in found], table=TABLE, unprocessed=typed)


def test_calls_overlap_for_real(driver: Driver) -> None:
    inside, peak = 0, 0

    async def body() -> il.ReadResult:
        three = driver.barrier(3)  # opens only when three calls are in flight at once

        async def respond(call: Call) -> Any:
            nonlocal inside, peak
            inside += 1
            peak = max(peak, inside)
            await three.wait()
            inside -= 1
            return answer(asked(call.request))

        client = driver.client(respond=respond)
        return await driver.read_batch(client, TABLE, names(900), ("pk",), concurrency=3)

    result = driver.run(body())
    assert (StopReason.COMPLETE, 9) == (result.stop_reason, result.totals.calls)
    assert 3 == peak


def test_leftovers_of_several_calls_share_the_next_request(driver: Driver) -> None:
    clock = FakeClock()

    async def body() -> Any:
        both = driver.barrier(2)

        async def respond(call: Call) -> Any:
            keys = asked(call.request)
            if len(keys) < 100:
                return answer(keys)
            await both.wait()
            return answer(keys[3:], keys[:3])

        client = driver.client(respond=respond, clock=clock)
        options = {"clock": clock, "sleep": driver.pause(clock), "concurrency": 2, **PATIENT}
        return client, await driver.read_batch(client, TABLE, names(200), ("pk",), **options)

    client, result = driver.run(body())
    assert StopReason.COMPLETE is result.stop_reason
    third = asked(client.requests[2])
    assert 3 == len(client.requests)
    assert ["k0000", "k0001", "k0002", "k0100", "k0101", "k0102"] == sorted(third)


def test_each_key_is_asked_at_most_max_passes_times_whatever_the_concurrency(driver: Driver) -> None:
    clock = FakeClock()

    async def respond(call: Call) -> Any:
        return answer([], asked(call.request))

    client = driver.client(respond=respond, clock=clock)
    options = {"clock": clock, "sleep": driver.pause(clock), "max_passes": 3, "concurrency": 4, **PATIENT}
    result = driver.run(driver.read_batch(client, TABLE, names(950), ("pk",), **options))
    assert (StopReason.PASSES_EXHAUSTED, 950) == (result.stop_reason, len(result.unresolved))
    assert {3: 950} == Counter(Counter(name for request in client.requests for name in asked(request)).values())


def test_the_deadline_ends_all_calls_at_once_and_starts_no_other(driver: Driver) -> None:
    clock = FakeClock()

    async def body() -> Any:
        four = driver.barrier(4)

        async def respond(call: Call) -> Any:
            await four.wait()
            clock.advance(10.0)
            return answer(asked(call.request))

        client = driver.client(respond=respond, clock=clock)
        options = {"clock": clock, "sleep": driver.pause(clock), "timeout_s": 10.0, "concurrency": 4}
        return client, await driver.read_batch(client, TABLE, names(800), ("pk",), **options)

    client, result = driver.run(body())
    # The answer that brought the news still counts; the three others are abandoned, and say nothing any more.
    assert (StopReason.DEADLINE, 3, 1) == (result.stop_reason, result.abandoned_calls, result.totals.calls)
    assert (100, 700, 4) == (len(result.returned), len(result.unresolved), len(client.requests))
    assert Decision.RETRY is result.decide()


def test_after_a_failed_call_the_answers_of_the_others_still_count(driver: Driver) -> None:
    clock = FakeClock()

    async def body() -> Any:
        released, release = driver.event()

        async def respond(call: Call) -> Any:
            if "k0000" in asked(call.request):
                return error("InternalServerError", status=500, request_id="lost")
            await released.wait()
            return answer(asked(call.request))

        client = driver.client(respond=respond, clock=clock)
        steps = []
        async for step in driver.stream(
            client,
            [TableRead(TABLE, names(800), ("pk",))],
            clock=clock,
            sleep=driver.pause(clock),
            concurrency=4,
        ):
            steps.append(step)
            release()  # only now: the failure is known before any other answer comes
        return client, steps

    client, steps = driver.run(body())
    progress = [step for step in steps if isinstance(step, Progress)]
    outcomes = [step for step in steps if isinstance(step, KeyOutcome)]
    summary = steps[-1]
    assert [0, 100, 100, 100] == [len(step.settled) for step in progress]
    assert 500 == len(outcomes)
    assert (StopReason.REQUEST_FAILED, 0, 4) == (
        summary.stop_reason,
        summary.abandoned_calls,
        len(client.requests),
    )
    assert "InternalServerError; request_id=lost" == str(summary.terminal_error)
    assert (300, 500) == (len(summary.returned), len(summary.unresolved))


def test_calls_that_hang_on_after_a_failed_one_are_abandoned_at_the_deadline(driver: Driver) -> None:
    clock = FakeClock()

    async def body() -> Any:
        released, release = driver.event()

        async def respond(call: Call) -> Any:
            if "k0000" not in asked(call.request):
                await released.wait()
                return answer(asked(call.request))
            clock.advance(60.0)
            return error("InternalServerError", status=500)

        client = driver.client(respond=respond, clock=clock)
        result = await driver.read_batch(client, TABLE, names(800), ("pk",), clock=clock, sleep=driver.pause(clock))
        release()
        return client, result

    client, result = driver.run(body())
    assert (StopReason.REQUEST_FAILED, 3) == (result.stop_reason, result.abandoned_calls)
    assert len(client.requests) <= 4
    assert 800 == len(result.unresolved)


def test_impossible_evidence_abandons_the_calls_in_flight(driver: Driver) -> None:
    async def body() -> Any:
        released, release = driver.event()
        requests: list[Mapping[str, Any]] = []

        async def respond(call: Call) -> Any:
            requests.append(call.request)
            if "k0000" in asked(call.request):
                return answer(["nobody asked"])
            await released.wait()
            return answer(asked(call.request))

        with pytest.raises(il.LedgerInvariantError, match="outside this call") as raised:
            await driver.read_batch(driver.client(respond=respond), TABLE, names(800), ("pk",), concurrency=4)
        release()
        return raised.value, requests

    broken, requests = driver.run(body())
    assert (StopReason.INVARIANT_BROKEN, 3) == (broken.result.stop_reason, broken.result.abandoned_calls)
    assert 800 == len(broken.result.unresolved)
    assert len(requests) <= 4


def test_impossible_evidence_outranks_a_failed_call(driver: Driver) -> None:
    async def body() -> Any:
        released, release = driver.event()

        async def respond(call: Call) -> Any:
            if "k0000" in asked(call.request):
                return error("InternalServerError", status=500)
            await released.wait()
            return answer(["nobody asked"])

        steps = driver.stream(
            driver.client(respond=respond),
            [TableRead(TABLE, names(200), ("pk",))],
            sleep=driver.pause(FakeClock()),
            concurrency=2,
        )
        try:
            async for _ in steps:
                release()
        except il.LedgerInvariantError as broken:
            return broken
        return None

    broken = driver.run(body())
    assert StopReason.INVARIANT_BROKEN is broken.result.stop_reason
    assert Decision.REPAIR is broken.result.decide()


def test_all_calls_that_bore_the_old_token_get_their_one_retry(driver: Driver) -> None:
    async def body() -> Any:
        four = driver.barrier(4)
        number = itertools.count(1)

        async def respond(call: Call) -> Any:
            if next(number) > 4:
                return answer(asked(call.request))
            await four.wait()
            return error("ExpiredTokenException")

        client = driver.client(respond=respond)
        return client, await driver.read_batch(client, TABLE, names(800), ("pk",), concurrency=4)

    client, result = driver.run(body())
    assert (StopReason.COMPLETE, 12) == (result.stop_reason, len(client.requests))


def test_a_new_token_that_is_refused_too_stops_the_read(driver: Driver) -> None:
    async def respond(call: Call) -> Any:
        return error("ExpiredTokenException")

    client = driver.client(respond=respond)
    result = driver.run(driver.read_batch(client, TABLE, names(800), ("pk",), concurrency=4))
    assert (StopReason.REQUEST_FAILED, Decision.HOLD) == (result.stop_reason, result.decide())
    assert len(client.requests) <= 8


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_order_of_the_answers_each_key_ends_as_it_was_last_told(driver: Driver, seed: int) -> None:
    source = random.Random(seed)
    keys = names(source.randrange(1, 900))
    failing = source.choice([0.0, 0.0, 0.05])
    last_told: dict[str, str] = {}
    retold: list[str] = []
    lock = threading.Lock()
    clock = FakeClock()

    async def respond(call: Call) -> Any:
        with lock:
            turns, fails = source.randrange(200), source.random() < failing
            told = {name: "U" if fails else source.choice("RRRRNNU") for name in asked(call.request)}
        await _let_others_go_first(driver, turns)
        with lock:
            retold.extend(name for name in told if last_told.get(name, "U") != "U")
            last_told.update(told)
        if fails:
            return error("ThrottlingException")
        return answer([n for n in told if told[n] == "R"], [n for n in told if told[n] == "U"])

    client = driver.client(respond=respond, clock=clock)
    options = {"clock": clock, "sleep": driver.pause(clock), "concurrency": source.randrange(2, 9)}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        result = driver.run(driver.read_batch(client, TABLE, keys, ("pk",), max_passes=4, **options))
    finally:
        sys.setswitchinterval(interval)
    assert "".join(last_told.get(name, "U") for name in keys) == standings(result.outcomes)
    assert [] == retold, "a settled key was asked again"
    assert max(Counter(name for request in client.requests for name in asked(request)).values()) <= 4
    assert failing or result.stop_reason in (StopReason.COMPLETE, StopReason.PASSES_EXHAUSTED)


async def _let_others_go_first(driver: Driver, turns: int) -> None:
    for _ in range(turns):
        if driver.is_async:
            await asyncio.sleep(0)
