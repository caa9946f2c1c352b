"""A thousand items fail at once: no second may see more than a twentieth of them again."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

import pytest

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.judging import Judge, Pauses, Storm
from itemledger.core.moves import planned
from itemledger.core.policy import Policy
from itemledger.core.rows import Operation, Row
from itemledger.core.worker import Work, Worker, worker
from itemledger.core.worker_steps import Alert, Call, Claim, Dispatch, Ended, Load, Pause, Record, Release
from itemledger.core.write_api import Entry
from itemledger.ledger.memory import MemoryStore
from itemledger.ledger.planning import new_item
from tests.simulation.apis import Kind, SimApi, on_unknown

ITEMS, BATCH = 1000, 25
WORKERS = ITEMS // BATCH  # one for each batch, so that all of them are on the wire in the same moment
SEEDS = range(200)
#: No second sees more than this of the thousand.
MOST = ITEMS // 20

Failing: TypeAlias = Callable[[dict[str, Any]], Answer | Failure]


def busy(request: dict[str, Any]) -> Answer | Failure:
    return Answer({"named": BATCH, "results": [{"id": i, "code": "Busy", "ref": None} for i, _, _ in request["items"]]})


def unprocessed(request: dict[str, Any]) -> Answer | Failure:
    results = [{"id": i, "code": "Unprocessed", "ref": None} for i, _, _ in request["items"]]
    return Answer({"named": BATCH, "results": results})


def throttled(request: dict[str, Any]) -> Answer | Failure:
    return Failure(FailureCause.THROTTLED, "Throttled", "slow down")


def fault(request: dict[str, Any]) -> Answer | Failure:
    return Failure(FailureCause.TRANSIENT, "InternalError", "a 500 proves nothing")


def failed_at_once(kind: Kind) -> list[tuple[list[Row], list[Entry]]]:
    """All items, batch by batch, as they are when their first call comes back."""
    api = SimApi(kind, items=BATCH)
    entries = [Entry(f"i{number}", {"v": number}, 1, f"k{number}") for number in range(ITEMS)]
    items = [new_item("op", api, entry, None) for entry in entries]
    rows = [replace(planned(n, "op", item, 0.0, 0.0), attempts=1, claims=1) for n, item in enumerate(items)]
    return [(rows[n : n + BATCH], entries[n : n + BATCH]) for n in range(0, ITEMS, BATCH)]


def due_again(seed: int, kind: Kind, failing: Failing, batches: list[tuple[list[Row], list[Entry]]]) -> Iterator[float]:
    """When they are due again, counted from the moment in which all fail."""
    api, policy, rng = SimApi(kind, items=BATCH), Policy(on_unknown=on_unknown(kind)), Random(seed)
    judge = Judge(api, policy, Pauses(policy, rng.uniform, Storm()), 0.0, looks_up=api.look_up is not None)
    for rows, entries in batches:
        for move in judge.moves(rows, entries, failing(api.request(entries))):
            assert move.delay_s is not None
            yield move.delay_s


def sent_again(seed: int, kind: Kind, failing: Failing) -> Counter[int]:
    """Second by second, how many of the items were on the wire again after each had failed once."""
    rng = Random(seed)
    now = 0.0
    api = SimApi(kind, items=BATCH)
    policy = Policy(on_unknown=on_unknown(kind))
    store = MemoryStore(clock=lambda: 1_000.0 + now)
    store.open_operation(Operation("op", api.name, api.target, policy, api.effect))
    entries = [Entry(f"i{number}", {"v": number}, 1, f"k{number}") for number in range(ITEMS)]
    store.plan("op", [new_item("op", api, entry, None) for entry in entries])
    store.planning_ended("op")
    of = {entry.item_id: entry for entry in entries}
    storm = Storm()
    again: Counter[int] = Counter()
    failed: set[str] = set()
    looked_up: Counter[int] = Counter()

    def call(step: Call) -> Answer | Failure:
        if step.operation == "look_up":
            looked_up[int(now)] += len(step.request["ids"])
            return Answer({"states": ["absent_conclusive"] * len(step.request["ids"])})
        ids = [item_id for item_id, _, _ in step.request["items"]]
        new = [item_id for item_id in ids if item_id not in failed]
        again[int(now)] += len(ids) - len(new)
        failed.update(new)
        if new:
            return failing(step.request)
        return Answer({"named": len(ids), "results": [{"id": i, "code": "ok", "ref": None} for i in ids]})

    def advance(one: Worker) -> float | None:
        """A worker to its next pause, and how long that is."""
        reply: Any = None
        while True:
            try:
                step = one.send(reply)
            except StopIteration:
                return None
            reply = None
            match step:
                case Claim(ask):
                    reply = store.claim("op", ask)
                case Load(rows):
                    reply = [of[row.item_id] for row in rows]
                case Dispatch(epoch, replay):
                    store.dispatch(epoch, replay)
                case Call():
                    reply = Ended(call(step), 1.0)
                case Record(epoch, evidence, moves):
                    store.record(epoch, evidence, moves)
                case Pause(seconds):
                    return seconds
                case Release() | Alert():
                    raise AssertionError(step)

    workers = [worker(Work(api, api.look_up, policy, rng.uniform, f"w{n}", storm)) for n in range(WORKERS)]
    waits = [(0.0, n) for n in range(WORKERS)]
    while waits:
        now, n = heapq.heappop(waits)
        pause = advance(workers[n])
        if pause is not None:
            heapq.heappush(waits, (now + max(pause, 0.25), n))
    assert ITEMS == sum(again.values())
    assert not looked_up or kind is Kind.PUT
    return again


CASES = [
    pytest.param(Kind.PUT, busy, id="refused-item-by-item"),
    pytest.param(Kind.PUT, unprocessed, id="left-unprocessed"),
    pytest.param(Kind.PUT, throttled, id="throttled-whole"),
    pytest.param(Kind.PUT, fault, id="lost-and-looked-up"),
    pytest.param(Kind.WINDOW, fault, id="lost-and-replayed"),
    pytest.param(Kind.ANYWAY, fault, id="lost-and-sent-at-least-once"),
]


@pytest.mark.parametrize(("kind", "failing"), CASES)
def test_of_a_thousand_items_that_fail_at_once_no_second_has_more_than_a_twentieth_due(
    kind: Kind, failing: Failing
) -> None:
    batches = failed_at_once(kind)
    for seed in SEEDS:
        moments = sorted(due_again(seed, kind, failing, batches))

        assert ITEMS == len(moments)
        # Any second, not only those that begin on the full one.
        fullest = max(bisect_left(moments, moment + 1.0) - place for place, moment in enumerate(moments))
        assert fullest <= MOST, f"seed {seed}: {fullest} of {ITEMS} items are due within one second"


@pytest.mark.parametrize(("kind", "failing"), CASES)
def test_of_a_thousand_items_that_failed_at_once_no_second_sees_more_than_a_twentieth_again(
    kind: Kind, failing: Failing
) -> None:
    for seed in SEEDS[:1]:
        assert_spread(seed, kind, failing)


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "failing"), CASES)
def test_no_second_sees_more_than_a_twentieth_again_over_many_seeds(kind: Kind, failing: Failing) -> None:
    for seed in SEEDS:
        assert_spread(seed, kind, failing)


def assert_spread(seed: int, kind: Kind, failing: Failing) -> None:
    again = sent_again(seed, kind, failing)
    assert max(again.values()) <= MOST, f"seed {seed}: {max(again.values())} of {ITEMS} items within one second"
