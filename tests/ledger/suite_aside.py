"""Conformance: rows whose payload is no longer what was planned."""

from __future__ import annotations

import pytest

from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, Planned, Review, Source
from itemledger.errors import ClaimLostError, LedgerError, LedgerLawError
from tests.ledger.world import ORDERS, World, item

MOVED = item(1, source=Source("orders.jsonl", 7, 9))


class SetAside:
    def test_a_row_whose_payload_changed_waits_for_a_person_and_the_others_go_on(self, world: World) -> None:
        world.begin(count=3)
        batch = world.take()
        [first, *others] = batch.items

        world.store.release(batch.epoch, set_aside=[first])

        row = world.row()
        assert (Outcome.PENDING, Review.SOURCE_CHANGED, None) == (row.outcome, row.review, row.due_at)
        assert (None, 0, 0) == (row.epoch, row.attempts, row.dispatches)
        assert (1, ["planned", "set_aside"]) == (world.store.reviews(ORDERS), world.events())
        assert tuple(others) == world.take().items
        assert ["planned"] == world.events(2)

    def test_it_is_not_offered_again_by_itself(self, world: World) -> None:
        world.begin()
        world.store.release(world.take().epoch, set_aside=[world.row().number])
        world.wall.forward(100_000)

        claimed = world.claim()

        assert (None, (), None) == (claimed.batch, claimed.exhausted, claimed.wait_s)

    def test_planned_again_it_goes_on_from_where_the_item_now_is(self, world: World) -> None:
        world.begin()
        world.store.release(world.take().epoch, set_aside=[world.row().number])
        world.wall.forward(5)

        assert Planned(repeated=1) == world.plan(MOVED)

        row = world.row()
        assert (None, world.store.now(), MOVED.source) == (row.review, row.due_at, row.source)
        assert ["planned", "set_aside", "planned_again"] == world.events()
        world.end(Event.CONFIRMED)

    def test_an_item_that_comes_twice_in_one_call_comes_back_once_and_lies_where_it_was_told_last(
        self, world: World
    ) -> None:
        world.begin(item(1))
        world.store.release(world.take().epoch, set_aside=[world.row().number])

        assert Planned(repeated=3) == world.plan(MOVED, item(1), item(1, source=Source()))

        assert item(1).source == world.row().source
        assert ["planned", "set_aside", "planned_again"] == world.events()

    def test_what_comes_later_in_its_group_does_not_wake_it(self, world: World) -> None:
        world.begin(item(1, group_id="g"), item(2, group_id="g"))
        world.store.release(world.take().epoch, set_aside=[world.row().number])

        world.plan(item(3, group_id="g", refused="too large"))

        assert (Review.SOURCE_CHANGED, None, None) == (world.row().review, world.row().due_at, world.row(2).due_at)
        assert None is world.claim().batch

    def test_another_payload_under_its_key_does_not_bring_it_back(self, world: World) -> None:
        world.begin()
        world.store.release(world.take().epoch, set_aside=[world.row().number])

        assert 1 == len(world.plan(item(1, payload_hash="other")).refused)

        assert Review.SOURCE_CHANGED is world.row().review

    @pytest.mark.parametrize("again", [False, True])
    def test_a_person_can_leave_it(self, world: World, again: bool) -> None:
        world.begin()
        if again:
            world.end(Event.LEFT_UNPROCESSED)
        world.store.release(world.take().epoch, set_aside=[world.row().number])

        for decided in (Decided.SUCCEEDED, Decided.RETRY):
            with pytest.raises(LedgerError):
                world.store.decide(world.row().number, decided, who="ann", why="looked")
        after = world.store.decide(world.row().number, Decided.TERMINAL, who="ann", why="the line was wrong")

        assert (Outcome.TERMINAL, None, None) == (after.outcome, after.review, after.due_at)
        assert after == world.row()
        assert "settled" == world.events()[-1]

    def test_one_that_may_be_done_is_looked_up_when_its_payload_is_there_again(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST)
        world.store.release(world.take().epoch, set_aside=[world.row().number])
        assert (Outcome.RECONCILE, None) == (world.row().outcome, world.row().due_at)

        world.plan(MOVED)

        assert Outcome.RECONCILE is world.row().outcome
        world.settle(Event.FOUND)

    def test_the_first_of_a_group_holds_the_others_back_and_is_not_woken_by_them(self, world: World) -> None:
        world.begin(*(item(number, group_id="g") for number in (1, 2)))
        world.store.release(world.take().epoch, set_aside=[world.row().number])

        world.plan(item(3, group_id="g"))
        world.store.planning_ended(ORDERS)

        assert None is world.claim().batch
        world.plan(item(1, group_id="g"))
        assert (world.row().number,) == world.take().items

    def test_only_rows_of_the_claim_are_set_aside(self, world: World) -> None:
        world.begin(count=2)
        batch = world.take(1)
        before = world.everything()

        with pytest.raises(LedgerLawError):
            world.store.release(batch.epoch, set_aside=[world.row(2).number])

        assert before == world.everything()

    def test_who_lost_the_claim_sets_nothing_aside(self, world: World) -> None:
        world.begin(policy=Policy(lease_s=60.0))
        lost = world.take()
        world.outlive(lost)
        world.claim()
        before = world.everything()

        with pytest.raises(ClaimLostError):
            world.store.release(lost.epoch, set_aside=lost.items)

        assert before == world.everything()
