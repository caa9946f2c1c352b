"""The asyncio driver runs the same scenario table, and both drivers leave the same ledger."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest

import itemledger as il
from itemledger import aio, sync
from itemledger.core.result import KeyOutcome
from itemledger.core.steps import Opened, Progress
from itemledger.opening import Plan, plan
from itemledger.testing import AsyncScriptedClient, FakeClock, ScriptedClient
from tests.drivers.scenarios import (
    RUNS,
    SCENARIOS,
    Endpoint,
    Scenario,
    all_of,
    ended,
    highest,
    items_of,
    known_items,
    standings,
)

SINGLE = [(scenario, concurrency) for scenario, concurrency in RUNS if len(scenario.tables) == 1]


@pytest.mark.parametrize(("scenario", "concurrency"), RUNS, ids=str)
def test_a_read_ends_as_the_table_says(scenario: Scenario, concurrency: int) -> None:
    clock = FakeClock()
    client = AsyncScriptedClient(scenario.answers(), clock=clock)
    results, broken = asyncio.run(_read_tables(client, scenario, clock, concurrency))
    client.check()
    assert scenario.end == ended(results, client.calls, clock.sleeps, broken=broken is not None)
    for result in results:
        assert known_items(result.outcomes) == items_of(result.outcomes)
    if broken is not None:
        assert re.search(scenario.says, str(broken))
        assert il.Decision.REPAIR is broken.decision


@pytest.mark.parametrize(("scenario", "concurrency"), SINGLE, ids=str)
def test_read_batch_is_read_tables_of_one(scenario: Scenario, concurrency: int) -> None:
    clock = FakeClock()
    client = AsyncScriptedClient(scenario.answers(), clock=clock)
    broken = None
    try:
        options = _options(scenario, clock, concurrency)
        result = asyncio.run(aio.read_batch(client, **scenario.arguments, **options))
    except il.LedgerInvariantError as error:
        broken, (result,) = error, all_of(error.result)
    client.check()
    assert scenario.end == ended([result], client.calls, clock.sleeps, broken=broken is not None)
    assert known_items(result.outcomes) == items_of(result.outcomes)


@pytest.mark.parametrize(("scenario", "concurrency"), SINGLE, ids=str)
def test_a_stream_names_every_position_once_and_ends_with_the_summary(scenario: Scenario, concurrency: int) -> None:
    clock = FakeClock()
    client = AsyncScriptedClient(scenario.answers(), clock=clock)
    outcomes: list[KeyOutcome] = []
    summaries: list[il.ReadResult] = []

    async def read() -> None:
        async for step in aio.iter_read(client, **scenario.arguments, **_options(scenario, clock, concurrency)):
            assert not summaries, "the summary comes last"
            summaries.append(step) if isinstance(step, il.ReadResult) else outcomes.append(step)

    broken = None
    try:
        asyncio.run(read())
    except il.LedgerInvariantError as error:
        broken, summaries = error, [*all_of(error.result)]
    client.check()
    (summary,) = summaries
    outcomes.sort(key=lambda outcome: outcome.position)
    assert scenario.end == ended([summary], client.calls, clock.sleeps, broken=broken is not None)
    assert ({}, ()) == (summary.items_by_key, summary.ledger)
    assert known_items(outcomes) == items_of(outcomes)
    if broken is None:
        assert scenario.end.standings == standings(outcomes)
        assert list(range(len(outcomes))) == [outcome.position for outcome in outcomes]
    else:  # it gave out what was settled before, and the error has the rest
        assert scenario.end.standings.replace("U", "") == standings(outcomes)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_both_drivers_leave_the_same_result(scenario: Scenario) -> None:
    clock = FakeClock()
    client = AsyncScriptedClient(scenario.answers(), clock=clock)
    results, broken = asyncio.run(_read_tables(client, scenario, clock, 1))
    blocking_clock = FakeClock()
    blocking = ScriptedClient(scenario.answers(), clock=blocking_clock)
    blocking_broken = None
    try:
        options = {**_options(scenario, blocking_clock, 1), "sleep": blocking_clock.sleep}
        blocking_results = sync.read_tables(blocking, scenario.tables, **options)
    except il.LedgerInvariantError as error:
        blocking_broken, blocking_results = error, all_of(error.result)
    assert blocking.requests == client.requests
    # The ledgers are among what is compared, durations and request ids with them.
    assert [_without_name(result) for result in blocking_results] == [_without_name(result) for result in results]
    assert repr(blocking_broken) == repr(broken)
    if blocking_broken is not None:
        assert broken is not None
        assert blocking_broken.evidence == broken.evidence
        assert (blocking_broken.structure, blocking_broken.position) == (broken.structure, broken.position)


@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if len(s.tables) == 1 and not s.end.broken], ids=str)
def test_both_drivers_stream_the_same_steps(scenario: Scenario) -> None:
    clock, blocking_clock = FakeClock(), FakeClock()
    client = AsyncScriptedClient(scenario.answers(), clock=clock)
    blocking = ScriptedClient(scenario.answers(), clock=blocking_clock)

    async def steps() -> list[Opened | Progress | KeyOutcome | il.ReadResult]:
        return [step async for step in aio.stream(client, _plan(scenario, clock), sleep=clock.asleep)]

    blocking_steps = [*sync.stream(blocking, _plan(scenario, blocking_clock), sleep=blocking_clock.sleep)]
    assert [Opened, il.ReadResult] == [type(blocking_steps[0]), type(blocking_steps[-1])]
    assert [_without_name(step) for step in blocking_steps] == [_without_name(step) for step in asyncio.run(steps())]


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize(("fits", "item_bytes", "least"), [(3, 300_000, 1667), (41, 390_000, 122)])
def test_5000_large_items_take_about_as_many_calls_as_their_size_makes_necessary(
    fits: int, item_bytes: int, least: int, concurrency: int
) -> None:
    # 1 MB per partition lets 3 items of one partition into an answer, 16 MB in all lets 41 of many partitions.
    keys = [("p" if fits == 3 else f"p{i}", i) for i in range(5000)]
    clock = FakeClock()
    client = AsyncScriptedClient(respond=Endpoint(item_bytes), clock=clock)
    result = asyncio.run(
        aio.read_batch(client, "Large", keys, ("pk", "sk"), clock=clock, sleep=clock.asleep, concurrency=concurrency)
    )
    assert (il.StopReason.COMPLETE, 5000, []) == (result.stop_reason, len(result.returned), clock.sleeps)
    assert least <= len(client.calls) <= least * 1.05


def test_a_read_ends_on_a_clock_that_stands_still() -> None:
    left = {"UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "A"}}]}}, "Responses": {}}

    async def asleep(seconds: float) -> None:
        pass

    still: dict[str, Any] = {"clock": lambda: 0.0, "sleep": asleep, "jitter": highest}
    client = AsyncScriptedClient(respond=lambda call: left)
    result = asyncio.run(aio.read_batch(client, "T", ["A"], ("pk",), **still))
    assert (il.StopReason.PASSES_EXHAUSTED, 8) == (result.stop_reason, len(client.calls))
    # What was slept has passed: 1.55 s in five growing pauses, then 58 of a second each; one more would cross 60 s.
    client = AsyncScriptedClient(respond=lambda call: left)
    result = asyncio.run(aio.read_batch(client, "T", ["A"], ("pk",), max_passes=10**6, **still))
    assert (il.StopReason.DEADLINE, 64) == (result.stop_reason, len(client.calls))


async def _read_tables(
    client: AsyncScriptedClient, scenario: Scenario, clock: FakeClock, concurrency: int
) -> tuple[tuple[il.ReadResult, ...], il.LedgerInvariantError | None]:
    try:
        return await aio.read_tables(client, scenario.tables, **_options(scenario, clock, concurrency)), None
    except il.LedgerInvariantError as error:
        return all_of(error.result), error
    finally:
        assert {asyncio.current_task()} == asyncio.all_tasks(), "a task was left behind"


def _options(scenario: Scenario, clock: FakeClock, concurrency: int) -> dict[str, Any]:
    return {"clock": clock, "sleep": clock.asleep, "jitter": highest, "concurrency": concurrency, **scenario.options}


def _plan(scenario: Scenario, clock: FakeClock) -> Plan:
    options: Any = {"clock": clock, "jitter": highest, "concurrency": 1, **scenario.options}
    return plan(scenario.tables, options, keep=False)


def _without_name(step: object) -> object:
    """A step or a result without what is new in each observation by design."""
    if isinstance(step, Opened | il.ReadResult):
        return replace(step, observation=replace(step.observation, id="", started_at=""))
    return step
