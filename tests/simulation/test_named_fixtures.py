"""The named fixtures of the ledger and the field cases that are about its worker, each through a real worker.

Every response here is made up (synthetic).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from itemledger.core.judging import IMPOSSIBLE
from itemledger.core.outcome import Outcome
from itemledger.core.policy import OnUnknown, Policy
from itemledger.core.rows import Conflict, Planned, Review
from itemledger.core.worker_steps import Alert, Call, Dispatch, Record
from itemledger.core.write_api import Entry
from itemledger.errors import ClaimLostError
from tests.simulation.apis import Kind
from tests.simulation.bench import Bench, codes, failure, refuse_with

TIMEOUT = failure("ReadTimeout")


def ids(first: int, last: int) -> list[str]:
    return [f"i{number}" for number in range(first, last + 1)]


# ---------------------------------------------------------------------------------------------- the named fixtures


def test_all_succeed_with_one_request_and_no_retry_scheduled() -> None:
    bench = Bench(Kind.PUT, 5)

    bench.run(codes())

    assert [ids(1, 5)] == bench.sent
    assert {Outcome.SUCCEEDED: ids(1, 5)} == bench.outcomes()
    assert [None] * 5 == [row.due_at for row in bench.store.rows("op")]
    assert [] == bench.pauses


def test_mixed_success_and_unprocessed_sends_the_unprocessed_subset_only() -> None:
    bench = Bench(Kind.PUT, 5)

    bench.run(codes(i2="Unprocessed", i4="Unprocessed"), codes())

    assert [ids(1, 5), ["i2", "i4"]] == bench.sent
    assert {Outcome.SUCCEEDED: ids(1, 5)} == bench.outcomes()
    assert ["planned", "dispatched", "left_unprocessed", "dispatched", "confirmed"] == bench.events("i2")


def test_one_invalid_item_is_terminal_and_never_sent_again() -> None:
    bench = Bench(Kind.PUT, 3)

    bench.run(codes(i2="Invalid"))

    assert [ids(1, 3)] == bench.sent
    assert {Outcome.SUCCEEDED: ["i1", "i3"], Outcome.TERMINAL: ["i2"]} == bench.outcomes()
    assert [("i2", "refused", "Invalid")] == [(each.item_id, each.reason, each.code) for each in bench.alerts]
    assert Review.REFUSED is bench.row("i2").review


def test_a_transient_item_error_is_sent_again_later_each_time_under_the_same_key() -> None:
    bench = Bench(Kind.APPEND, 1)
    one = bench.start(longest=True)

    waits = []
    for _ in range(7):
        record = bench.until(one, Record, codes(i1="Busy"))
        waits.append(record.moves[0].delay_s)
        bench.perform(record, [])
    bench.run(codes())

    # Doubled each time; the second and third are those of a failure that comes after others, up to a second apart.
    assert pytest.approx([0.2, 1.04, 1.08, 1.6, 3.2, 6.4, 12.8]) == waits
    assert [("i1", "k1", 1)] * 8 == [item for request in bench.requests for item in request["items"]]
    assert 8 == bench.row("i1").attempts


def test_a_timeout_after_the_provider_accepted_is_completed_by_a_look_up_and_not_repeated() -> None:
    bench = Bench(Kind.CREATE, 2)
    bench.there = {"i1", "i2"}

    bench.run(TIMEOUT)

    assert [ids(1, 2)] == bench.sent
    assert [ids(1, 2)] == bench.looked_up
    assert {Outcome.SUCCEEDED: ids(1, 2)} == bench.outcomes()
    assert ["planned", "dispatched", "lost", "found"] == bench.events("i1")


def test_of_two_workers_with_the_same_event_one_claim_wins() -> None:
    bench = Bench(Kind.APPEND, 1)
    first, second = bench.start("w1"), bench.start("w2")

    bench.until(first, Call)
    claim = second.send(None)
    told = bench.perform(claim, [])

    assert None is told.batch
    assert "w1" == bench.store.batch(1).worker
    with pytest.raises(ClaimLostError):
        bench.store.dispatch(1, None)  # nor is one claim dispatched twice


def test_a_reused_key_with_a_changed_payload_is_blocked_and_the_others_go_on() -> None:
    bench = Bench(Kind.APPEND, 1)

    planned = bench.plan(Entry("i8", {"v": 80}, 10, "k1"), Entry("i9", {"v": 9}, 10, "k9"))
    bench.entries["i9"] = Entry("i9", {"v": 9}, 10, "k9")
    bench.run(codes())

    assert Planned(1, 0, (Conflict(0, 1, "op"),)) == planned
    assert [["i1", "i9"]] == bench.sent
    assert [("i1", "k1", 1), ("i9", "k9", 9)] == bench.requests[0]["items"]


def test_an_exhausted_item_is_terminal_with_an_alert_that_has_its_attempts_and_a_safe_reference() -> None:
    bench = Bench(Kind.PUT, 1, policy=Policy(max_attempts=3))

    bench.run(*[codes(i1="Busy")] * 3)

    assert [Alert(1, "i1", "op", 3, "exhausted", "Busy", "q-1")] == bench.alerts
    assert (Outcome.TERMINAL, Review.EXHAUSTED) == (bench.row("i1").outcome, bench.row("i1").review)


# --------------------------------------------------------------------------------------------------- field cases


def test_fc_20_of_25_puts_5_unprocessed_exactly_20_are_done_and_5_stay_open() -> None:
    bench = Bench(Kind.PUT, 25)
    one = bench.start()

    bench.perform(bench.until(one, Record, codes(**dict.fromkeys(ids(21, 25), "Unprocessed"))), [])

    assert {Outcome.SUCCEEDED: ids(1, 20), Outcome.RETRYABLE: ids(21, 25)} == bench.outcomes()


def test_fc_21_a_second_call_that_fails_after_sending_leaves_25_in_doubt_and_10_never_sent() -> None:
    bench = Bench(Kind.APPEND, 60)
    one = bench.start()
    bench.perform(bench.until(one, Record, codes()), [])

    bench.perform(bench.until(one, Record, TIMEOUT), [])

    assert {
        Outcome.SUCCEEDED: ids(1, 25),
        Outcome.RECONCILE: ids(26, 50),
        Outcome.PENDING: ids(51, 60),
    } == bench.outcomes()
    assert [0] * 10 == [row.dispatches for row in bench.store.rows("op", outcome=Outcome.PENDING)]


def test_fc_49_an_answer_after_the_read_timeout_is_one_wire_send_and_reconcile() -> None:
    bench = Bench(Kind.APPEND, 2)

    bench.run(TIMEOUT)

    assert [ids(1, 2)] == bench.sent
    assert {Outcome.RECONCILE: ids(1, 2)} == bench.outcomes()
    assert {Review.NO_LOOK_UP} == {row.review for row in bench.store.rows("op")}


def test_fc_50_already_used_after_an_unknown_end_is_evidence_and_no_failure() -> None:
    bench = Bench(Kind.CREATE_ANYWAY, 1, policy=Policy(on_unknown=OnUnknown.AT_LEAST_ONCE, max_attempts=2))
    one = bench.start()
    bench.perform(bench.until(one, Record, TIMEOUT), [])
    bench.perform(bench.until(one, Record), [])  # replay allowed

    bench.perform(bench.until(one, Record, codes(i1="Exists")), [])

    assert {Outcome.RECONCILE: ["i1"]} == bench.outcomes()
    assert [] == bench.alerts


def test_an_effect_that_comes_after_its_look_up_is_no_refusal() -> None:
    """Seed 80718 of the simulation: absent when it was looked up, and there when it was sent again."""
    bench = Bench(Kind.CREATE, 1)
    one = bench.start()
    bench.perform(bench.until(one, Record, TIMEOUT), [])
    bench.perform(bench.until(one, Record), [])  # proven absent

    bench.perform(bench.until(one, Record, codes(i1="Exists")), [])

    assert {Outcome.RECONCILE: ["i1"]} == bench.outcomes()
    assert [] == bench.alerts


def test_fc_50_already_used_at_the_first_send_is_a_refusal() -> None:
    bench = Bench(Kind.CREATE_ANYWAY, 1)

    bench.run(codes(i1="Exists"))

    assert {Outcome.TERMINAL: ["i1"]} == bench.outcomes()


def test_fc_51_a_worker_that_dies_after_the_effect_blocks_its_rows_until_proven() -> None:
    bench = Bench(Kind.CREATE, 2)
    bench.until(bench.start(), Record, codes())  # the effect is there, and it dies before the record
    bench.there = {"i1", "i2"}
    bench.now += bench.policy.lease_s

    bench.run(name="w2")

    assert [ids(1, 2)] == bench.sent
    assert ["planned", "dispatched", "lease_expired", "found"] == bench.events("i1")


def test_fc_49_a_lost_answer_is_looked_up_only_when_a_late_effect_would_be_seen() -> None:
    bench = Bench(Kind.CREATE, 1)
    one = bench.start()
    bench.perform(bench.until(one, Record, TIMEOUT), [])
    lost_at = bench.now

    bench.until(one, Call)

    assert bench.api.look_up is not None
    assert bench.now >= lost_at + bench.api.look_up.settle_s


def test_fc_51_a_lapsed_send_is_looked_up_only_when_a_late_effect_would_be_seen() -> None:
    bench = Bench(Kind.CREATE, 1)
    bench.until(bench.start(), Call)
    bench.now += bench.policy.lease_s
    lapsed_at = bench.now
    two = bench.start("w2")

    bench.until(two, Call)

    assert bench.api.look_up is not None
    assert bench.now >= lapsed_at + bench.api.look_up.settle_s


def test_fc_51_a_worker_that_dies_before_the_call_leaves_nothing_in_doubt() -> None:
    bench = Bench(Kind.APPEND, 2)
    bench.until(bench.start(), Dispatch)
    bench.now += bench.policy.lease_s

    bench.run(codes(), codes(), name="w2")  # one by one: what ended a worker is kept apart

    assert [["i1"], ["i2"]] == bench.sent
    assert ["planned", "dispatched", "confirmed"] == bench.events("i1")


def test_fc_52_one_busy_item_of_three_is_sent_again_and_the_other_two_are_not() -> None:
    bench = Bench(Kind.APPEND, 3)

    bench.run(codes(i2="Busy"), codes())

    assert [ids(1, 3), ["i2"]] == bench.sent


def test_fc_53_when_chunk_2_of_4_fails_every_item_of_all_4_has_its_outcome() -> None:
    bench = Bench(Kind.APPEND, 8, items=2)

    bench.run(codes(), TIMEOUT, codes(), codes())

    assert {Outcome.SUCCEEDED: [*ids(1, 2), *ids(5, 8)], Outcome.RECONCILE: ids(3, 4)} == bench.outcomes()


def test_fc_54_a_failure_in_a_second_request_is_about_what_that_request_held() -> None:
    bench = Bench(Kind.APPEND, 4, items=2)

    bench.run(codes(), codes(i3="Busy"), codes())

    assert [["i1", "i2"], ["i3", "i4"], ["i3"]] == bench.sent


def test_fc_55_failures_by_position_are_told_by_item() -> None:
    bench = Bench(Kind.APPEND, 5)

    bench.run(codes(i1="Invalid", i4="Invalid"))

    assert ["i1", "i4"] == [each.item_id for each in bench.alerts]
    assert ["i1", "i4"] == bench.outcomes()[Outcome.TERMINAL]


def test_fc_56_accepted_is_what_the_row_says_with_the_providers_reference() -> None:
    bench = Bench(Kind.APPEND, 1)

    bench.run(codes())

    assert ("r-i1", "q-1") == (bench.row("i1").object_ref, bench.row("i1").request_id)


def test_fc_57_when_the_third_chunk_fails_the_first_two_stay_done() -> None:
    bench = Bench(Kind.APPEND, 6, items=2)

    error = bench.run(codes(), codes(), failure("AccessDenied"))

    assert error is not None
    assert "AccessDenied" == error.code
    assert {Outcome.SUCCEEDED: ids(1, 4), Outcome.RETRYABLE: ids(5, 6)} == bench.outcomes()
    assert [0, 0] == [bench.row(item_id).attempts for item_id in ids(5, 6)]


def test_fc_58_what_the_service_calls_done_is_done_although_it_was_done_before() -> None:
    bench = Bench(Kind.PUT, 1)
    bench.there = {"i1"}

    bench.run(codes())

    assert {Outcome.SUCCEEDED: ["i1"]} == bench.outcomes()
    assert [] == bench.looked_up


def test_fc_59_two_items_of_equal_content_that_are_both_unprocessed_are_two_retryable_rows() -> None:
    bench = Bench(Kind.APPEND, 2)
    bench.entries["i2"] = replace(bench.entries["i2"], payload=bench.entries["i1"].payload)
    one = bench.start()

    bench.perform(bench.until(one, Record, codes("Unprocessed")), [])

    assert {Outcome.RETRYABLE: ["i1", "i2"]} == bench.outcomes()


@pytest.mark.parametrize("poison", ids(1, 25))
def test_fc_60_the_one_bad_item_of_25_is_found_in_a_bounded_number_of_requests(poison: str) -> None:
    bench = Bench(Kind.APPEND, 25)

    answers = [refuse_with(poison)] * 40
    bench.finish(bench.start(), None, answers)

    assert len(bench.sent) <= 12
    assert {Outcome.SUCCEEDED: [i for i in ids(1, 25) if i != poison], Outcome.TERMINAL: [poison]} == bench.outcomes()
    assert {1} == {row.attempts for row in bench.store.rows("op")}
    assert [poison] == [each.item_id for each in bench.alerts]


# ---------------------------------------------------------------------------------- bugs that the simulation found


def test_a_request_that_cannot_be_repeated_whole_does_not_go_to_and_fro_while_its_window_is_open() -> None:
    bench = Bench(Kind.TOKEN, 2)

    bench.run(codes(i2="E9"))

    assert ["planned", "dispatched", "lost", "replay_allowed", "replay_expired", "inconclusive"] == bench.events("i2")
    assert Review.NO_LOOK_UP is bench.row("i2").review


def test_a_request_of_which_one_item_waits_for_a_person_is_not_waited_for() -> None:
    bench = Bench(Kind.TOKEN, 1, policy=Policy(max_attempts=2))
    bench.perform(bench.until(bench.start(), Record, codes("Busy")), [])
    bench.entries["i2"] = Entry("i2", {"v": 2}, 10, "k2")
    bench.plan(bench.entries["i2"])
    bench.now += 1.0

    bench.run(TIMEOUT)  # the last attempt of one and the first of the other

    assert [["i1"], ["i1", "i2"]] == bench.sent
    assert {Outcome.RECONCILE: ["i1", "i2"]} == bench.outcomes()
    assert {Review.NO_LOOK_UP} == {row.review for row in bench.store.rows("op")}


def test_late_evidence_of_one_send_does_not_hide_that_another_may_have_had_its_effect_too() -> None:
    bench = Bench(Kind.ANYWAY, 1)
    first, second = bench.start("w1"), bench.start("w2")
    late = bench.until(first, Record, codes())
    bench.now += bench.policy.lease_s
    lost = bench.until(second, Record)  # the replay is allowed
    bench.perform(lost, [])
    lost = bench.until(second, Record, TIMEOUT)
    bench.perform(late, [])
    bench.perform(lost, [])

    bench.run()

    assert {Outcome.SUCCEEDED: ["i1"]} == bench.outcomes()
    assert 1 == bench.row("i1").possible_duplicates


def test_a_second_effect_after_a_closed_window_is_marked_as_possible() -> None:
    bench = Bench(Kind.WINDOW_ANYWAY, 1)
    bench.until(bench.start(), Record, codes())
    bench.now += 400.0

    bench.run(codes(), name="w2")

    assert 1 == bench.row("i1").possible_duplicates


def test_a_second_send_within_the_window_is_no_possible_duplicate() -> None:
    bench = Bench(Kind.WINDOW, 1)

    bench.run(TIMEOUT, codes())

    assert [("i1", "k1", 1)] * 2 == [item for request in bench.requests for item in request["items"]]
    assert 0 == bench.row("i1").possible_duplicates


def test_an_item_that_is_refused_after_the_late_success_of_an_earlier_send_is_done() -> None:
    bench = Bench(Kind.ANYWAY, 1)
    first, second = bench.start("w1"), bench.start("w2")
    late = bench.until(first, Record, codes())
    bench.now += bench.policy.lease_s
    bench.perform(bench.until(second, Record), [])
    refused = bench.until(second, Record, codes(i1="Invalid"))
    bench.perform(late, [])

    bench.perform(refused, [])

    bench.run()
    assert (Outcome.SUCCEEDED, None, 0) == (
        bench.row("i1").outcome,
        bench.row("i1").review,
        bench.row("i1").possible_duplicates,
    )


def test_repeated_sends_after_unknown_ends_are_spaced_like_other_retries() -> None:
    bench = Bench(Kind.WINDOW, 1)
    one = bench.start(longest=True)

    waits = []
    for _ in range(7):
        lost = bench.until(one, Record, TIMEOUT)
        waits.append(lost.moves[0].delay_s)
        bench.perform(lost, [])
        bench.perform(bench.until(one, Record), [])

    assert pytest.approx([0.2, 1.04, 1.08, 1.6, 3.2, 6.4, 12.8]) == waits


def test_an_answer_that_does_not_add_up_proves_nothing() -> None:
    bench = Bench(Kind.APPEND, 2)
    short = codes()

    bench.run(lambda ids: short(ids[1:]))

    assert {Outcome.RECONCILE: ids(1, 2)} == bench.outcomes()
    assert {IMPOSSIBLE} == {row.error_code for row in bench.store.rows("op")}
