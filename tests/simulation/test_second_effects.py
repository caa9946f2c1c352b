"""What is known of sends before the one that was answered, and what the worker does where it may not look or not send.

Every response here is made up (synthetic).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from itemledger.core.answer import Answer, FailureCause
from itemledger.core.judging import Judge, Pauses, Storm
from itemledger.core.moves import second_effects
from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import OnUnknown, Policy
from itemledger.core.readback import ReadBack
from itemledger.core.rows import Decided, Review
from itemledger.core.worker_steps import Record
from itemledger.core.write_api import Effect, Verdict
from itemledger.errors import SourceChangedError
from tests.simulation.apis import Kind
from tests.simulation.bench import Bench, Script, codes, failure, resent

TIMEOUT = failure("ReadTimeout")
DENIED = failure("AccessDenied", FailureCause.REFUSED)


# ------------------------------------------------------------------------------------------------ the SDK's resends


@pytest.mark.parametrize("code", ["Busy", "Unprocessed", "Invalid"])
def test_what_the_last_of_several_resends_says_is_not_what_the_others_did(code: str) -> None:
    bench = Bench(Kind.APPEND, 2)

    bench.run(resent(3, codes(i1=code)))

    assert {Outcome.RECONCILE: ["i1"], Outcome.SUCCEEDED: ["i2"]} == bench.outcomes()
    assert [3, 3] == [row.possible_duplicates for row in bench.store.rows("op")]
    assert (Review.NO_LOOK_UP, 1) == (bench.row("i1").review, len(bench.sent))


def test_resends_of_a_call_that_was_lost_are_counted_with_it() -> None:
    bench = Bench(Kind.ANYWAY, 1)

    bench.run(resent(4, TIMEOUT), codes())

    assert (Outcome.SUCCEEDED, 5) == (bench.row("i1").outcome, bench.row("i1").possible_duplicates)


@pytest.mark.parametrize("kind", [Kind.PUT, Kind.WINDOW])
def test_resends_that_change_nothing_or_are_recognised_count_for_nothing(kind: Kind) -> None:
    bench = Bench(kind, 1)

    bench.run(resent(3, codes("Busy")), resent(3, codes()))

    assert ["planned", "dispatched", "failed_transiently", "dispatched", "confirmed"] == bench.events("i1")
    assert 0 == bench.row("i1").possible_duplicates


# -------------------------------------------------------------------------------------------- refused, but not first


def test_an_item_that_is_refused_after_a_lost_send_may_be_done_and_is_no_failure() -> None:
    bench = Bench(Kind.ANYWAY, 1)

    bench.run(TIMEOUT, codes("Invalid"))

    row = bench.row("i1")
    assert (Outcome.RECONCILE, Review.REFUSED, None) == (row.outcome, row.review, row.due_at)
    assert (1, 2, "Invalid") == (row.lost_attempts, row.attempts, row.error_code)
    after = bench.store.decide(row.number, Decided.SUCCEEDED, who="ann", why="it is there")
    assert 0 == after.possible_duplicates, "the refused send had no effect"


def test_so_may_one_for_which_the_whole_call_is_refused() -> None:
    bench = Bench(Kind.ANYWAY, 1)

    bench.run(TIMEOUT, failure("ValidationError", FailureCause.REFUSED))

    assert (Outcome.RECONCILE, Review.REFUSED) == (bench.row("i1").outcome, bench.row("i1").review)


def test_where_it_can_be_looked_up_it_is() -> None:
    bench = Bench(Kind.WINDOW, 1)
    policy = Policy()
    judge = Judge(bench.api, policy, Pauses(policy, lambda low, high: high, Storm()), 5.0, looks_up=True)
    row = replace(bench.row("i1"), lost_attempts=1, attempts=2, dispatches=2)
    answer = codes("Invalid")(["i1"])
    assert isinstance(answer, Answer)

    [move] = judge.moves([row], [bench.entries["i1"]], answer)

    assert (Event.LOST, True, None) == (move.event, move.only_earlier, move.review)
    assert move.delay_s is not None
    assert move.delay_s >= 5.0


# ------------------------------------------------------------------------------------ found, after more than one send


@pytest.mark.parametrize(("effect", "expected"), [(Effect.APPEND, 2), (Effect.REPEATABLE, 0)])
def test_of_several_lost_sends_a_look_up_shows_one(effect: Effect, expected: int) -> None:
    bench = Bench(Kind.CREATE, 1)
    policy = Policy()
    read_back = ReadBack(policy, effect, Pauses(policy, lambda low, high: high, Storm()), looks_up=True)
    row = replace(bench.row("i1"), outcome=Outcome.RECONCILE, lost_attempts=3)

    [move] = read_back.looked_up([row], [Verdict.SAME], "q-1")

    assert (Event.FOUND, expected) == (move.event, move.possible_duplicates)


def test_a_window_that_is_open_recognised_the_others() -> None:
    row = replace(Bench(Kind.WINDOW, 1).row("i1"), lost_attempts=3, replay_until=2_000.0)

    assert 0 == second_effects(row, Effect.APPEND, 2)
    assert 2 == second_effects(replace(row, replay_until=None), Effect.APPEND, 2)


@pytest.mark.parametrize(("effect", "expected"), [(Effect.APPEND, 1), (Effect.REPEATABLE, 0)])
def test_neither_a_person_nor_late_evidence_makes_a_second_effect_of_a_put(effect: Effect, expected: int) -> None:
    for late in (False, True):
        bench = Bench(Kind.ANYWAY, 1)
        bench.store._operations["op"] = replace(bench.store._operations["op"], effect=effect)
        first, second = bench.start("w1"), bench.start("w2")
        answer = bench.until(first, Record, codes())
        bench.now += bench.policy.lease_s
        bench.perform(bench.until(second, Record), [])
        lost = bench.until(second, Record, TIMEOUT)
        if late:
            bench.perform(answer, [])
        bench.perform(lost, [])
        if late:
            bench.run()
        else:
            bench.store.decide(bench.row("i1").number, Decided.SUCCEEDED, who="ann", why="it is there")

        assert (Outcome.SUCCEEDED, expected) == (bench.row("i1").outcome, bench.row("i1").possible_duplicates)


# ------------------------------------------------------------------------------ who may write and not read, and aside


def test_who_is_not_allowed_to_look_up_still_sends_and_is_told_at_the_end() -> None:
    bench = Bench(Kind.PUT, 4, items=2)
    bench.look_up_fails = DENIED
    bench.perform(bench.until(bench.start("w0"), Record, TIMEOUT), [])
    bench.now += 60.0  # the look-up of the first two is due before the second two are sent

    error = bench.run(codes(), name="w1")

    assert error is not None
    assert "AccessDenied" == error.code
    assert {Outcome.RECONCILE: ["i1", "i2"], Outcome.SUCCEEDED: ["i3", "i4"]} == bench.outcomes()
    assert 1 == len(bench.looked_up), "asked once"
    assert [(0, None), (0, None)] == [(row.look_ups, row.review) for row in bench.store.rows("op", limit=2)]
    bench.look_up_fails = None
    bench.there = {"i1", "i2"}
    assert None is bench.run(name="w2")
    assert {Outcome.SUCCEEDED: ["i1", "i2", "i3", "i4"]} == bench.outcomes()


def test_credentials_that_no_longer_hold_end_the_run_at_a_look_up_too() -> None:
    bench = Bench(Kind.PUT, 2)
    bench.look_up_fails = failure("InvalidToken", FailureCause.CREDENTIALS)

    error = bench.run(TIMEOUT)

    assert error is not None
    assert ("InvalidToken", 1) == (error.code, len(bench.sent))


def test_an_item_whose_payload_changed_is_set_aside_and_its_neighbours_go_on() -> None:
    bench = Bench(Kind.APPEND, 3)
    bench.changed = {"i2"}

    bench.run(codes())

    assert [["i1", "i3"]] == bench.sent
    assert {Outcome.SUCCEEDED: ["i1", "i3"], Outcome.PENDING: ["i2"]} == bench.outcomes()
    assert (Review.SOURCE_CHANGED, 0, 0) == (bench.row("i2").review, bench.row("i2").attempts, bench.row("i2").lapses)
    assert [("i2", "source_changed", None)] == [(each.item_id, each.reason, each.code) for each in bench.alerts]


def test_payloads_that_cannot_be_read_at_all_end_the_run_and_change_nothing() -> None:
    bench = Bench(Kind.APPEND, 2)
    one = bench.start()
    claim = one.send(None)
    one.send(bench.perform(claim, []))

    release = one.throw(SourceChangedError("the file is gone"))
    bench.perform(release, [])
    with pytest.raises(SourceChangedError):
        one.send(None)

    assert {Outcome.PENDING: ["i1", "i2"]} == bench.outcomes()
    assert [None, None] == [row.review for row in bench.store.rows("op")]


def test_a_throttled_endpoint_ends_no_item_however_long_it_throttles() -> None:
    bench = Bench(Kind.APPEND, 1)

    def throttled() -> Iterator[Script]:
        for _ in range(150):
            yield failure("Throttled")
        yield codes()

    bench.run(*throttled())

    assert {Outcome.SUCCEEDED: ["i1"]} == bench.outcomes()
    assert (1, 151, 0) == (bench.row("i1").attempts, bench.row("i1").claims, bench.row("i1").lapses)


def test_at_least_once_ends_where_its_attempts_do_and_says_so() -> None:
    bench = Bench(Kind.ANYWAY, 1, policy=Policy(max_attempts=2, on_unknown=OnUnknown.AT_LEAST_ONCE))

    bench.run(TIMEOUT, TIMEOUT)

    assert (Outcome.RECONCILE, Review.EXHAUSTED) == (bench.row("i1").outcome, bench.row("i1").review)
    assert 2 == len(bench.requests)
