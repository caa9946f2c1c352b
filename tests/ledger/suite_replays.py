"""Conformance: sends that are repeated only because the provider would recognise them."""

from __future__ import annotations

import pytest

from itemledger.core.batches import Batch, BatchState, Kind, Move
from itemledger.core.outcome import Event
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, Review
from itemledger.core.write_api import Replay, Scope
from itemledger.errors import ClaimLostError
from tests.ledger.world import EVIDENCE, ORDERS, START, World, item

ITEM = Replay(Scope.ITEM, 300.0, "made up")
REQUEST = Replay(Scope.REQUEST, 300.0, "made up")


class Windows:
    def test_the_window_begins_with_the_send(self, world: World) -> None:
        world.begin()
        batch = world.take()
        world.wall.forward(4)
        world.store.dispatch(batch.epoch, ITEM)

        kept = world.store.batch(batch.epoch)
        assert (Scope.ITEM, START + 304) == (kept.replay_scope, kept.replay_safe_until)

    @pytest.mark.parametrize("replay", [ITEM, REQUEST, None])
    def test_a_lost_send_leaves_its_window_on_its_rows(self, world: World, replay: Replay | None) -> None:
        world.begin()
        batch = world.end(Event.LOST, replay=replay)

        row = world.row()
        assert (1, START + 300 if replay else None, batch.epoch if replay is REQUEST else None) == (
            row.lost_attempts,
            row.replay_until,
            row.replay_of,
        )

    def test_the_window_that_counts_is_that_of_the_first_send_with_an_unknown_end(self, world: World) -> None:
        world.begin()
        allowed(world, ITEM)
        world.wall.forward(100)
        world.end(Event.LOST, replay=ITEM)

        row = world.row()
        assert (2, START + 300) == (row.lost_attempts, row.replay_until)

    def test_a_known_end_takes_the_window_away(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST, replay=ITEM)
        world.settle(Event.PROVEN_ABSENT)

        row = world.row()
        assert (0, None, 0) == (row.lost_attempts, row.replay_until, row.look_ups)
        world.wall.forward(1000)
        world.end(Event.CONFIRMED)

    def test_a_row_whose_window_closes_is_not_sent_but_looked_up(self, world: World) -> None:
        world.begin()
        allowed(world, ITEM)
        world.wall.forward(280)  # 20 seconds are left: as long as a call may take

        batch = world.take()

        assert Kind.READ_BACK is batch.kind
        assert "replay_expired" == world.events()[-1]
        assert 1 == world.row().look_ups

    def test_a_row_whose_window_stays_open_long_enough_is_sent(self, world: World) -> None:
        world.begin()
        allowed(world, ITEM)
        world.wall.forward(279)

        world.send()

    def test_a_dispatch_that_would_outlast_the_window_is_refused_and_changes_nothing(self, world: World) -> None:
        world.begin()
        allowed(world, ITEM)
        world.wall.forward(270)
        batch = world.take()
        world.wall.forward(10)
        before = world.everything()

        with pytest.raises(ClaimLostError):
            world.store.dispatch(batch.epoch, ITEM)

        assert before == world.everything()
        world.store.release(batch.epoch)
        assert Kind.READ_BACK is world.take().kind

    def test_a_first_send_needs_no_window(self, world: World) -> None:
        world.begin()
        world.end(Event.FAILED_TRANSIENTLY, replay=ITEM)
        world.wall.forward(1000)

        world.send(replay=ITEM)

    def test_at_least_once_is_sent_after_any_window(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST, replay=ITEM)
        world.settle(Event.REPLAY_ALLOWED, within_window=False)
        world.wall.forward(1000)

        world.send()

        assert (1, None) == (world.row().lost_attempts, world.row().replay_until)


class Requests:
    """A token that protects a request protects exactly its items in its order."""

    def test_a_request_is_repeated_whole_in_its_order_under_its_token(self, world: World) -> None:
        numbers = [row.number for row in world.begin(count=3)]
        first = allowed(world, REQUEST, delays=(2.0, 0.0, 1.0))
        world.wall.forward(2)

        again = world.send(replay=REQUEST)

        assert (tuple(numbers), first.token, first.epoch) == (again.items, again.token, again.replay_of)
        assert (Scope.REQUEST, START + 300) == (again.replay_scope, again.replay_safe_until)

    def test_a_request_is_repeated_when_all_its_rows_are_due(self, world: World) -> None:
        world.begin(count=2)
        first = allowed(world, REQUEST, delays=(0.0, 10.0))

        claimed = world.claim()
        assert claimed.batch is None
        assert claimed.wait_s != 0.0, "a worker would ask again without a pause"
        world.wall.forward(10)
        assert first.items == world.take().items

    def test_a_repeated_request_takes_no_other_row_along(self, world: World) -> None:
        world.begin(count=4)
        first = allowed(world, REQUEST, most=2)
        others = tuple(row.number for row in world.store.rows(ORDERS)[2:])

        assert {first.items, others} == {world.take().items, world.take().items}

    def test_a_request_that_is_lost_again_stays_the_first_one(self, world: World) -> None:
        world.begin(count=2)
        first = allowed(world, REQUEST)
        second = world.end(Event.LOST, replay=REQUEST)
        world.settle(Event.REPLAY_ALLOWED, within_window=True)

        third = world.send(replay=REQUEST)

        assert first.token == second.token == third.token
        assert first.epoch == third.replay_of == world.row().replay_of
        assert (2, START + 300) == (world.row().lost_attempts, world.row().replay_until)

    def test_a_request_waits_until_each_of_its_rows_may_be_repeated(self, world: World) -> None:
        world.begin(count=2)
        first, lost = world.end(Event.LOST, replay=REQUEST), world.look_up()
        one, two = first.items
        world.store.record(
            lost.epoch,
            EVIDENCE,
            [
                Move(one, Event.REPLAY_ALLOWED, within_window=True),
                Move(two, Event.INCONCLUSIVE, delay_s=30.0),
            ],
        )

        assert world.claim().batch is None
        world.wall.forward(30)
        world.settle(Event.REPLAY_ALLOWED, within_window=True)
        assert first.items == world.send().items

    def test_a_request_of_which_a_row_waits_for_a_person_is_looked_up(self, world: World) -> None:
        world.begin(count=2)
        first, lost = world.end(Event.LOST, replay=REQUEST), world.look_up()
        one, two = first.items
        world.store.record(
            lost.epoch,
            EVIDENCE,
            [
                Move(one, Event.REPLAY_ALLOWED, within_window=True),
                Move(two, Event.INCONCLUSIVE, delay_s=None, review=Review.DIFFERENT),
            ],
        )

        assert (one,) == world.look_up().items
        assert "replay_expired" == world.store.history(one)[-1].event

    @pytest.mark.parametrize("decided", [Decided.SUCCEEDED, Decided.TERMINAL, Decided.RETRY])
    def test_a_request_that_can_no_longer_be_whole_is_looked_up(self, world: World, decided: Decided) -> None:
        world.begin(count=2)
        first, lost = world.end(Event.LOST, replay=REQUEST), world.look_up()
        one, two = first.items
        world.store.record(
            lost.epoch,
            EVIDENCE,
            [
                Move(one, Event.REPLAY_ALLOWED, within_window=True),
                Move(two, Event.INCONCLUSIVE, delay_s=None, review=Review.DIFFERENT),
            ],
        )
        world.store.decide(two, decided, who="ann", why="looked")

        batch = world.take()

        assert (Kind.READ_BACK, (one,)) == (batch.kind, batch.items)
        assert "replay_expired" == world.store.history(one)[-1].event

    def test_a_repeated_request_never_goes_over_a_rows_attempts(self, world: World) -> None:
        world.begin(item(1), item(2), policy=Policy(max_attempts=2))
        world.end(Event.FAILED_TRANSIENTLY, most=1)
        allowed(world, REQUEST, delays=(30.0, 0.0))  # the first has had both, and its cap is seen when it is due

        claimed = world.claim()

        assert all(row.attempts <= 2 for row in claimed.rows)
        assert all(row.attempts <= 2 for row in world.store.rows(ORDERS))

    @pytest.mark.parametrize("used_up", [0, 1])
    def test_a_request_with_a_used_up_row_is_looked_up_whole(self, world: World, used_up: int) -> None:
        world.begin(item(1), item(2), policy=Policy(max_attempts=2))
        batch = world.send()
        world.store.record(
            batch.epoch,
            EVIDENCE,
            [Move(row, Event.NOT_PROCESSED, charged=place == used_up) for place, row in enumerate(batch.items)],
        )
        allowed(world, REQUEST)

        claimed = world.claim()

        assert () == claimed.exhausted
        assert claimed.batch is not None
        assert (Kind.READ_BACK, batch.items) == (claimed.batch.kind, claimed.batch.items)

    def test_a_lapsed_request_can_be_repeated_whole(self, world: World) -> None:
        world.begin(count=2)
        first = world.send(replay=REQUEST)
        world.outlive(first)
        world.claim()
        world.wall.forward(5)
        world.settle(Event.REPLAY_ALLOWED, within_window=True)

        again = world.send()

        assert BatchState.LAPSED is world.store.batch(first.epoch).state
        assert (first.items, first.token) == (again.items, again.token)


def allowed(world: World, replay: Replay, *, most: int = 25, delays: tuple[float, ...] = ()) -> Batch:
    """A send that was lost, and whose rows may all be sent again within its window, after such delays."""
    first = world.end(Event.LOST, replay=replay, most=most)
    look_up = world.look_up()
    assert set(first.items) == set(look_up.items)
    each = delays or (0.0,) * len(first.items)
    world.store.record(
        look_up.epoch,
        EVIDENCE,
        [
            Move(row, Event.REPLAY_ALLOWED, delay_s=delay, within_window=True)
            for row, delay in zip(first.items, each, strict=True)
        ],
    )
    return first
