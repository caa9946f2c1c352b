"""Conformance: what can be asked of a store, and that a closed one answers nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from itemledger.core.batches import CallEvidence
from itemledger.core.outcome import Event, Outcome
from itemledger.core.rows import Decided, Review
from itemledger.errors import LedgerError
from itemledger.ledger.store import Store
from tests.ledger.world import ORDERS, START, World, ask, item, operation

VERBS: dict[str, Callable[[Store], object]] = {
    "now": lambda store: store.now(),
    "open_operation": lambda store: store.open_operation(operation()),
    "operations": lambda store: store.operations(),
    "plan": lambda store: store.plan(ORDERS, [item(1)]),
    "planning_ended": lambda store: store.planning_ended(ORDERS),
    "claim": lambda store: store.claim(ORDERS, ask()),
    "heartbeat": lambda store: store.heartbeat(1),
    "dispatch": lambda store: store.dispatch(1),
    "record": lambda store: store.record(1, CallEvidence(), []),
    "release": lambda store: store.release(1),
    "counts": lambda store: store.counts(ORDERS),
    "reviews": lambda store: store.reviews(ORDERS),
    "rows": lambda store: store.rows(),
    "row": lambda store: store.row(1),
    "find": lambda store: store.find(ORDERS, "item-1"),
    "batch": lambda store: store.batch(1),
    "history": lambda store: store.history(1),
    "snapshot": lambda store: store.snapshot(ORDERS).__enter__(),
    "decide": lambda store: store.decide(1, Decided.RETRY, who="ann", why="looked"),
    "prune": lambda store: store.prune(ORDERS, older_than_s=0),
    "restore": lambda store: store.restore(operation(operation_id="more"), []),
}


class Looking:
    def test_the_time_is_the_stores_clock(self, world: World) -> None:
        assert START == world.store.now()
        world.wall.back(7)
        assert START - 7 == world.store.now()

    def test_counts_name_every_outcome(self, world: World) -> None:
        world.begin(count=7)
        world.end(Event.CONFIRMED, most=1)
        world.end(Event.REFUSED, most=1)
        world.end(Event.LOST, most=1, delay_s=None)
        world.end(Event.LEFT_UNPROCESSED, most=1, delay_s=9.0)
        world.send(most=1)
        world.take(most=1)

        assert {
            Outcome.PENDING: 2,
            Outcome.IN_FLIGHT: 1,
            Outcome.SUCCEEDED: 1,
            Outcome.RETRYABLE: 1,
            Outcome.RECONCILE: 1,
            Outcome.TERMINAL: 1,
        } == dict(world.store.counts(ORDERS))

    def test_counts_of_an_operation_without_rows_are_zero(self, world: World) -> None:
        world.store.open_operation(operation())
        assert dict.fromkeys(Outcome, 0) == dict(world.store.counts(ORDERS))

    def test_counts_are_of_one_operation(self, world: World) -> None:
        world.begin(item(1, refused="too large"))
        world.begin(item(2), item(3), operation_id="more")

        assert (1, 1) == (world.store.counts(ORDERS)[Outcome.TERMINAL], world.store.reviews(ORDERS))
        assert (2, 0) == (world.store.counts("more")[Outcome.PENDING], world.store.reviews("more"))

    def test_rows_come_by_number_in_pages(self, world: World) -> None:
        numbers = [row.number for row in world.begin(count=5)]
        assert sorted(numbers) == numbers

        first = world.store.rows(ORDERS, limit=2)
        second = world.store.rows(ORDERS, after=first[-1].number, limit=2)
        third = world.store.rows(ORDERS, after=second[-1].number, limit=2)

        assert numbers == [row.number for row in first + second + third]
        assert [] == world.store.rows(ORDERS, after=numbers[-1])

    def test_rows_can_be_asked_by_operation_outcome_and_review(self, world: World) -> None:
        world.begin(count=3)
        world.end(Event.CONFIRMED, most=1)
        world.end(Event.LOST, most=1, delay_s=None, review=Review.NO_LOOK_UP)
        one, two, three = (world.row(number) for number in (1, 2, 3))
        [other] = world.begin(item(9, refused="too large"), operation_id="more")

        assert [one, two, three, other] == world.store.rows()
        assert [one, two, three] == world.store.rows(ORDERS)
        assert [two] == world.store.rows(outcome=Outcome.RECONCILE)
        assert [two, other] == world.store.rows(in_review=True)
        assert [other] == world.store.rows("more", outcome=Outcome.TERMINAL, in_review=True)
        assert [] == world.store.rows(ORDERS, outcome=Outcome.TERMINAL)
        assert [] == world.store.rows("nobody's")

    def test_a_row_is_found_by_item_id_and_by_number(self, world: World) -> None:
        [row] = world.begin(item(1))

        assert row == world.store.find(ORDERS, "item-1") == world.store.row(row.number)
        assert world.store.find(ORDERS, "item-2") is None
        assert world.store.find("more", "item-1") is None

    def test_a_snapshot_is_of_one_moment_whatever_happens_meanwhile(self, world: World) -> None:
        rows = world.begin(count=3)
        counts = world.store.counts(ORDERS)
        world.begin(item(9), operation_id="more")

        with world.store.snapshot(ORDERS) as snapshot:
            told = [next(snapshot.rows)]
            world.end(Event.CONFIRMED)
            world.plan(item(4))
            told += snapshot.rows

        assert rows == told
        assert (ORDERS, START, counts) == (snapshot.operation.operation_id, snapshot.at, snapshot.counts)
        assert 3 == world.store.counts(ORDERS)[Outcome.SUCCEEDED]

    def test_there_is_no_snapshot_of_an_operation_that_nobody_made(self, world: World) -> None:
        with pytest.raises(LedgerError), world.store.snapshot("nobody's"):
            pass

    @pytest.mark.parametrize("number", [1, -1, 10**6])
    def test_a_row_or_claim_that_is_not_there_is_refused(self, world: World, number: int) -> None:
        [row] = world.begin()
        with pytest.raises(LedgerError):
            world.store.row(row.number + number)
        with pytest.raises(LedgerError):
            world.store.batch(world.take().epoch + number)

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_closed_store_answers_nothing(self, world: World, verb: str) -> None:
        world.begin()
        world.take()
        world.closed = True
        with world.store as store:
            assert store is world.store

        with pytest.raises(LedgerError):
            VERBS[verb](world.store)

    def test_closing_twice_is_closing(self, world: World) -> None:
        world.store.close()
        world.store.close()
        world.closed = True
