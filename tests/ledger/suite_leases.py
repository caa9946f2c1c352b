"""Conformance: leases by the store's clock, whichever way it moves."""

from __future__ import annotations

import pytest

from itemledger.core.batches import BatchState, Kind
from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import Policy
from itemledger.errors import ClaimLostError
from tests.ledger.world import ORDERS, START, World, operation


class Leases:
    def test_a_lapsed_lease_on_a_row_that_was_not_sent_frees_it(self, world: World) -> None:
        world.begin()
        lost = world.take()
        world.outlive(lost)
        world.claim(operation_id=ORDERS, most=1)

        row = world.row()
        assert (Outcome.PENDING, 2, 2, 0) == (row.outcome, row.attempts, row.claims, row.lost_attempts)
        assert ["planned"] == world.events()
        ended = world.store.batch(lost.epoch)
        assert (BatchState.LAPSED, START + 60.5) == (ended.state, ended.ended_at)

    def test_a_lapsed_lease_on_a_dispatched_row_means_reconcile(self, world: World) -> None:
        world.begin()
        lost = world.send()
        world.outlive(lost)

        claimed = world.claim(settle_s=5.0)

        row = world.row()
        assert (Outcome.RECONCILE, None, 1, START + 65.5, None) == (
            row.outcome,
            row.epoch,
            row.lost_attempts,
            row.due_at,
            row.review,
        )
        assert (None, 5.0) == (claimed.batch, claimed.wait_s)
        last = world.store.history(row.number)[-1]
        assert ("lease_expired", lost.epoch) == (last.event, last.epoch)
        world.wall.forward(5)
        assert Kind.READ_BACK is world.take().kind

    @pytest.mark.parametrize("dispatched", [False, True])
    def test_a_lapsed_read_back_is_due_again(self, world: World, dispatched: bool) -> None:
        world.begin(count=2)
        world.end(Event.LOST)
        lost = world.look_up() if dispatched else world.take()
        world.outlive(lost)

        again = world.take()

        assert (Kind.READ_BACK, lost.items) == (again.kind, again.items)
        row = world.row()
        assert (Outcome.RECONCILE, 1, 1, 2, None) == (
            row.outcome,
            row.attempts,
            row.lost_attempts,
            row.look_ups,
            row.batch_limit,
        )

    def test_each_lapsed_send_halves_what_its_rows_are_sent_with(self, world: World) -> None:
        world.begin(count=4)
        sizes = []
        for _ in range(4):
            batch = world.take()
            sizes.append(len(batch.items))
            world.outlive(batch)

        assert [4, 2, 2, 1] == sizes  # the second pair had been in a batch of four as well

    def test_a_lapsed_dispatched_send_halves_too(self, world: World) -> None:
        world.begin(count=4)
        world.outlive(world.send())
        world.claim()

        assert [2] * 4 == [row.batch_limit for row in world.store.rows(ORDERS)]

    def test_a_lease_that_still_runs_holds(self, world: World) -> None:
        world.begin()
        world.take()
        world.wall.forward(59.5)

        claimed = world.claim()
        assert (None, 0.5) == (claimed.batch, claimed.wait_s)

    @pytest.mark.parametrize("dispatched", [False, True])
    def test_a_heartbeat_gives_the_whole_lease_again(self, world: World, dispatched: bool) -> None:
        world.begin()
        batch = world.send() if dispatched else world.take()
        world.wall.forward(50)

        world.store.heartbeat(batch.epoch)

        assert START + 110 == world.store.batch(batch.epoch).lease_until
        world.wall.forward(59)
        assert 1.0 == world.claim().wait_s

    def test_a_heartbeat_goes_by_the_policy_that_holds_now(self, world: World) -> None:
        world.begin()
        batch = world.take()
        world.store.open_operation(operation(Policy(lease_s=600.0)))

        world.store.heartbeat(batch.epoch)

        assert START + 600 == world.store.batch(batch.epoch).lease_until

    def test_a_dispatch_starts_the_lease_anew(self, world: World) -> None:
        world.begin()
        batch = world.take()
        world.wall.forward(50)
        world.store.dispatch(batch.epoch)

        kept = world.store.batch(batch.epoch)
        assert (BatchState.DISPATCHED, START + 50, START + 110) == (kept.state, kept.dispatched_at, kept.lease_until)
        row = world.row()
        assert (Outcome.IN_FLIGHT, batch.epoch, None) == (row.outcome, row.epoch, row.due_at)

    def test_a_dispatched_read_back_moves_no_row(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST)
        batch = world.take()
        before = world.row()

        world.store.dispatch(batch.epoch)

        assert before == world.row()
        assert BatchState.DISPATCHED is world.store.batch(batch.epoch).state

    @pytest.mark.parametrize("verb", ["heartbeat", "dispatch"])
    def test_a_lease_that_ran_out_unnoticed_is_refused_all_the_same(self, world: World, verb: str) -> None:
        world.begin()
        batch = world.take()
        world.outlive(batch)
        before = world.everything()

        with pytest.raises(ClaimLostError):
            getattr(world.store, verb)(batch.epoch)

        assert before == world.everything()

    def test_a_heartbeat_after_the_lease_of_a_dispatched_claim_is_refused(self, world: World) -> None:
        world.begin()
        batch = world.send()
        world.outlive(batch)
        before = world.everything()

        with pytest.raises(ClaimLostError):
            world.store.heartbeat(batch.epoch)

        assert before == world.everything()

    def test_an_answer_after_a_lease_that_nobody_saw_run_out_still_counts(self, world: World) -> None:
        world.begin()
        batch = world.send()
        world.outlive(batch)

        assert not world.record(batch, Event.CONFIRMED).late
        assert Outcome.SUCCEEDED is world.row().outcome

    def test_a_claim_whose_lease_ran_out_unnoticed_can_be_given_back(self, world: World) -> None:
        world.begin()
        batch = world.take()
        world.outlive(batch)

        world.store.release(batch.epoch)

        assert 0 == world.row().attempts

    def test_a_clock_set_back_frees_nothing_early(self, world: World) -> None:
        world.begin()
        batch = world.send()
        world.wall.back(3600)

        claimed = world.claim()

        assert (None, 3660.0) == (claimed.batch, claimed.wait_s)
        assert not world.record(batch, Event.CONFIRMED).late

    def test_after_a_clock_was_set_back_epochs_still_increase(self, world: World) -> None:
        world.begin(count=2)
        first = world.take(most=1)
        world.store.release(first.epoch)
        world.wall.back(3600)
        claimed = world.claim()
        assert (None, 3600.0) == (claimed.batch, claimed.wait_s)  # due by a clock that has to come there again
        world.wall.forward(3600)

        assert world.take().epoch > first.epoch

    def test_a_heartbeat_by_a_clock_set_back_counts_from_there(self, world: World) -> None:
        world.begin()
        batch = world.take()
        world.wall.back(3600)

        world.store.heartbeat(batch.epoch)

        assert START - 3540 == world.store.batch(batch.epoch).lease_until

    def test_a_clock_that_jumped_ahead_ends_leases_and_the_old_holder_is_fenced(self, world: World) -> None:
        world.begin()
        batch = world.take()
        world.wall.forward(1_000_000)
        again = world.take()

        with pytest.raises(ClaimLostError):
            world.store.dispatch(batch.epoch)
        world.store.dispatch(again.epoch)


class Releases:
    def test_a_released_claim_gives_its_attempts_back_and_stays_counted(self, world: World) -> None:
        numbers = tuple(row.number for row in world.begin(count=2))
        batch = world.take()
        world.wall.forward(3)

        world.store.release(batch.epoch)

        row = world.row()
        assert (Outcome.PENDING, None, batch.epoch, 0, 1, START + 3) == (
            row.outcome,
            row.epoch,
            row.last_epoch,
            row.attempts,
            row.claims,
            row.due_at,
        )
        ended = world.store.batch(batch.epoch)
        assert (BatchState.RELEASED, START + 3) == (ended.state, ended.ended_at)
        assert numbers == world.take().items

    def test_a_released_read_back_gives_its_look_up_back(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST)
        world.store.release(world.take().epoch)

        row = world.row()
        assert (1, 0, 2) == (row.attempts, row.look_ups, row.claims)

    def test_a_dispatched_claim_cannot_be_given_back(self, world: World) -> None:
        world.begin()
        batch = world.send()
        before = world.everything()

        with pytest.raises(ClaimLostError):
            world.store.release(batch.epoch)

        assert before == world.everything()
