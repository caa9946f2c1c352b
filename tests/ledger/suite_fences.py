"""Conformance: a claim that was lost moves nothing, and what it still learns is kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from itemledger.core.batches import Batch, CallEvidence, Kind, Move, Recorded
from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, Review
from itemledger.errors import ClaimLostError, LedgerError, LedgerLawError
from tests.ledger.world import ORDERS, World, absent, item

LATE = CallEvidence("late-request", label="synthetic", duration_ms=70_000.0)


def recorded(world: World) -> Batch:
    return world.end(Event.LEFT_UNPROCESSED)


def released(world: World) -> Batch:
    batch = world.take()
    world.store.release(batch.epoch)
    return batch


def lapsed(world: World) -> Batch:
    batch = world.take()
    world.outlive(batch)
    return batch


def lapsed_and_found_absent(world: World) -> Batch:
    batch = world.send()
    world.outlive(batch)
    world.claim()
    world.wall.forward(5)
    world.settle(Event.PROVEN_ABSENT)
    return batch


ENDINGS = pytest.mark.parametrize("lose", [recorded, released, lapsed, lapsed_and_found_absent])
Lose = Callable[[World], Batch]


class Fences:
    """After each way to lose a claim, and with its rows in another's hands."""

    @ENDINGS
    @pytest.mark.parametrize("verb", ["heartbeat", "dispatch", "release"])
    def test_a_lost_claim_is_refused_and_changes_nothing(self, world: World, lose: Lose, verb: str) -> None:
        world.begin(count=2)
        lost = lose(world)
        world.take()
        before = world.everything()

        with pytest.raises(ClaimLostError):
            getattr(world.store, verb)(lost.epoch)

        assert before == world.everything()

    @pytest.mark.parametrize("lose", [recorded, released, lapsed_and_found_absent])
    @pytest.mark.parametrize("verb", ["heartbeat", "dispatch", "release"])
    def test_a_lost_claim_is_refused_though_its_rows_are_free(self, world: World, lose: Lose, verb: str) -> None:
        world.begin(count=2)
        lost = lose(world)
        before = world.everything()

        with pytest.raises(ClaimLostError):
            getattr(world.store, verb)(lost.epoch)

        assert before == world.everything()

    @ENDINGS
    @pytest.mark.parametrize("event", [Event.CONFIRMED, Event.REFUSED, Event.LOST])
    def test_a_late_answer_moves_nothing(self, world: World, lose: Lose, event: Event) -> None:
        world.begin(count=2)
        lost = lose(world)
        holder = world.send()
        before = [(row.outcome, row.epoch, row.attempts, row.due_at) for row in world.store.rows()]

        assert Recorded(late=True) == world.record(lost, event, evidence=LATE)

        assert before == [(row.outcome, row.epoch, row.attempts, row.due_at) for row in world.store.rows()]
        assert holder == world.store.batch(holder.epoch)
        assert Recorded(holder.items) == world.record(holder, Event.CONFIRMED)

    def test_an_epoch_that_never_was_is_refused_by_every_verb(self, world: World) -> None:
        world.begin()
        world.take()
        for verb in (world.store.heartbeat, world.store.dispatch, world.store.release, world.store.batch):
            with pytest.raises(LedgerError):
                verb(10_000)
        with pytest.raises((LedgerError, LedgerLawError)):
            world.store.record(10_000, LATE, [])

    def test_a_second_dispatch_is_refused(self, world: World) -> None:
        world.begin()
        batch = world.send()
        before = world.everything()

        with pytest.raises(ClaimLostError):
            world.store.dispatch(batch.epoch)

        assert before == world.everything()

    def test_a_claim_that_was_not_dispatched_has_no_answer(self, world: World) -> None:
        world.begin()
        batch = world.take()
        before = world.everything()

        with pytest.raises(LedgerLawError):
            world.record(batch, Event.CONFIRMED)

        assert before == world.everything()

    def test_a_second_answer_to_one_call_moves_nothing(self, world: World) -> None:
        world.begin()
        batch = world.end(Event.CONFIRMED)
        before = world.row()

        assert Recorded(late=True) == world.record(batch, Event.REFUSED)
        assert before == world.row()


class LateEvidence:
    def test_a_late_answer_is_kept_in_the_history(self, world: World) -> None:
        world.begin()
        lost = lapsed_and_found_absent(world)

        world.record(lost, Event.REFUSED, evidence=LATE, error_code="Bad", detail={"from": "the late answer"})

        entry = world.store.history(world.row().number)[-1]
        assert ("late", lost.epoch, LATE) == (entry.event, entry.epoch, entry.evidence)
        assert Outcome.RETRYABLE is entry.before is entry.after
        assert {"refused", "Bad", "the late answer"} <= set(entry.detail.values())

    def test_a_late_success_is_found_without_another_send(self, world: World) -> None:
        world.begin()
        lost = lapsed_and_found_absent(world)
        world.record(lost, Event.CONFIRMED, evidence=LATE, object_ref="message-7")
        assert (Outcome.RETRYABLE, lost.epoch) == (world.row().outcome, world.row().late_epoch)

        claimed = world.claim()

        row = world.row()
        assert claimed.batch is None
        assert (Outcome.SUCCEEDED, "message-7", 1, 0) == (row.outcome, row.object_ref, row.attempts, row.lost_attempts)
        assert "found" == world.events()[-1]

    def test_a_late_success_settles_a_row_in_reconcile_without_a_look_up(self, world: World) -> None:
        world.begin()
        lost = world.send()
        world.outlive(lost)
        world.claim()
        world.record(lost, Event.CONFIRMED)

        assert world.claim().batch is None
        assert (Outcome.SUCCEEDED, 0) == (world.row().outcome, world.row().look_ups)

    def test_a_late_success_settles_a_row_that_waits_for_a_person(self, world: World) -> None:
        world.begin()
        lost = world.send()
        world.outlive(lost)
        world.claim()
        world.wall.forward(5)
        world.settle(Event.INCONCLUSIVE, delay_s=None, review=Review.DIFFERENT)
        world.record(lost, Event.CONFIRMED)

        world.claim()

        assert (Outcome.SUCCEEDED, None) == (world.row().outcome, world.row().review)
        assert 0 == world.store.reviews(ORDERS)

    @pytest.mark.parametrize("event", [Event.REFUSED, Event.LOST, Event.LEFT_UNPROCESSED, Event.NOT_PROCESSED])
    def test_a_late_answer_that_is_no_success_settles_nothing(self, world: World, event: Event) -> None:
        world.begin()
        lost = lapsed_and_found_absent(world)
        world.record(lost, event)

        assert world.row().late_epoch is None
        assert Kind.SEND is world.take().kind

    def test_a_late_success_waits_while_another_holds_the_row(self, world: World) -> None:
        world.begin()
        lost = lapsed_and_found_absent(world)
        holder = world.send()
        world.record(lost, Event.CONFIRMED)

        assert world.claim().batch is None
        assert Outcome.IN_FLIGHT is world.row().outcome
        world.record(holder, Event.FAILED_TRANSIENTLY)
        assert world.claim().batch is None
        assert Outcome.SUCCEEDED is world.row().outcome

    def test_a_late_success_outlives_a_read_back_that_sees_nothing(self, world: World) -> None:
        world.begin()
        lost = world.send()
        world.outlive(lost)
        world.claim()
        world.wall.forward(5)
        look_up = world.look_up()
        world.record(lost, Event.CONFIRMED)
        world.record(look_up, Event.PROVEN_ABSENT)

        assert world.claim().batch is None, "its answer said that it is done, so it is not sent again"
        assert Outcome.SUCCEEDED is world.row().outcome

    def test_a_late_success_of_a_row_given_up_goes_to_a_person(self, world: World) -> None:
        world.begin(policy=Policy(max_attempts=1))
        lost = lapsed_and_found_absent(world)
        world.claim()
        number = world.row().number
        world.store.decide(number, Decided.TERMINAL, who="ann", why="exhausted")
        world.record(lost, Event.CONFIRMED)

        row = world.row()
        assert (Outcome.TERMINAL, Review.LATE_SUCCESS, lost.epoch) == (row.outcome, row.review, row.late_epoch)
        assert [row] == world.store.rows(ORDERS, in_review=True)
        assert Outcome.SUCCEEDED is world.store.decide(number, Decided.SUCCEEDED, who="ann", why="late").outcome

    def test_a_row_that_ends_after_a_late_success_is_for_a_person(self, world: World) -> None:
        """The answer comes while another send of it is under way, and that one is refused."""
        world.begin()
        lost = lapsed_and_found_absent(world)
        other = world.send()
        world.record(lost, Event.CONFIRMED)

        world.record(other, Event.REFUSED, review=Review.REFUSED)

        assert (Outcome.TERMINAL, Review.LATE_SUCCESS) == (world.row().outcome, world.row().review)

    def test_a_late_success_of_a_finished_row_is_only_history(self, world: World) -> None:
        world.begin()
        lost = lapsed_and_found_absent(world)
        world.end(Event.CONFIRMED)
        before = world.row()

        world.record(lost, Event.CONFIRMED, object_ref="another")

        assert before == world.row()
        assert "late" == world.events()[-1]

    @pytest.mark.parametrize("damage", ["missing", "doubled", "foreign", "none"])
    def test_a_late_answer_must_be_whole_too(self, world: World, damage: str) -> None:
        world.begin(count=3)
        lost = world.take(most=2)
        world.outlive(lost)
        world.claim()
        before = world.everything()

        with pytest.raises(LedgerLawError):
            world.store.record(lost.epoch, LATE, damaged(world, lost, damage))

        assert before == world.everything()

    def test_a_late_answer_for_a_row_that_was_pruned_touches_no_other(self, world: World) -> None:
        [gone] = world.begin(policy=Policy(keep_s=0.0))
        lost = lapsed_and_found_absent(world)
        world.end(Event.CONFIRMED)
        assert 1 == world.store.prune(ORDERS, older_than_s=0).deleted
        world.plan(item(2))
        before = world.row(2)

        assert Recorded(late=True) == world.record(lost, Event.CONFIRMED)

        assert before == world.row(2)
        assert gone.number != before.number, "a number is never given twice"
        assert absent(world.store, gone.number)


def damaged(world: World, batch: Batch, damage: str, event: Event = Event.CONFIRMED) -> list[Move]:
    """Moves for a batch of two that are not exactly its rows."""
    first, second = (Move(row, event) for row in batch.items)
    foreign = next(row.number for row in world.store.rows() if row.number not in batch.items)
    return {
        "missing": [first],
        "doubled": [first, second, second],
        "doubled for another": [first, first],
        "foreign": [first, second, Move(foreign, event)],
        "foreign for another": [first, Move(foreign, event)],
        "none": [],
    }[damage]
