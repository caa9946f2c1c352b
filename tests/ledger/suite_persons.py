"""Conformance: what persons decide, what retention takes, what a report brings back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from itemledger.core.batches import Move, Recorded
from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, FormerPolicy, Pruned, Review, Row
from itemledger.core.write_api import Effect, Replay, Scope
from itemledger.errors import EvidenceError, LedgerError
from tests.ledger.world import EVERY_ROW, EVIDENCE, ORDERS, START, World, absent, item, operation

SHORT = Policy(keep_s=100.0)
#: What becomes of a row that a person decides; None where the decision does not fit.
DECISIONS: dict[tuple[Outcome, Decided], tuple[str, Outcome] | None] = {
    (Outcome.RECONCILE, Decided.SUCCEEDED): ("settled", Outcome.SUCCEEDED),
    (Outcome.RECONCILE, Decided.RETRY): ("settled", Outcome.RETRYABLE),
    (Outcome.RECONCILE, Decided.TERMINAL): ("settled", Outcome.TERMINAL),
    (Outcome.TERMINAL, Decided.SUCCEEDED): ("settled", Outcome.SUCCEEDED),
    (Outcome.TERMINAL, Decided.RETRY): ("reopened", Outcome.RETRYABLE),
    (Outcome.TERMINAL, Decided.TERMINAL): ("reviewed", Outcome.TERMINAL),
    **{
        (outcome, decided): None
        for outcome in (Outcome.PENDING, Outcome.RETRYABLE, Outcome.SUCCEEDED, Outcome.IN_FLIGHT)
        for decided in Decided
    },
}


def standing(world: World, outcome: Outcome) -> Row:
    """The only row, brought there with its counters above zero where that can be; in review where it waits for that."""
    world.begin()
    if outcome is Outcome.IN_FLIGHT:
        world.send()
    ends = {
        Outcome.SUCCEEDED: (Event.CONFIRMED, None),
        Outcome.RETRYABLE: (Event.FAILED_TRANSIENTLY, None),
        Outcome.RECONCILE: (Event.LOST, Review.NO_LOOK_UP),
        Outcome.TERMINAL: (Event.REFUSED, Review.REFUSED),
    }
    if outcome in ends:
        event, review = ends[outcome]
        world.end(event, delay_s=None, review=review, error_code="Code" if review else None, batch_limit=1)
    assert outcome is world.row().outcome
    return world.row()


class Decisions:
    @pytest.mark.parametrize(("outcome", "decided"), DECISIONS)
    def test_a_decision_moves_a_row_by_the_table(self, world: World, outcome: Outcome, decided: Decided) -> None:
        row = standing(world, outcome)
        world.wall.forward(2)
        before = world.everything()
        ends = DECISIONS[outcome, decided]
        if ends is None:
            with pytest.raises(LedgerError):
                world.store.decide(row.number, decided, who="ann", why="looked")
            assert before == world.everything()
            return

        after = world.store.decide(row.number, decided, who="ann", why="looked")

        event, stands = ends
        assert (stands, None) == (after.outcome, after.review)
        assert after == world.row()
        assert 0 == world.store.reviews(ORDERS)
        last = world.store.history(row.number)[-1]
        assert (event, outcome, stands, START + 2) == (last.event, last.before, last.after, last.at)
        assert ("ann", "looked") == (last.detail["who"], last.detail["why"])

    @pytest.mark.parametrize("outcome", [Outcome.RECONCILE, Outcome.TERMINAL])
    def test_what_is_sent_again_begins_anew(self, world: World, outcome: Outcome) -> None:
        row = standing(world, outcome)

        after = world.store.decide(row.number, Decided.RETRY, who="ann", why="looked")

        assert (0, 0, 0, 0, START) == (
            after.attempts,
            after.claims,
            after.look_ups,
            after.lost_attempts,
            after.due_at,
        )
        assert (None, None, None, None) == (after.batch_limit, after.replay_until, after.replay_of, after.late_epoch)
        world.end(Event.CONFIRMED)

    @pytest.mark.parametrize(("who", "why"), [("", "looked"), ("ann", ""), (" ", "looked"), ("ann", "\t ")])
    def test_a_decision_says_who_and_why(self, world: World, who: str, why: str) -> None:
        row = standing(world, Outcome.TERMINAL)
        before = world.everything()

        with pytest.raises(LedgerError):
            world.store.decide(row.number, Decided.RETRY, who=who, why=why)

        assert before == world.everything()

    @pytest.mark.parametrize("decided", Decided)
    @pytest.mark.parametrize("dispatched", [False, True])
    def test_a_row_that_a_worker_holds_is_not_decided(self, world: World, decided: Decided, dispatched: bool) -> None:
        world.begin()
        world.end(Event.LOST)
        if dispatched:
            world.look_up()
        else:
            world.take()
        before = world.everything()

        with pytest.raises(LedgerError):
            world.store.decide(world.row().number, decided, who="ann", why="looked")

        assert before == world.everything()

    def test_a_row_that_is_not_there_is_not_decided(self, world: World) -> None:
        with pytest.raises(LedgerError):
            world.store.decide(1, Decided.RETRY, who="ann", why="looked")


class Retention:
    def test_old_finished_rows_go_with_their_history(self, world: World) -> None:
        world.begin(count=3, policy=SHORT)
        numbers = [row.number for row in world.store.rows()]
        world.end(Event.CONFIRMED, most=1)
        world.end(Event.REFUSED, most=1)
        world.wall.forward(100)

        pruned = world.store.prune(ORDERS, older_than_s=100)

        assert Pruned(2, {"open": 1}) == pruned
        assert [numbers[2]] == [row.number for row in world.store.rows()]
        assert all(absent(world.store, number) for number in numbers[:2])
        assert [] == history_of(world, numbers[0])
        assert ["planned"] == world.events(3)

    def test_a_key_is_free_again_after_its_row_is_gone(self, world: World) -> None:
        [old] = world.begin(policy=Policy(keep_s=0.0))
        world.end(Event.CONFIRMED)
        world.store.prune(ORDERS, older_than_s=0)

        assert 1 == world.plan(item(1, payload_hash="other")).new
        assert old.number < world.row().number

    def test_rows_that_are_not_final_stay(self, world: World) -> None:
        world.begin(count=5, policy=SHORT)
        world.end(Event.LEFT_UNPROCESSED, most=1, delay_s=1e6)
        world.end(Event.LOST, most=1, delay_s=1e6)
        world.send(most=1)
        world.take(most=1)
        world.wall.forward(50_000)

        assert Pruned(0, {"open": 5}) == world.store.prune(ORDERS, older_than_s=0)

    def test_rows_in_review_stay(self, world: World) -> None:
        world.begin(policy=SHORT)
        world.end(Event.REFUSED, review=Review.REFUSED)
        world.wall.forward(100)

        assert Pruned(0, {"review": 1}) == world.store.prune(ORDERS, older_than_s=0)
        world.store.decide(world.row().number, Decided.TERMINAL, who="ann", why="seen")
        world.wall.forward(100)
        assert Pruned(1, {}) == world.store.prune(ORDERS, older_than_s=0)

    def test_rows_stay_while_the_provider_remembers_their_send(self, world: World) -> None:
        world.begin(policy=SHORT)
        world.end(Event.CONFIRMED, replay=Replay(Scope.ITEM, 300.0, "made up"))
        world.wall.forward(299)

        assert Pruned(0, {"window": 1}) == world.store.prune(ORDERS, older_than_s=0)
        world.wall.forward(2)
        assert Pruned(1, {}) == world.store.prune(ORDERS, older_than_s=0)

    def test_rows_stay_for_the_business_window(self, world: World) -> None:
        world.begin(policy=SHORT)
        world.wall.forward(50)
        world.end(Event.CONFIRMED)
        world.wall.forward(99)

        assert Pruned(0, {"business": 1}) == world.store.prune(ORDERS, older_than_s=0)
        world.wall.forward(1)
        assert Pruned(1, {}) == world.store.prune(ORDERS, older_than_s=0)

    def test_younger_rows_are_not_spoken_of(self, world: World) -> None:
        world.begin(policy=Policy(keep_s=0.0))
        world.end(Event.CONFIRMED)
        world.wall.forward(99)

        assert Pruned(0, {}) == world.store.prune(ORDERS, older_than_s=100)

    def test_claims_go_with_the_last_of_their_rows_and_no_epoch_comes_again(self, world: World) -> None:
        world.begin(count=3, policy=SHORT)
        whole = world.end(Event.CONFIRMED, most=2)
        half = world.send(most=1)
        world.record(half, Event.LEFT_UNPROCESSED)
        last = world.end(Event.CONFIRMED)
        world.wall.forward(100)
        world.store.prune(ORDERS, older_than_s=100)

        for gone in (whole, half):
            with pytest.raises(LedgerError):
                world.store.batch(gone.epoch)
            assert Recorded(late=True) == world.record(gone, Event.CONFIRMED), "it comes too late to say anything"
        assert last.epoch == world.store.batch(last.epoch).epoch
        world.plan(item(9))
        assert last.epoch < world.take().epoch

    def test_a_claim_stays_while_one_of_its_rows_does(self, world: World) -> None:
        world.begin(count=2, policy=SHORT)
        batch = world.send()
        [one, two] = batch.items
        world.store.record(batch.epoch, EVIDENCE, [Move(one, Event.CONFIRMED), Move(two, Event.LEFT_UNPROCESSED)])
        world.end(Event.NOT_PROCESSED, charged=False)
        world.wall.forward(100)

        assert 1 == world.store.prune(ORDERS, older_than_s=100).deleted

        assert batch.items == world.store.batch(batch.epoch).items

    def test_other_operations_are_left_alone(self, world: World) -> None:
        world.begin(item(1), policy=Policy(keep_s=0.0))
        world.end(Event.CONFIRMED)
        world.begin(item(2, refused="too large"), item(3), policy=Policy(keep_s=0.0), operation_id="more")

        assert Pruned(1, {}) == world.store.prune(ORDERS, older_than_s=0)
        assert 2 == len(world.store.rows())


class Restoring:
    """From the rows of one ledger into another."""

    def test_restored_rows_stand_where_they_stood_under_new_numbers(self, world: World) -> None:
        told = report(world)
        world.reopen()
        world.begin(item(20), item(21), operation_id="more")

        assert len(told) == world.store.restore(operation(planned_at=START), told)

        rows = world.store.rows(ORDERS)
        assert [kept(row) for row in told] == [kept(row) for row in rows]
        assert not {row.number for row in rows} & {row.number for row in world.store.rows("more")}
        assert all(row.epoch is None for row in rows)
        assert {"more", ORDERS} == {each.operation_id for each in world.store.operations()}

    def test_a_restored_operation_goes_on(self, world: World) -> None:
        told = report(world)
        world.reopen()
        world.store.restore(operation(planned_at=START), told)

        taken = {row.outcome for row in (*world.claim(read_back=None).rows, *world.claim().rows)}

        assert {Outcome.PENDING, Outcome.RETRYABLE, Outcome.RECONCILE} == taken

    def test_a_row_in_flight_is_not_restored_to_be_nobodys_for_ever(self, world: World) -> None:
        world.begin()
        world.send()
        told = world.store.rows()
        world.reopen()
        world.store.restore(operation(planned_at=START), told)
        world.wall.forward(3600)

        world.claim()

        assert Outcome.RECONCILE is world.row().outcome, "it may be done"

    def test_a_report_that_breaks_off_restores_nothing(self, world: World) -> None:
        """Half of it, planned again, would be sent again where it had succeeded."""
        told = report(world)
        world.reopen()
        before = world.everything()

        def cut() -> Iterator[Row]:
            yield from (replace(told[0], number=n, item_id=f"i{n}", idempotency_key=f"k{n}") for n in range(2500))
            raise EvidenceError("the file is cut here")

        with pytest.raises(EvidenceError):
            world.store.restore(operation(planned_at=START), cut())

        assert before == world.everything()

    @pytest.mark.parametrize("there", ["operation", "key", "itself"])
    def test_a_report_that_overlaps_restores_nothing(self, world: World, there: str) -> None:
        told = report(world)
        world.reopen()
        if there == "operation":
            world.begin(item(20))
        elif there == "key":
            world.begin(item(4, item_id="another"), operation_id="more")
        else:
            told.append(told[0])
        before = world.everything()

        with pytest.raises(LedgerError):
            world.store.restore(operation(), told)

        assert before == world.everything()

    def test_a_restored_operation_is_as_it_was(self, world: World) -> None:
        former = (FormerPolicy(Policy(max_attempts=3), START - 9),)
        told = operation(SHORT, effect=Effect.REPEATABLE, endpoint="eu-west-1", former=former, planned_at=START)

        world.store.restore(told, [])

        assert [told] == world.store.operations()


def report(world: World) -> list[Row]:
    """The rows of an operation with one row in each outcome that outlives its workers."""
    world.begin(count=5)
    world.end(Event.CONFIRMED, most=1, object_ref="o-1", request_id="r-1")
    world.end(Event.REFUSED, most=1, error_code="Bad", error_message="bad", review=Review.REFUSED, delay_s=None)
    world.end(Event.LOST, most=1, delay_s=1.0)
    world.end(Event.LEFT_UNPROCESSED, most=1, delay_s=1.0, error_code="Slow")
    world.wall.forward(1)
    return world.store.rows(ORDERS, limit=EVERY_ROW)


def kept(row: Row) -> Row:
    """What a report carries into another ledger."""
    return replace(row, number=0, epoch=None, last_epoch=None, replay_of=None, updated_at=0.0)


def history_of(world: World, number: int) -> list[object]:
    """What is left of the history of a row that may not be there."""
    try:
        return list(world.store.history(number))
    except LedgerError:
        return []
