"""Conformance: what a claim takes, in which order, and what it moves out of the way first."""

from __future__ import annotations

from itemledger.core.batches import Batch, BatchState, Claimed, Kind, Move
from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Review
from itemledger.core.write_api import Replay, Scope
from tests.ledger.world import EVIDENCE, ORDERS, START, World, item, items, operation

WINDOW = Replay(Scope.ITEM, 300.0, "made up")


class Claims:
    def test_nothing_is_taken_before_planning_ended(self, world: World) -> None:
        world.store.open_operation(operation())
        world.plan(*items(3))

        assert Claimed(START) == world.claim()

    def test_a_claim_is_a_batch_of_the_first_rows_and_they_point_to_it(self, world: World) -> None:
        numbers = [row.number for row in world.begin(count=5)]

        claimed = world.claim(most=3)

        batch = claimed.batch
        assert batch is not None
        assert (ORDERS, Kind.SEND, "worker-1", BatchState.CLAIMED) == (
            batch.operation_id,
            batch.kind,
            batch.worker,
            batch.state,
        )
        assert (START + 60, tuple(numbers[:3]), START, None, None) == (
            batch.lease_until,
            batch.items,
            batch.claimed_at,
            batch.dispatched_at,
            batch.ended_at,
        )
        assert (None, None, None, None) == (
            batch.replay_scope,
            batch.replay_safe_until,
            batch.replay_of,
            batch.evidence,
        )
        assert batch == world.store.batch(batch.epoch)
        assert claimed.rows == tuple(world.store.row(number) for number in batch.items)
        assert START == claimed.at
        assert () == claimed.exhausted
        assert [batch.epoch] * 3 + [None] * 2 == [row.epoch for row in world.store.rows(ORDERS)]

    def test_a_claim_counts_an_attempt_and_moves_no_outcome(self, world: World) -> None:
        world.begin()
        batch = world.take()

        row = world.row()
        assert (Outcome.PENDING, 1, 1, 0, batch.epoch, batch.epoch) == (
            row.outcome,
            row.attempts,
            row.claims,
            row.look_ups,
            row.epoch,
            row.last_epoch,
        )

    def test_every_claim_has_a_higher_epoch_and_a_token_of_its_own(self, world: World) -> None:
        world.begin(count=3)
        batches = [world.take(most=1) for _ in range(3)]

        assert sorted({batch.epoch for batch in batches}) == [batch.epoch for batch in batches]
        assert 3 == len({batch.token for batch in batches})
        assert all(batch.token for batch in batches)

    def test_a_row_is_never_held_twice(self, world: World) -> None:
        numbers = [row.number for row in world.begin(count=3)]

        assert tuple(numbers[:2]) == world.take(most=2).items
        assert tuple(numbers[2:]) == world.take(most=2).items
        assert world.claim().batch is None

    def test_a_claim_leaves_other_operations_alone(self, world: World) -> None:
        world.begin(item(1))
        [mine] = world.begin(item(2), operation_id="more")

        assert (mine.number,) == world.take(operation_id="more").items

    def test_a_request_is_filled_up_to_its_bytes(self, world: World) -> None:
        numbers = [row.number for row in world.begin(*(item(n, size_bytes=40) for n in (1, 2, 3)))]

        assert tuple(numbers[:2]) == world.take(request_bytes=80).items
        assert tuple(numbers[2:]) == world.take(request_bytes=80).items

    def test_a_row_with_a_batch_limit_shares_its_request_with_no_more(self, world: World) -> None:
        world.begin(count=4)
        world.end(Event.NOT_PROCESSED, batch_limit=3)

        assert 3 == len(world.take().items)

    def test_what_is_due_first_is_taken_first(self, world: World) -> None:
        numbers = [row.number for row in world.begin(count=3)]
        batch = world.send()
        delays = dict(zip(numbers, (3.0, 1.0, 2.0), strict=True))
        world.store.record(
            batch.epoch, EVIDENCE, [Move(n, Event.FAILED_TRANSIENTLY, delay_s=delays[n]) for n in numbers]
        )
        world.wall.forward(3)

        assert (numbers[1], numbers[2], numbers[0]) == world.take().items

    def test_what_is_not_due_waits(self, world: World) -> None:
        world.begin(count=2)
        batch = world.send()
        first, second = batch.items
        world.store.record(
            batch.epoch,
            EVIDENCE,
            [
                Move(first, Event.FAILED_TRANSIENTLY, delay_s=7.0),
                Move(second, Event.LEFT_UNPROCESSED, delay_s=9.0),
            ],
        )

        claimed = world.claim()
        assert (None, 7.0) == (claimed.batch, claimed.wait_s)
        world.wall.forward(7)
        assert (first,) == world.take().items

    def test_who_finds_everything_held_waits_for_the_first_lease_to_end(self, world: World) -> None:
        world.begin(count=2)
        world.take(most=1)
        world.wall.forward(10)
        world.take(most=1)

        assert 50.0 == world.claim().wait_s

    def test_nothing_is_left_to_wait_for_when_all_are_final_or_a_persons(self, world: World) -> None:
        world.begin(count=2)
        world.end(Event.CONFIRMED, most=1)
        world.end(Event.LOST, delay_s=None, review=Review.NO_LOOK_UP)

        claimed = world.claim()
        assert (None, None) == (claimed.batch, claimed.wait_s)

    def test_a_read_back_goes_before_a_send_and_counts_a_look_up(self, world: World) -> None:
        world.begin(count=3)
        lost = world.end(Event.LOST, most=2)

        batch = world.take()

        assert (Kind.READ_BACK, lost.items) == (batch.kind, batch.items)
        row = world.row(1)
        assert (Outcome.RECONCILE, 1, 2, 1) == (row.outcome, row.attempts, row.claims, row.look_ups)
        assert Kind.SEND is world.take().kind

    def test_a_read_back_takes_no_more_items_than_fit_into_a_look_up(self, world: World) -> None:
        world.begin(count=3)
        world.end(Event.LOST)

        assert 2 == len(world.take(read_back=2).items)

    def test_who_makes_no_look_ups_gets_none_and_waits_for_none(self, world: World) -> None:
        world.begin()
        world.end(Event.LOST)

        claimed = world.claim(read_back=None)
        assert (None, None) == (claimed.batch, claimed.wait_s)

    def test_a_look_up_takes_no_more_than_its_answer_may_carry(self, world: World) -> None:
        world.begin(*(item(n, size_bytes=40) for n in (1, 2, 3)))
        world.end(Event.LOST)

        assert 2 == len(world.take(answer_bytes=80).items)

    def test_who_makes_no_sends_gets_none_and_waits_for_none(self, world: World) -> None:
        world.begin(count=2)
        world.end(Event.LEFT_UNPROCESSED, most=1, delay_s=1.0)

        claimed = world.claim(most=None)
        assert (None, None) == (claimed.batch, claimed.wait_s)

    def test_what_was_begun_goes_first_and_what_is_new_fills_the_request(self, world: World) -> None:
        one, two, three = (row.number for row in world.begin(count=3))
        world.end(Event.LEFT_UNPROCESSED, most=1, delay_s=1.0)
        world.wall.forward(1)

        assert (one, two) == world.take(most=2).items
        assert (three,) == world.take(most=2).items


class Caps:
    """Step 4 of a claim, and that it comes before anything is taken."""

    def test_used_up_attempts_end_as_terminal_in_review(self, world: World) -> None:
        world.begin(policy=Policy(max_attempts=2))
        world.end(Event.FAILED_TRANSIENTLY)
        world.end(Event.FAILED_TRANSIENTLY)

        claimed = world.claim()

        row = world.row()
        assert ((row,), None, None) == (claimed.exhausted, claimed.batch, claimed.wait_s)
        assert (Outcome.TERMINAL, Review.EXHAUSTED, 2, None) == (row.outcome, row.review, row.attempts, row.due_at)
        assert "exhausted" == world.events()[-1]

    def test_a_row_whose_workers_keep_getting_lost_ends_though_it_was_never_sent(self, world: World) -> None:
        world.begin(policy=Policy(max_attempts=9, max_lapses=2))
        for _ in range(2):
            world.outlive(world.take())

        assert [world.row().number] == [row.number for row in world.claim().exhausted]
        assert ["planned", "exhausted"] == world.events()
        assert (2, 2) == (world.row().claims, world.row().lapses)

    def test_claims_that_come_back_are_counted_and_end_nothing(self, world: World) -> None:
        """A throttled call, or a payload that cannot be read: however often that happens, the item is as before."""
        world.begin(policy=Policy(max_attempts=1, max_lapses=1))
        for _ in range(30):
            world.store.release(world.take().epoch)
        for _ in range(30):
            world.end(Event.NOT_PROCESSED, charged=False)

        row = world.row()
        assert ((), Outcome.RETRYABLE) == (world.claim().exhausted, row.outcome)
        assert (0, 60, 0) == (row.attempts, row.claims, row.lapses)

    def test_a_row_that_may_be_done_is_not_given_up_but_looked_up(self, world: World) -> None:
        world.begin(policy=Policy(max_attempts=1))
        world.end(Event.LOST)
        world.settle(Event.REPLAY_ALLOWED, delay_s=9.0)

        claimed = world.claim()

        assert () == claimed.exhausted
        assert claimed.batch is not None
        assert (Kind.READ_BACK, "replay_expired") == (claimed.batch.kind, world.events()[-1])

    def test_a_row_that_may_be_done_and_keeps_losing_workers_waits_for_a_person(self, world: World) -> None:
        world.begin(policy=Policy(max_lapses=1))
        world.end(Event.LOST)
        world.settle(Event.REPLAY_ALLOWED)
        world.outlive(world.take())

        claimed = world.claim()

        assert ((), None) == (claimed.exhausted, claimed.batch)
        assert ["replay_expired", "inconclusive"] == world.events()[-2:]
        assert (Outcome.RECONCILE, Review.INCONCLUSIVE) == (world.row().outcome, world.row().review)

    def test_a_row_that_was_not_done_after_all_is_given_up(self, world: World) -> None:
        world.begin(policy=Policy(max_attempts=1))
        world.end(Event.LOST)
        world.settle(Event.REPLAY_ALLOWED)
        world.settle(Event.PROVEN_ABSENT)

        assert 1 == len(world.claim().exhausted)

    def test_used_up_attempts_end_a_row_only_when_it_is_due(self, world: World) -> None:
        world.begin(policy=Policy(max_attempts=1))
        world.end(Event.FAILED_TRANSIENTLY, delay_s=5.0)

        claimed = world.claim()
        assert ((), 5.0) == (claimed.exhausted, claimed.wait_s)
        world.wall.forward(5)
        assert 1 == len(world.claim().exhausted)

    def test_a_row_whose_look_ups_are_used_up_waits_for_a_person(self, world: World) -> None:
        world.begin(policy=Policy(max_look_ups=2))
        world.end(Event.LOST)
        for _ in range(2):
            world.settle(Event.INCONCLUSIVE, delay_s=0.0)

        claimed = world.claim()

        row = world.row()
        assert (None, ()) == (claimed.batch, claimed.exhausted)
        assert (Outcome.RECONCILE, Review.INCONCLUSIVE, None) == (row.outcome, row.review, row.due_at)
        assert ["inconclusive"] * 3 == world.events()[-3:]
        world.claim()
        assert row == world.row(), "it waits once"

    def test_look_ups_are_those_of_the_unknown_end_at_hand(self, world: World) -> None:
        world.begin(policy=Policy(max_look_ups=1))
        world.end(Event.LOST)
        world.settle(Event.PROVEN_ABSENT)
        world.end(Event.LOST)

        assert 0 == world.row().look_ups
        assert Kind.READ_BACK is world.take().kind

    def test_a_claim_ends_at_most_1000_and_sends_none_of_the_rest(self, world: World) -> None:
        world.begin(count=1001, policy=Policy(max_attempts=1))
        world.end(Event.FAILED_TRANSIENTLY, most=1001)

        first = world.claim()
        assert (1000, None) == (len(first.exhausted), first.batch), "the last one has had its attempt too"
        assert 1 == len(world.claim().exhausted)

    def test_a_claim_hands_at_most_1000_to_persons_and_looks_up_none_of_the_rest(self, world: World) -> None:
        world.begin(count=1001, policy=Policy(max_look_ups=1))
        world.end(Event.LOST, most=1001)
        world.record(world.look_up(read_back=1001), Event.INCONCLUSIVE)

        first = world.claim()

        assert (1000, None) == (world.store.reviews(ORDERS), first.batch), "the last one has had its look-up too"
        assert world.claim().batch is None
        assert 1001 == world.store.reviews(ORDERS)


class Order:
    """The steps of one claim, each before the next: told by rows to which two of them apply."""

    def test_a_lapsed_claim_is_free_for_the_claim_that_found_it(self, world: World) -> None:
        world.begin(count=2)
        lost = world.take()
        world.outlive(lost)

        assert set(world.take(most=1).items) < set(lost.items)
        assert BatchState.LAPSED is world.store.batch(lost.epoch).state

    def test_a_lapsed_row_with_late_evidence_is_done_in_the_same_claim(self, world: World) -> None:
        world.begin()
        first = world.send()
        world.outlive(first)
        world.claim()
        world.wall.forward(5)
        world.settle(Event.PROVEN_ABSENT)
        second = world.send()
        world.record(first, Event.CONFIRMED)
        world.outlive(second)

        claimed = world.claim()

        assert (None, None) == (claimed.batch, claimed.wait_s)
        assert Outcome.SUCCEEDED is world.row().outcome
        assert ["late", "lease_expired", "found"] == world.events()[-3:]

    def test_late_evidence_counts_before_a_window_that_closed(self, world: World) -> None:
        first = retryable_in_a_window(world)
        world.record(first, Event.CONFIRMED)
        world.wall.forward(300)

        assert world.claim().batch is None
        assert ["late", "found"] == world.events()[-2:]

    def test_late_evidence_counts_before_used_up_attempts(self, world: World) -> None:
        first = retryable_in_a_window(world, Policy(max_attempts=1))
        world.record(first, Event.CONFIRMED)

        assert () == world.claim().exhausted
        assert Outcome.SUCCEEDED is world.row().outcome

    def test_a_window_that_closed_counts_before_used_up_attempts(self, world: World) -> None:
        retryable_in_a_window(world, Policy(max_attempts=1))
        world.wall.forward(300)

        claimed = world.claim()

        assert () == claimed.exhausted, "it may be done"
        assert claimed.batch is not None
        assert Kind.READ_BACK is claimed.batch.kind

    def test_used_up_rows_are_gone_before_anything_is_taken(self, world: World) -> None:
        world.begin(count=2, policy=Policy(max_attempts=1))
        world.end(Event.LEFT_UNPROCESSED, most=1)

        claimed = world.claim()

        assert ([world.row(1).number], [world.row(2).number]) == (
            [row.number for row in claimed.exhausted],
            [row.number for row in claimed.rows],
        )


def retryable_in_a_window(world: World, policy: Policy = Policy()) -> Batch:  # noqa: B008 - a frozen value
    """A row that may be sent again while the provider remembers the lapsed first send, which is returned."""
    world.begin(policy=policy)
    first = world.send(replay=WINDOW)
    world.outlive(first)
    world.claim()
    world.wall.forward(5)
    world.settle(Event.REPLAY_ALLOWED, within_window=True)
    return first
