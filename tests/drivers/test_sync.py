"""The blocking driver runs the scenario table, inline and with threads."""

from __future__ import annotations

import re
from typing import Any

import pytest

import itemledger as il
from itemledger.core.result import KeyOutcome
from itemledger.testing import FakeClock, ScriptedClient
from tests.drivers.scenarios import (
    RUNS,
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
    broken = None
    with ScriptedClient(scenario.answers(), clock=clock) as client:
        try:
            results = il.read_tables(client, scenario.tables, **_options(scenario, clock, concurrency))
        except il.LedgerInvariantError as error:
            broken, results = error, all_of(error.result)
    assert scenario.end == ended(results, client.calls, clock.sleeps, broken=broken is not None)
    for result in results:
        assert known_items(result.outcomes) == items_of(result.outcomes)
    if broken is not None:
        assert re.search(scenario.says, str(broken))
        assert il.Decision.REPAIR is broken.decision


@pytest.mark.parametrize(("scenario", "concurrency"), SINGLE, ids=str)
def test_read_batch_is_read_tables_of_one(scenario: Scenario, concurrency: int) -> None:
    clock = FakeClock()
    broken = None
    with ScriptedClient(scenario.answers(), clock=clock) as client:
        try:
            result = il.read_batch(client, **scenario.arguments, **_options(scenario, clock, concurrency))
        except il.LedgerInvariantError as error:
            broken, (result,) = error, all_of(error.result)
    assert scenario.end == ended([result], client.calls, clock.sleeps, broken=broken is not None)
    assert known_items(result.outcomes) == items_of(result.outcomes)


@pytest.mark.parametrize(("scenario", "concurrency"), SINGLE, ids=str)
def test_a_stream_names_every_position_once_and_ends_with_the_summary(scenario: Scenario, concurrency: int) -> None:
    clock = FakeClock()
    outcomes: list[KeyOutcome] = []
    summaries: list[il.ReadResult] = []
    broken = None
    with ScriptedClient(scenario.answers(), clock=clock) as client:
        try:
            for step in il.iter_read(client, **scenario.arguments, **_options(scenario, clock, concurrency)):
                assert not summaries, "the summary comes last"
                summaries.append(step) if isinstance(step, il.ReadResult) else outcomes.append(step)
        except il.LedgerInvariantError as error:
            broken, summaries = error, [*all_of(error.result)]
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


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize(("fits", "item_bytes", "least"), [(3, 300_000, 1667), (41, 390_000, 122)])
def test_5000_large_items_take_about_as_many_calls_as_their_size_makes_necessary(
    fits: int, item_bytes: int, least: int, concurrency: int
) -> None:
    # 1 MB per partition lets 3 items of one partition into an answer, 16 MB in all lets 41 of many partitions.
    keys = [("p" if fits == 3 else f"p{i}", i) for i in range(5000)]
    clock = FakeClock()
    client = ScriptedClient(respond=Endpoint(item_bytes), clock=clock)
    result = il.read_batch(client, "Large", keys, ("pk", "sk"), clock=clock, sleep=clock.sleep, concurrency=concurrency)
    assert (il.StopReason.COMPLETE, 5000, []) == (result.stop_reason, len(result.returned), clock.sleeps)
    assert least <= len(client.calls) <= least * 1.05
    client = ScriptedClient(respond=Endpoint(item_bytes), clock=clock)
    *outcomes, summary = il.iter_read(
        client, "Large", keys, ("pk", "sk"), clock=clock, sleep=clock.sleep, concurrency=concurrency
    )
    assert isinstance(summary, il.ReadResult)
    assert (il.StopReason.COMPLETE, 5000, []) == (summary.stop_reason, len(outcomes), clock.sleeps)
    assert least <= len(client.calls) <= least * 1.05


def test_a_read_ends_on_a_clock_that_stands_still() -> None:
    left = {"UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "A"}}]}}, "Responses": {}}
    still: dict[str, Any] = {"clock": lambda: 0.0, "sleep": lambda seconds: None, "jitter": highest}
    client = ScriptedClient(respond=lambda call: left)
    result = il.read_batch(client, "T", ["A"], ("pk",), **still)
    assert (il.StopReason.PASSES_EXHAUSTED, 8) == (result.stop_reason, len(client.calls))
    # What was slept has passed: 1.55 s in five growing pauses, then 58 of a second each; one more would cross 60 s.
    client = ScriptedClient(respond=lambda call: left)
    result = il.read_batch(client, "T", ["A"], ("pk",), max_passes=10**6, **still)
    assert (il.StopReason.DEADLINE, 64) == (result.stop_reason, len(client.calls))


def _options(scenario: Scenario, clock: FakeClock, concurrency: int) -> dict[str, Any]:
    return {"clock": clock, "sleep": clock.sleep, "jitter": highest, "concurrency": concurrency, **scenario.options}
