"""Conformance: operations and planning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import OnUnknown, Policy
from itemledger.core.rows import Conflict, Decided, FormerPolicy, Planned, Review, Row, Source
from itemledger.core.write_api import Effect
from itemledger.errors import LedgerError
from tests.ledger.world import ORDERS, START, World, item, items, operation

OTHER_POLICY = Policy(3, 9, 2, 0.5, 30.0, 2.0, OnUnknown.AT_LEAST_ONCE, frozenset({"A", "B"}), 90.0, 30.0, 7.5, 10.0)


class Planning:
    def test_a_new_operation_has_the_stores_time_and_is_still_being_planned(self, world: World) -> None:
        made = world.store.open_operation(operation(OTHER_POLICY, created_at=1.0, planned_at=2.0))

        assert operation(OTHER_POLICY, created_at=START, planned_at=None) == made
        assert [made] == world.store.operations()

    def test_opening_an_operation_again_changes_its_policy_and_the_one_before_is_kept(self, world: World) -> None:
        world.begin(count=2)
        before = world.store.operations()[0]
        world.wall.forward(5)

        again = world.store.open_operation(operation(OTHER_POLICY))

        former = (FormerPolicy(before.policy, START + 5),)
        assert replace(before, policy=OTHER_POLICY, former=former) == again
        assert [again] == world.store.operations()
        assert again == world.store.open_operation(operation(OTHER_POLICY)), "the same policy is no change"

    def test_an_operation_can_be_opened_again_and_keep_its_policy(self, world: World) -> None:
        made = world.store.open_operation(operation(OTHER_POLICY), keep_policy=True)
        assert OTHER_POLICY == made.policy, "a new one has none to keep"

        assert made == world.store.open_operation(operation(), keep_policy=True)
        assert [made] == world.store.operations()

    @pytest.mark.parametrize("effect", Effect)
    def test_an_operation_keeps_what_a_second_send_of_its_items_does(self, world: World, effect: Effect) -> None:
        assert effect is world.store.open_operation(operation(effect=effect)).effect
        assert [effect] == [each.effect for each in world.store.operations()]

    def test_where_calls_go_is_written_down_once(self, world: World) -> None:
        world.begin()
        assert None is world.store.operations()[0].endpoint

        world.store.set_endpoint(ORDERS, "eu-west-1")
        world.store.set_endpoint(ORDERS, "eu-west-1")
        with pytest.raises(LedgerError, match="went to eu-west-1 and would now go to us-east-1"):
            world.store.set_endpoint(ORDERS, "us-east-1")

        assert "eu-west-1" == world.store.operations()[0].endpoint
        world.store.set_endpoint(ORDERS, "us-east-1", moved=True)
        assert "us-east-1" == world.store.operations()[0].endpoint
        with pytest.raises(LedgerError):
            world.store.set_endpoint("nobodys", "us-east-1")

    @pytest.mark.parametrize(
        "changes", [{"api": "sns.PublishBatch"}, {"target": {"queue_url": "other"}}, {"effect": Effect.REPEATABLE}]
    )
    def test_the_name_of_another_api_or_target_is_refused(self, world: World, changes: dict[str, object]) -> None:
        world.begin()
        before = world.everything()

        with pytest.raises(LedgerError):
            world.store.open_operation(replace(operation(OTHER_POLICY), **changes))  # type: ignore[arg-type]

        assert before == world.everything()

    def test_operations_come_in_the_order_of_their_making(self, world: World) -> None:
        for name in ("b", "a", "c"):
            world.store.open_operation(operation(operation_id=name))

        assert ["b", "a", "c"] == [each.operation_id for each in world.store.operations()]

    def test_a_planned_item_is_pending_due_and_unheld(self, world: World) -> None:
        new = item(1, group_id="g")
        world.store.open_operation(operation())

        assert Planned(new=1) == world.plan(new)

        row = world.row()
        assert (
            Row(
                row.number,
                ORDERS,
                "item-1",
                "key-1",
                "hash-1",
                100,
                new.source,
                Outcome.PENDING,
                START,
                "g",
                due_at=START,
            )
            == row
        )
        [entry] = world.store.history(row.number)
        assert ("planned", None, Outcome.PENDING, START) == (entry.event, entry.before, entry.after, entry.at)

    def test_rows_are_numbered_in_the_order_of_planning(self, world: World) -> None:
        world.store.open_operation(operation())
        world.plan(item(3), item(1))
        world.plan(item(2))

        assert ["item-3", "item-1", "item-2"] == [row.item_id for row in world.store.rows(ORDERS)]

    def test_a_payload_stored_in_the_ledger_comes_back_byte_for_byte(self, world: World) -> None:
        world.begin(item(1, source=Source(stored=b'\x00\xff{"a":1}')), item(2, source=Source()))

        assert Source(stored=b'\x00\xff{"a":1}') == world.row(1).source
        assert Source() == world.row(2).source

    def test_planning_the_same_items_again_changes_nothing(self, world: World) -> None:
        world.begin(count=4)
        world.end(Event.CONFIRMED, most=1)
        world.end(Event.LOST, most=1)
        world.take(most=1)
        before = world.everything()
        world.wall.forward(3)

        assert Planned(repeated=4) == world.plan(*items(4))
        assert before == world.everything()

    def test_an_item_twice_in_one_plan_is_one_row(self, world: World) -> None:
        world.store.open_operation(operation())

        assert Planned(new=1, repeated=1) == world.plan(item(1), item(1))

    def test_an_unfinished_row_finds_its_payload_where_it_was_planned_last(self, world: World) -> None:
        world.begin(count=2)
        world.end(Event.CONFIRMED, most=1)
        moved = Source("moved.jsonl", 7, 100)
        first, second = world.row(1), world.row(2)

        world.plan(item(1, source=moved), item(2, source=moved))

        assert first == world.row(1)  # finished
        assert replace(second, source=moved) == world.row(2)

    def test_an_item_that_does_not_say_where_its_payload_is_leaves_it_where_it_was(self, world: World) -> None:
        [row] = world.begin()

        assert Planned(repeated=1) == world.plan(item(1, source=Source()))
        assert row == world.row()

    def test_a_key_with_another_payload_is_a_conflict_and_the_others_are_planned(self, world: World) -> None:
        [first] = world.begin(item(1))

        planned = world.plan(item(2), item(1, payload_hash="other"), item(3))

        assert Planned(new=2, refused=(Conflict(1, first.number, ORDERS),)) == planned
        assert first == world.row(1)

    def test_a_conflict_is_seen_inside_one_plan(self, world: World) -> None:
        world.store.open_operation(operation())

        planned = world.plan(item(1), item(2, idempotency_key="key-1"))

        assert Planned(new=1, refused=(Conflict(1, world.row(1).number, ORDERS),)) == planned
        assert world.store.find(ORDERS, "item-2") is None

    def test_a_key_is_taken_in_the_whole_ledger(self, world: World) -> None:
        [first] = world.begin(item(1))
        world.store.open_operation(operation(operation_id="more"))

        planned = world.plan(item(1), operation_id="more")

        assert Planned(refused=(Conflict(0, first.number, ORDERS),)) == planned
        assert [] == world.store.rows("more")

    def test_an_item_id_is_taken_in_its_operation_only(self, world: World) -> None:
        [first] = world.begin(item(1))
        world.store.open_operation(operation(operation_id="more"))
        rekeyed = item(1, idempotency_key="another")

        assert Planned(refused=(Conflict(0, first.number, ORDERS),)) == world.plan(rekeyed)
        assert Planned(new=1) == world.plan(rekeyed, operation_id="more")

    def test_a_refused_item_is_terminal_at_once_and_in_review(self, world: World) -> None:
        world.begin(item(1, refused="300 bytes, 256 are the most"), item(2))

        row = world.row(1)
        assert (Outcome.TERMINAL, Review.REFUSED, "OverLimit", "300 bytes, 256 are the most", None) == (
            row.outcome,
            row.review,
            row.error_code,
            row.error_message,
            row.due_at,
        )
        assert ["planned", "refused_locally"] == world.events(1)
        assert (world.row(2).number,) == world.take().items

    def test_planning_ends_once(self, world: World) -> None:
        world.begin()
        world.wall.forward(5)
        world.store.planning_ended(ORDERS)

        assert START == world.store.operations()[0].planned_at

    @pytest.mark.parametrize("verb", ["plan", "planning_ended", "claim", "counts", "reviews", "prune"])
    def test_an_operation_that_nobody_made_is_refused(self, world: World, verb: str) -> None:
        verbs: dict[str, Callable[[], object]] = {
            "plan": lambda: world.plan(item(1), operation_id="nobody's"),
            "planning_ended": lambda: world.store.planning_ended("nobody's"),
            "claim": lambda: world.claim(operation_id="nobody's"),
            "counts": lambda: world.store.counts("nobody's"),
            "reviews": lambda: world.store.reviews("nobody's"),
            "prune": lambda: world.store.prune("nobody's", older_than_s=0),
        }

        with pytest.raises(LedgerError):
            verbs[verb]()

        assert [] == world.store.operations()


class Groups:
    """Within a message group an item waits until every earlier one is final."""

    def test_only_the_first_of_a_group_is_due(self, world: World) -> None:
        world.begin(item(1, group_id="g"), item(2, group_id="g"), item(3, group_id="h"), item(4))

        assert [START, None, START, START] == [world.row(number).due_at for number in (1, 2, 3, 4)]
        assert tuple(world.row(number).number for number in (1, 3, 4)) == world.take().items

    def test_a_group_of_another_operation_is_another_group(self, world: World) -> None:
        world.begin(item(1, group_id="g"))
        [row] = world.begin(item(2, group_id="g"), operation_id="more")

        assert START == row.due_at

    @pytest.mark.parametrize("event", [Event.CONFIRMED, Event.REFUSED])
    def test_the_next_of_a_group_is_due_when_the_one_before_is_final(self, world: World, event: Event) -> None:
        world.begin(*(item(number, group_id="g") for number in (1, 2, 3)))
        batch = world.send()
        world.wall.forward(2)
        world.record(batch, event)

        assert [START + 2, None] == [world.row(number).due_at for number in (2, 3)]
        assert (world.row(2).number,) == world.take().items

    @pytest.mark.parametrize("event", [Event.FAILED_TRANSIENTLY, Event.LOST])
    def test_the_next_of_a_group_waits_while_the_one_before_can_still_be_sent(self, world: World, event: Event) -> None:
        world.begin(item(1, group_id="g"), item(2, group_id="g"))
        world.end(event, delay_s=None)

        assert world.row(2).due_at is None
        assert world.claim().batch is None

    def test_an_item_behind_final_ones_is_due_at_once(self, world: World) -> None:
        world.begin(item(1, group_id="g", refused="too large"), item(2, group_id="g"))
        assert START == world.row(2).due_at

    def test_a_decision_wakes_the_next_of_a_group(self, world: World) -> None:
        world.begin(item(1, group_id="g"), item(2, group_id="g"))
        world.end(Event.LOST, delay_s=None)

        world.store.decide(world.row(1).number, Decided.TERMINAL, who="ann", why="not wanted any more")

        assert (world.row(2).number,) == world.take().items

    def test_a_later_item_that_is_refused_wakes_nobody_ahead_of_its_turn(self, world: World) -> None:
        world.begin(item(1, group_id="g"), item(2, group_id="g"))
        world.send()

        world.plan(item(3, group_id="g", refused="too large"))

        assert world.row(2).due_at is None, "item 1 is in flight"

    @pytest.mark.parametrize("decided", [Decided.SUCCEEDED, Decided.TERMINAL])
    def test_deciding_a_terminal_row_wakes_nobody_ahead_of_its_turn(self, world: World, decided: Decided) -> None:
        world.begin(*(item(number, group_id="g") for number in (1, 2, 3)))
        world.end(Event.REFUSED, review=Review.REFUSED)
        world.send()

        world.store.decide(world.row(1).number, decided, who="ann", why="looked")

        assert Outcome.IN_FLIGHT is world.row(2).outcome
        assert world.row(3).due_at is None, "item 2 is in flight"

    def test_a_reopened_row_holds_back_those_of_its_group_that_still_wait(self, world: World) -> None:
        world.begin(*(item(number, group_id="g") for number in (1, 2, 3)))
        world.end(Event.REFUSED)
        second = world.send()
        world.store.decide(world.row(1).number, Decided.RETRY, who="ann", why="fixed")

        world.record(second, Event.CONFIRMED)

        assert world.row(3).due_at is None, "item 1 is to be sent again"
