"""Conformance: what a call means is written once, for exactly the rows of its batch, by the law."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from itemledger.core.batches import BatchState, Move, Recorded
from itemledger.core.outcome import TRANSITIONS, Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, Review
from itemledger.core.write_api import Replay, Scope
from itemledger.errors import LedgerLawError
from tests.ledger.suite_fences import damaged
from tests.ledger.world import EVIDENCE, ORDERS, START, World, item

DAMAGES = ["missing", "doubled", "doubled for another", "foreign", "foreign for another", "none"]
LAW = [(a, event, b) for a, events in TRANSITIONS.items() for event, ends in events.items() for b in ends]


class Conservation:
    @pytest.mark.parametrize("damage", DAMAGES)
    def test_a_send_is_recorded_whole_or_not_at_all(self, world: World, damage: str) -> None:
        world.begin(count=3)
        batch = world.send(most=2)
        before = world.everything()

        with pytest.raises(LedgerLawError):
            world.store.record(batch.epoch, EVIDENCE, damaged(world, batch, damage))

        assert before == world.everything()

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_a_read_back_is_recorded_whole_or_not_at_all(self, world: World, damage: str) -> None:
        world.begin(count=3)
        world.end(Event.LOST, most=2)
        batch = world.look_up()
        before = world.everything()

        with pytest.raises(LedgerLawError):
            world.store.record(batch.epoch, EVIDENCE, damaged(world, batch, damage, Event.FOUND))

        assert before == world.everything()

    @pytest.mark.parametrize("event", [event for event in Event if event not in TRANSITIONS[Outcome.IN_FLIGHT]])
    def test_what_cannot_happen_to_a_row_in_flight_is_refused(self, world: World, event: Event) -> None:
        world.begin(count=2)
        batch = world.send()
        before = world.everything()
        legal, illegal = batch.items

        with pytest.raises(LedgerLawError):
            world.store.record(batch.epoch, EVIDENCE, [Move(legal, Event.CONFIRMED), Move(illegal, event)])

        assert before == world.everything()

    @pytest.mark.parametrize(
        "event", [event for event in Event if event not in TRANSITIONS[Outcome.RECONCILE] or event is Event.SETTLED]
    )
    def test_what_no_look_up_can_mean_is_refused(self, world: World, event: Event) -> None:
        world.begin(count=2)
        world.end(Event.LOST)
        batch = world.look_up()
        before = world.everything()
        legal, illegal = batch.items

        with pytest.raises(LedgerLawError):
            world.store.record(batch.epoch, EVIDENCE, [Move(legal, Event.FOUND), Move(illegal, event)])

        assert before == world.everything()


class Records:
    def test_each_row_of_a_batch_gets_its_own_end(self, world: World) -> None:
        world.begin(count=4)
        batch = world.send()
        one, two, three, four = batch.items
        world.wall.forward(1)
        moves = [
            Move(four, Event.LOST, delay_s=5.0, error_code="Timeout", error_message="no answer"),
            Move(one, Event.CONFIRMED, request_id="r-1", object_ref="o-1"),
            Move(three, Event.REFUSED, error_code="Bad", error_message="bad", review=Review.REFUSED, delay_s=None),
            Move(two, Event.FAILED_TRANSIENTLY, delay_s=2.5, error_code="Slow", batch_limit=1),
        ]

        recorded = world.store.record(batch.epoch, EVIDENCE, moves)

        assert (set(batch.items), False) == (set(recorded.moved), recorded.late)
        told = [
            (row.outcome, row.epoch, row.due_at, row.request_id, row.object_ref, row.error_code, row.error_message)
            for row in world.store.rows()
        ]
        assert [
            (Outcome.SUCCEEDED, None, None, "r-1", "o-1", None, None),
            (Outcome.RETRYABLE, None, START + 3.5, None, None, "Slow", None),
            (Outcome.TERMINAL, None, None, None, None, "Bad", "bad"),
            (Outcome.RECONCILE, None, START + 6, None, None, "Timeout", "no answer"),
        ] == told
        assert [(None, 0), (None, 1), (Review.REFUSED, 0), (None, 0)] == [
            (row.review, row.batch_limit or 0) for row in world.store.rows()
        ]
        assert [0, 0, 0, 1] == [row.lost_attempts for row in world.store.rows()]
        assert {START + 1} == {row.updated_at for row in world.store.rows()}

    def test_the_calls_evidence_is_kept_once_and_seen_in_each_history(self, world: World) -> None:
        world.begin(count=2)
        batch = world.send()
        world.wall.forward(1)
        world.record(batch, Event.CONFIRMED, detail={"verdict": "same"})

        kept = world.store.batch(batch.epoch)
        assert (BatchState.RECORDED, START + 1, EVIDENCE) == (kept.state, kept.ended_at, kept.evidence)
        for number in batch.items:
            entry = world.store.history(number)[-1]
            assert ("confirmed", batch.epoch, START + 1, EVIDENCE) == (
                entry.event,
                entry.epoch,
                entry.at,
                entry.evidence,
            )
            assert "same" == entry.detail["verdict"]

    def test_a_row_without_a_delay_is_due_never(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST, delay_s=None, review=Review.IRREVERSIBLE)

        assert world.row().due_at is None
        assert 1 == world.store.reviews(ORDERS)

    def test_an_attempt_that_is_not_charged_is_given_back(self, world: World) -> None:
        world.begin(policy=Policy(max_attempts=1))
        for _ in range(3):
            world.end(Event.NOT_PROCESSED, charged=False)

        assert (0, 3) == (world.row().attempts, world.row().claims)
        assert () == world.claim().exhausted

    def test_a_success_clears_the_error_and_keeps_what_it_was_told(self, world: World) -> None:
        world.begin()
        world.end(Event.FAILED_TRANSIENTLY, error_code="Slow", error_message="slowly", request_id="r-1")
        world.end(Event.CONFIRMED, request_id="r-2", object_ref="o-2", possible_duplicates=2)

        row = world.row()
        assert (None, None, "r-2", "o-2", 2) == (
            row.error_code,
            row.error_message,
            row.request_id,
            row.object_ref,
            row.possible_duplicates,
        )

    def test_a_send_that_is_done_rules_out_the_unknown_ends_before(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST)
        world.settle(Event.REPLAY_ALLOWED)
        world.end(Event.CONFIRMED)

        assert (0, 2) == (world.row().lost_attempts, world.row().attempts)

    def test_a_repeated_send_that_failed_rules_out_nothing(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST)
        world.settle(Event.REPLAY_ALLOWED)
        world.end(Event.FAILED_TRANSIENTLY)

        assert 1 == world.row().lost_attempts

    def test_a_record_frees_its_rows(self, world: World) -> None:
        world.begin()
        first = world.end(Event.LEFT_UNPROCESSED)

        assert Recorded(first.items) == world.record(world.send(), Event.CONFIRMED)


class Law:
    """Every move that the law knows happens in the store; the laws of ``world`` see that nothing else does."""

    @pytest.mark.parametrize(("before", "event", "after"), LAW)
    def test_each_legal_move_can_be_reached(self, world: World, before: Outcome, event: Event, after: Outcome) -> None:
        REACHED[before, event, after](world)

        last = world.store.history(world.row().number)[-1]
        assert (event, before, after) == (last.event, last.before, last.after)
        assert after is world.row().outcome

    def test_the_table_of_moves_is_the_law(self) -> None:
        assert set(LAW) == set(REACHED)


def _sent(event: Event) -> Callable[[World], object]:
    def reach(world: World) -> None:
        world.begin()
        world.end(event)

    return reach


def _looked_up(event: Event) -> Callable[[World], object]:
    def reach(world: World) -> None:
        world.begin()
        world.end(Event.LOST)
        world.settle(event)

    return reach


def _decided(event: Event, decided: Decided) -> Callable[[World], object]:
    def reach(world: World) -> None:
        world.begin()
        world.end(event)
        world.store.decide(world.row().number, decided, who="ann", why="looked")

    return reach


def _left(world: World) -> None:
    world.begin()
    _leave(world)


def _left_after_a_send(world: World) -> None:
    world.begin()
    world.end(Event.LEFT_UNPROCESSED)
    _leave(world)


def _leave(world: World) -> None:
    world.store.release(world.take().epoch, set_aside=[world.row().number])
    world.store.decide(world.row().number, Decided.TERMINAL, who="ann", why="looked")


def _dispatched(world: World) -> None:
    world.begin()
    world.send()


def _dispatched_again(world: World) -> None:
    world.begin()
    world.end(Event.LEFT_UNPROCESSED)
    world.send()


def _refused_locally(world: World) -> None:
    world.begin(item(1, refused="too large"))


def _exhausted_unsent(world: World) -> None:
    world.begin(policy=Policy(max_lapses=1))
    world.outlive(world.take())
    world.claim()


def _exhausted(world: World) -> None:
    world.begin(policy=Policy(max_attempts=1))
    world.end(Event.LEFT_UNPROCESSED)
    world.claim()


def _lapsed(world: World) -> None:
    world.begin()
    world.outlive(world.send())
    world.claim()


def _found_late(world: World) -> None:
    world.begin()
    lost = world.send()
    world.outlive(lost)
    world.claim()
    world.wall.forward(5)
    world.settle(Event.REPLAY_ALLOWED)
    world.record(lost, Event.CONFIRMED)
    world.claim()


def _replay_expired(world: World) -> None:
    world.begin()
    world.end(Event.LOST, replay=Replay(Scope.ITEM, 300.0, "made up"))
    world.settle(Event.REPLAY_ALLOWED, within_window=True)
    world.wall.forward(300)
    world.claim(read_back=None)


P, F, S, R, C, T = (
    Outcome.PENDING,
    Outcome.IN_FLIGHT,
    Outcome.SUCCEEDED,
    Outcome.RETRYABLE,
    Outcome.RECONCILE,
    Outcome.TERMINAL,
)
REACHED: dict[tuple[Outcome, Event, Outcome], Callable[[World], object]] = {
    (P, Event.DISPATCHED, F): _dispatched,
    (P, Event.REFUSED_LOCALLY, T): _refused_locally,
    (P, Event.EXHAUSTED, T): _exhausted_unsent,
    (P, Event.SETTLED, T): _left,
    (F, Event.CONFIRMED, S): _sent(Event.CONFIRMED),
    (F, Event.LEFT_UNPROCESSED, R): _sent(Event.LEFT_UNPROCESSED),
    (F, Event.FAILED_TRANSIENTLY, R): _sent(Event.FAILED_TRANSIENTLY),
    (F, Event.NOT_PROCESSED, R): _sent(Event.NOT_PROCESSED),
    (F, Event.REFUSED, T): _sent(Event.REFUSED),
    (F, Event.LOST, C): _sent(Event.LOST),
    (F, Event.LEASE_EXPIRED, C): _lapsed,
    (R, Event.DISPATCHED, F): _dispatched_again,
    (R, Event.EXHAUSTED, T): _exhausted,
    (R, Event.SETTLED, T): _left_after_a_send,
    (R, Event.FOUND, S): _found_late,
    (R, Event.REPLAY_EXPIRED, C): _replay_expired,
    (C, Event.FOUND, S): _looked_up(Event.FOUND),
    (C, Event.PROVEN_ABSENT, R): _looked_up(Event.PROVEN_ABSENT),
    (C, Event.REPLAY_ALLOWED, R): _looked_up(Event.REPLAY_ALLOWED),
    (C, Event.INCONCLUSIVE, C): _looked_up(Event.INCONCLUSIVE),
    (C, Event.SETTLED, S): _decided(Event.LOST, Decided.SUCCEEDED),
    (C, Event.SETTLED, R): _decided(Event.LOST, Decided.RETRY),
    (C, Event.SETTLED, T): _decided(Event.LOST, Decided.TERMINAL),
    (T, Event.REOPENED, R): _decided(Event.REFUSED, Decided.RETRY),
    (T, Event.SETTLED, S): _decided(Event.REFUSED, Decided.SUCCEEDED),
}
