"""Claims of the caller's own worker: recorded once, on every way out, and silence means unknown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from itemledger.core.batches import BatchState
from itemledger.errors import ClaimLostError, LedgerError, ManifestError
from itemledger.ledger import Ledger, OnUnknown, OwnBatch, Replay, Review, Scope, Verdict
from itemledger.testing import FakeClock
from tests.ledger.ledgers import (
    BOOKED,
    OP,
    REFUNDS,
    START,
    STORES,
    Alerts,
    at_once,
    ends_with,
    events,
    longest,
    open_one,
    outcomes,
    planned,
    refunds,
)

DAY = Replay(Scope.ITEM, 86_400.0, "the provider's own page on idempotency")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture(params=STORES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    with open_one(request.param, tmp_path, clock) as ledger:
        yield ledger


def lose(ledger: Ledger) -> OwnBatch:
    """One send of everything that is due, by a worker that dies after the effect: nothing of it is recorded."""
    batch = ledger.claim(OP).__enter__()
    batch.dispatch()
    return batch


class CrashedError(Exception):
    """The body's own."""


# ------------------------------------------------------------------------------------------------------- the good ways


def test_each_row_ends_as_its_worker_says(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 5, backoff_base_s=1.0, settle_s=7.0)
    alerts = Alerts()
    with ledger.claim(OP, worker="w1", on_alert=alerts, jitter=longest) as batch:
        batch.dispatch()
        one, two, three, four, five = batch.rows
        clock.advance(0.25)
        batch.succeeded(one, object_ref="refund-1", request_id="q-1")
        batch.unprocessed(two)
        batch.transient(three, code="Busy", message="try later", request_id="q-1")
        batch.rejected(four, code="NoSuchOrder", message="what is r4?", request_id="q-1")
        batch.unknown(five, code="ReadTimeout")
    assert ["succeeded", "retryable", "retryable", "terminal", "reconcile"] == outcomes(ledger)
    one, two, three, four, five = ledger.rows(OP)
    assert ("refund-1", "q-1", None, 0) == (one.object_ref, one.request_id, one.due_at, one.possible_duplicates)
    assert (START + 0.25 + 1.0, None) == (two.due_at, two.error_code)
    assert ("Busy", "try later", START + 1.25) == (three.error_code, three.error_message, three.due_at)
    assert ("NoSuchOrder", "refused", None) == (four.error_code, four.review, four.due_at)
    assert ("ReadTimeout", START + 0.25 + 7.0, 1) == (five.error_code, five.due_at, five.lost_attempts)
    assert {1} == {row.dispatches for row in ledger.rows(OP)}
    assert [(4, "r4", OP, 1, "refused", "NoSuchOrder", "q-1")] == [
        (a.row, a.item_id, a.operation_id, a.attempts, a.reason, a.code, a.request_id) for a in alerts
    ]
    evidence = ledger.history(1)[-1].evidence
    assert evidence is not None
    assert ("q-1", None, 250.0) == (evidence.request_id, evidence.code, evidence.duration_ms)
    assert "w1" == ledger.store.batch(batch.epoch).worker


def test_where_nothing_is_due_the_block_finds_no_rows(ledger: Ledger) -> None:
    planned(ledger, 0)
    with ledger.claim(OP) as batch:
        assert ((), None) == (batch.rows, batch.wait_s)
        batch.dispatch()
        batch.heartbeat()
        for name in ("epoch", "token"):
            with pytest.raises(LedgerError, match="nothing was due"):
                getattr(batch, name)


def test_an_empty_claim_says_how_long_to_wait(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, lease_s=60.0)
    with ledger.claim(OP), ledger.claim(OP) as batch:
        clock.advance(15.0)
        assert ((), 60.0) == (batch.rows, batch.wait_s)


def test_a_claim_holds_no_more_than_asked_for_and_nobody_else_gets_its_rows(ledger: Ledger) -> None:
    planned(ledger, 3)
    with ledger.claim(OP, max_items=2) as one, ledger.claim(OP, max_items=2) as two:
        assert [[1, 2], [3]] == [[row.number for row in batch.rows] for batch in (one, two)]
        assert one.epoch != two.epoch
        assert one.token != two.token
        assert 32 == len(one.token)


def test_what_was_not_dispatched_is_given_back_uncharged(ledger: Ledger) -> None:
    planned(ledger, 1)
    for _ in range(2):
        with ledger.claim(OP) as batch:
            assert [1] == [row.attempts for row in batch.rows]
    row = ledger.row(1)
    assert ("pending", 0, 0, None, START) == (row.outcome, row.attempts, row.dispatches, row.epoch, row.due_at)
    assert BatchState.RELEASED is ledger.store.batch(batch.epoch).state


def test_a_stored_payload_comes_back(ledger: Ledger) -> None:
    ledger.plan(OP, REFUNDS, refunds(2)[:1], store_payloads=True)
    ledger.plan(OP, REFUNDS, refunds(2)[1:])
    with ledger.claim(OP) as batch:
        assert refunds(1)[0] == batch.payload(batch.rows[0])
        with pytest.raises(LedgerError, match="row 2 has no payload in this ledger; plan with store_payloads=True"):
            batch.payload(batch.rows[1])


def test_a_rejection_with_a_code_that_the_policy_lets_pass_is_transient(ledger: Ledger) -> None:
    planned(ledger, 3, retry_codes=frozenset({"Locked"}))
    alerts = Alerts()
    with ledger.claim(OP, on_alert=alerts) as batch:
        batch.dispatch()
        batch.rejected(batch.rows[0], code="Locked")
        batch.rejected(batch.rows[1], code="Closed")
        batch.unknown(batch.rows[2], code="Locked")
    assert ["retryable", "terminal", "reconcile"] == outcomes(ledger), "no code makes an unknown end a known one"
    assert [2] == [alert.row for alert in alerts]


def test_the_delay_grows_with_the_attempts_under_the_same_key(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, backoff_base_s=1.0, backoff_cap_s=60.0)
    keys, delays = set(), []
    for _ in range(3):
        with ledger.claim(OP, jitter=longest) as batch:
            batch.dispatch()
            keys.add(batch.rows[0].idempotency_key)
            batch.transient(batch.rows[0], code="Busy")
        due_at = ledger.row(1).due_at
        assert due_at is not None
        delays.append(due_at - clock())
        clock.advance(due_at - clock())
    assert 1 == len(keys)
    assert [1.0, 2.0, 4.0] == delays


def test_what_fails_together_with_others_comes_back_later_until_one_succeeds(ledger: Ledger, clock: FakeClock) -> None:
    """The claims of an operation are one run: a storm is not forgotten from one to the next."""
    planned(ledger, 75, backoff_base_s=0.1, backoff_cap_s=60.0)
    delays = []
    for succeed in (False, False, True):
        with ledger.claim(OP, max_items=25, jitter=longest) as batch:
            batch.dispatch()
            first, *others = batch.rows
            for row in others:
                batch.transient(row)
            batch.succeeded(first) if succeed else batch.transient(first)
        due_at = ledger.row(others[-1].number).due_at
        assert due_at is not None
        delays.append(round(due_at - clock(), 3))
    assert [0.1, 2.0, 0.1] == delays


def test_the_evidence_of_a_batch_names_no_request_where_its_rows_name_several(ledger: Ledger) -> None:
    planned(ledger, 2)
    with ledger.claim(OP) as batch:
        batch.dispatch()
        for row in batch.rows:
            batch.succeeded(row, request_id=f"q-{row.number}")
    evidence = ledger.history(1)[-1].evidence
    assert evidence is not None
    assert (None, "q-1", "q-2") == (evidence.request_id, ledger.row(1).request_id, ledger.row(2).request_id)


# ---------------------------------------------------------------------------------------------------- silence, errors


def test_rows_not_spoken_of_may_have_been_done(ledger: Ledger) -> None:
    planned(ledger, 2)
    with ledger.claim(OP) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[0])
    assert ["succeeded", "reconcile"] == outcomes(ledger)
    assert "NoOneOutcome" == ledger.row(2).error_code


@pytest.mark.parametrize("raised", [CrashedError, KeyboardInterrupt, SystemExit])
def test_an_error_that_leaves_the_block_is_raised_as_it_came_and_the_claim_recorded(
    ledger: Ledger, raised: type[BaseException]
) -> None:
    planned(ledger, 2)
    thrown = raised("r2 and its secrets")
    with ends_with(raised) as caught, ledger.claim(OP) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[0])
        raise thrown
    assert thrown is caught.value
    assert [] == getattr(thrown, "__notes__", [])
    assert ["succeeded", "reconcile"] == outcomes(ledger)
    row, evidence = ledger.row(2), ledger.history(2)[-1].evidence
    assert evidence is not None
    assert (raised.__name__, raised.__name__) == (row.error_code, evidence.code)
    assert "secrets" not in repr((row, evidence))


def test_an_error_before_the_dispatch_gives_the_rows_back(ledger: Ledger) -> None:
    planned(ledger, 1)
    with ends_with(CrashedError), ledger.claim(OP):
        raise CrashedError
    assert ("pending", 0) == (ledger.row(1).outcome, ledger.row(1).attempts)


def test_a_row_spoken_of_twice_is_refused_at_once_and_counts_as_unknown(ledger: Ledger) -> None:
    planned(ledger, 2)
    with ends_with(LedgerError, match="row 1 got a second outcome"), ledger.claim(OP) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[1])
        batch.succeeded(batch.rows[0])
        batch.rejected(batch.rows[0])
    assert ["reconcile", "succeeded"] == outcomes(ledger)
    assert "NoOneOutcome" == ledger.row(1).error_code


def test_a_foreign_row_is_refused_at_once(ledger: Ledger) -> None:
    planned(ledger, 2)
    with ledger.claim(OP, max_items=1) as batch:
        batch.dispatch()
        with pytest.raises(LedgerError, match="row 2 is not in this claim"):
            batch.succeeded(ledger.row(2))
        batch.succeeded(batch.rows[0])
    assert ["succeeded", "pending"] == outcomes(ledger)


WORDS = ["succeeded", "unprocessed", "transient", "rejected", "unknown"]


@pytest.mark.parametrize("word", WORDS)
def test_no_outcome_is_taken_before_the_dispatch_or_after_the_end(ledger: Ledger, word: str) -> None:
    planned(ledger, 1)
    with ledger.claim(OP) as batch, pytest.raises(LedgerError, match=r"row 1 is not dispatched; call batch\.dispatch"):
        getattr(batch, word)(batch.rows[0])
    with pytest.raises(LedgerError, match="this claim has ended"):
        getattr(batch, word)(batch.rows[0])
    assert ["pending"] == outcomes(ledger)


def test_a_claim_is_for_one_send_and_one_block(ledger: Ledger) -> None:
    planned(ledger, 1)
    claim = ledger.claim(OP)
    with claim as batch:
        batch.dispatch()
        with pytest.raises(LedgerError, match="dispatched already"):
            batch.dispatch()
        batch.unprocessed(batch.rows[0])
    with pytest.raises(LedgerError, match="used already"):
        claim.__enter__()
    for call in (batch.dispatch, batch.heartbeat):
        with pytest.raises(LedgerError, match="this claim has ended"):
            call()


@pytest.mark.parametrize("max_items", [0, -1, 10_001, True, 1.0])
def test_a_claim_has_bounds(ledger: Ledger, max_items: int) -> None:
    planned(ledger, 1)
    with pytest.raises(ManifestError, match=f"max_items={max_items!r}: give a whole number from 1 to 10,000"):
        ledger.claim(OP, max_items=max_items)


def test_an_unknown_operation_is_named(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="no operation 'refunds'; plan it first"):
        ledger.claim(OP)


# ------------------------------------------------------------------------------------------------------- lost claims


def test_fc_51_a_worker_that_dies_after_the_effect_is_not_followed_by_a_second_send(
    ledger: Ledger, clock: FakeClock
) -> None:
    planned(ledger, 1, BOOKED, lease_s=60.0)
    lose(ledger)
    for _ in range(3):
        clock.advance(61.0)
        with ledger.claim(OP) as second:
            assert () == second.rows
            assert second.wait_s is None, "only a look-up or a person moves it on"
    assert ["reconcile"] == outcomes(ledger)
    assert {Verdict.SAME: 1} == ledger.reconcile(OP, lambda row: Verdict.SAME)
    assert ["succeeded"] == outcomes(ledger)
    assert ["planned", "dispatched", "lease_expired", "found"] == events(ledger, 1)
    assert 1 == ledger.row(1).dispatches


def test_a_claim_that_ends_a_dead_one_leaves_its_rows_time_for_a_late_effect(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, lease_s=60.0, settle_s=5.0)
    lose(ledger)
    clock.advance(61.0)
    with ledger.claim(OP) as batch:
        assert () == batch.rows
    assert clock() + 5.0 == ledger.row(1).due_at


@pytest.mark.parametrize("word", WORDS)
def test_fc_61_a_row_that_completed_meanwhile_stays_completed(ledger: Ledger, clock: FakeClock, word: str) -> None:
    """A slow worker speaks of a row after another one has settled it."""
    planned(ledger, 1, BOOKED, lease_s=60.0)
    with ends_with(ClaimLostError, match="kept as evidence and moved nothing"), ledger.claim(OP) as slow:
        slow.dispatch()
        clock.advance(61.0)
        ledger.reconcile(OP, lambda row: Verdict.SAME)
        before = ledger.row(1)
        getattr(slow, word)(slow.rows[0])
    assert before == ledger.row(1)
    assert "succeeded" == before.outcome
    assert "late" == events(ledger, 1)[-1]


def test_fc_62_an_item_that_ends_its_worker_each_time_ends_terminal(ledger: Ledger, clock: FakeClock) -> None:
    """Attempts are counted at the claim, so that a crash cannot hide them."""
    planned(ledger, 1, max_attempts=3, lease_s=60.0)
    alerts, attempts = Alerts(), []
    for _ in range(10):
        batch = ledger.claim(OP, on_alert=alerts).__enter__()  # and the worker is gone
        attempts += [row.attempts for row in batch.rows]
        clock.advance(61.0)
    assert [1, 2, 3] == attempts
    row = ledger.row(1)
    assert ("terminal", "exhausted", 0) == (row.outcome, row.review, row.dispatches)
    assert [(1, "r1", "exhausted", 3)] == [(a.row, a.item_id, a.reason, a.attempts) for a in alerts]


def test_the_retry_limit_ends_an_item_with_an_alert_that_names_what_was_last_said(ledger: Ledger) -> None:
    planned(ledger, 1, max_attempts=2)
    alerts = Alerts()
    for _ in range(3):
        with ledger.claim(OP, on_alert=alerts, jitter=at_once) as batch:
            batch.dispatch()
            for row in batch.rows:
                batch.transient(row, code="Busy", message="said of r1", request_id="q-9")
    assert ["terminal"] == outcomes(ledger)
    assert [("exhausted", 2, "Busy", "q-9")] == [(a.reason, a.attempts, a.code, a.request_id) for a in alerts]
    assert "said of" not in repr(alerts)


@pytest.mark.parametrize(
    ("verb", "dispatched"),
    [("heartbeat", False), ("heartbeat", True), ("dispatch", False), ("complete", True), ("fail", True)],
)
def test_fc_63_a_stale_claim_is_refused_by_each_verb(
    ledger: Ledger, clock: FakeClock, verb: str, dispatched: bool
) -> None:
    planned(ledger, 1, lease_s=60.0)
    with ends_with(ClaimLostError, match="epoch 1 "), ledger.claim(OP) as stale:
        if dispatched:
            stale.dispatch()
        clock.advance(61.0)
        with ledger.claim(OP) as second:
            second.dispatch()
            for row in second.rows:
                second.unprocessed(row)
        before = list(ledger.rows(OP))
        match verb:
            case "heartbeat":
                stale.heartbeat()
            case "dispatch":
                stale.dispatch()
            case "complete":
                stale.succeeded(stale.rows[0])
            case "fail":
                stale.rejected(stale.rows[0])
    after = [row if row.late_epoch is None else before[row.number - 1] for row in ledger.rows(OP)]
    assert before == after
    assert (verb == "complete") == (ledger.row(1).late_epoch is not None)


def test_fc_63_a_stale_claim_is_refused_on_release(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, lease_s=60.0)
    with ends_with(ClaimLostError, match="lapsed"), ledger.claim(OP):
        clock.advance(61.0)
        second = ledger.claim(OP).__enter__()
        before = ledger.row(1)
    assert before == ledger.row(1)
    assert second.epoch == before.epoch


def test_a_claim_whose_dispatch_was_refused_ends_without_saying_it_twice(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, lease_s=60.0)
    with ledger.claim(OP) as stale:
        clock.advance(61.0)
        with ledger.claim(OP), pytest.raises(ClaimLostError, match="lapsed"):
            stale.dispatch()


def test_a_lost_claim_does_not_hide_the_error_on_its_way(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, BOOKED, lease_s=60.0)
    with ends_with(CrashedError) as caught, ledger.claim(OP) as stale:
        stale.dispatch()
        clock.advance(61.0)
        ledger.reconcile(OP, lambda row: Verdict.ABSENT_INCONCLUSIVE)
        raise CrashedError
    (note,) = caught.value.__notes__
    assert note.startswith("itemledger: the claim did not end well (ClaimLostError: the lease of epoch 1 ran out")


def test_a_store_that_fails_at_the_end_does_not_hide_the_error_on_its_way(ledger: Ledger) -> None:
    planned(ledger, 1)
    with ends_with(CrashedError) as caught, ledger.claim(OP) as batch:
        batch.dispatch()
        ledger.close()
        raise CrashedError
    (note,) = caught.value.__notes__
    assert note.startswith("itemledger: the claim did not end well (LedgerError: ")


def test_a_heartbeat_gives_the_whole_lease_again(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, lease_s=60.0)
    with ledger.claim(OP) as batch:
        for _ in range(3):
            clock.advance(40.0)
            batch.heartbeat()
        batch.dispatch()
        clock.advance(50.0)
        batch.succeeded(batch.rows[0])
    assert ["succeeded"] == outcomes(ledger)


def test_an_alert_hook_that_fails_leaves_no_row_held(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 2, max_attempts=1, lease_s=60.0)
    with ends_with(ClaimLostError), ledger.claim(OP, max_items=1):
        clock.advance(61.0)
        with pytest.raises(ZeroDivisionError):
            ledger.claim(OP, on_alert=lambda alert: 1 // 0).__enter__()
        assert [None, None] == [row.epoch for row in ledger.rows(OP)]
    assert ["terminal", "pending"] == outcomes(ledger)


# ----------------------------------------------------------------------------------------------------- replay windows


def test_a_promise_to_recognise_a_repeated_send_lets_it_go_out_again(ledger: Ledger, clock: FakeClock) -> None:
    """After a pause, like all that is sent again, and also where the policy alone would leave it to a person."""
    planned(ledger, 1, backoff_base_s=4.0)
    with ledger.claim(OP, jitter=longest) as batch:
        batch.dispatch(DAY)
        batch.unknown(batch.rows[0])
    with ledger.claim(OP) as batch:
        assert ((), 4.0) == (batch.rows, batch.wait_s)
    clock.advance(4.0)
    with ledger.claim(OP) as batch:
        batch.dispatch(DAY)
        batch.succeeded(batch.rows[0])
    assert ("succeeded", 0, 2) == (ledger.row(1).outcome, ledger.row(1).possible_duplicates, ledger.row(1).dispatches)
    assert "window" == ledger.history(1)[3].detail["allowed_by"]


def test_a_send_that_a_look_up_ruled_out_is_no_duplicate(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, BOOKED, lease_s=60.0)
    lose(ledger)
    clock.advance(61.0)
    ledger.reconcile(OP, lambda row: Verdict.ABSENT_CONCLUSIVE, jitter=at_once)
    with ledger.claim(OP) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[0])
    assert ("succeeded", 0) == (ledger.row(1).outcome, ledger.row(1).possible_duplicates)


# ------------------------------------------------------------------------- unknown ends where nothing can be asked

TO_A_PERSON = [(OnUnknown.REVIEW, Review.NO_LOOK_UP), (OnUnknown.IRREVERSIBLE, Review.IRREVERSIBLE)]


@pytest.mark.parametrize(("on_unknown", "review"), TO_A_PERSON)
def test_a_loop_of_claims_alone_leaves_unknown_ends_in_review(
    ledger: Ledger, on_unknown: OnUnknown, review: Review
) -> None:
    """No other call, and no pause: the claim that ends the loop says it."""
    planned(ledger, 3, on_unknown=on_unknown)
    sent = 0
    while True:
        with ledger.claim(OP, max_items=1, jitter=longest) as batch:
            if not batch.rows:
                break
            batch.dispatch()
            sent += 1
            if batch.rows[0].number == 1:
                batch.succeeded(batch.rows[0])
    assert (3, None) == (sent, batch.wait_s)
    assert ["succeeded", "reconcile", "reconcile"] == outcomes(ledger)
    assert [2, 3] == [row.number for row in ledger.rows(OP, in_review=True)]
    assert {review} == {row.review for row in ledger.rows(OP, in_review=True)}


@pytest.mark.parametrize(("on_unknown", "review"), TO_A_PERSON)
def test_rows_of_a_worker_that_died_come_into_review_at_a_claim(
    ledger: Ledger, clock: FakeClock, on_unknown: OnUnknown, review: Review
) -> None:
    planned(ledger, 250, on_unknown=on_unknown, lease_s=60.0, settle_s=5.0)
    ledger.claim(OP, max_items=250).__enter__().dispatch()
    clock.advance(61.0)
    with ledger.claim(OP) as batch:
        assert ((), 5.0) == (batch.rows, batch.wait_s), "a late answer gets its time"
    clock.advance(5.0)
    with ledger.claim(OP) as batch:
        assert ((), None) == (batch.rows, batch.wait_s)
    assert 250 == len(list(ledger.rows(OP, in_review=True)))
    assert {review} == {row.review for row in ledger.rows(OP)}


def test_under_at_least_once_what_has_no_answer_is_sent_again_after_a_pause_and_marked(
    ledger: Ledger, clock: FakeClock
) -> None:
    planned(ledger, 2, on_unknown=OnUnknown.AT_LEAST_ONCE, backoff_base_s=4.0)
    with ledger.claim(OP, jitter=longest) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[0])
    with ledger.claim(OP) as batch:
        assert ((), 4.0) == (batch.rows, batch.wait_s)
    clock.advance(4.0)
    with ledger.claim(OP) as batch:
        assert [2] == [row.number for row in batch.rows]
        batch.dispatch()
        batch.succeeded(batch.rows[0])
    assert [("succeeded", 0), ("succeeded", 1)] == [(r.outcome, r.possible_duplicates) for r in ledger.rows(OP)]
    assert ["planned", "dispatched", "lost", "replay_allowed", "dispatched", "confirmed"] == events(ledger, 2)
    assert "policy" == ledger.history(2)[3].detail["allowed_by"]


def test_under_at_least_once_the_rows_of_a_worker_that_died_are_sent_again_and_marked(
    ledger: Ledger, clock: FakeClock
) -> None:
    planned(ledger, 1, on_unknown=OnUnknown.AT_LEAST_ONCE, lease_s=60.0)
    lose(ledger)
    clock.advance(61.0)
    with ledger.claim(OP) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[0])
    row = ledger.row(1)
    assert ("succeeded", 1, 0) == (row.outcome, row.possible_duplicates, row.lost_attempts)


def test_at_least_once_ends_with_a_person_when_the_attempts_are_used_up(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, on_unknown=OnUnknown.AT_LEAST_ONCE, max_attempts=3)
    sent = 0
    wait_s: float | None = 0.0
    while wait_s is not None:
        clock.advance(wait_s)
        with ledger.claim(OP) as batch:
            batch.dispatch()
            sent += len(batch.rows)
            wait_s = 0.0 if batch.rows else batch.wait_s
    row = ledger.row(1)
    assert (3, "reconcile", "exhausted") == (sent, row.outcome, row.review)


@pytest.mark.parametrize(("on_unknown", "first"), [(OnUnknown.AT_LEAST_ONCE, None), (OnUnknown.REVIEW, DAY)])
def test_a_rejection_after_a_send_without_an_answer_does_not_say_that_it_was_not_done(
    ledger: Ledger, on_unknown: OnUnknown, first: Replay | None
) -> None:
    planned(ledger, 1, on_unknown=on_unknown)
    alerts = Alerts()
    for rejected in (False, True):
        with ledger.claim(OP, on_alert=alerts, jitter=at_once) as batch:
            batch.dispatch(None if rejected else first)
            if rejected:
                batch.rejected(batch.rows[0], code="AlreadyRefunded")
    row = ledger.row(1)
    assert ("reconcile", "refused", "AlreadyRefunded", None) == (row.outcome, row.review, row.error_code, row.due_at)
    assert [] == alerts


@pytest.mark.parametrize("on_unknown", OnUnknown)
def test_where_something_can_be_asked_no_claim_settles_an_unknown_end(
    ledger: Ledger, clock: FakeClock, on_unknown: OnUnknown
) -> None:
    planned(ledger, 1, BOOKED, on_unknown=on_unknown)
    with ledger.claim(OP) as batch:
        batch.dispatch()
    before = ledger.row(1)
    clock.advance(1000.0)
    with ledger.claim(OP) as batch:
        assert ((), None) == (batch.rows, batch.wait_s)
    assert before == ledger.row(1)
    assert ("reconcile", None) == (before.outcome, before.review)


def test_a_hook_where_nothing_can_be_asked_is_refused_and_nobody_is_asked(ledger: Ledger) -> None:
    planned(ledger, 1)
    with ledger.claim(OP) as batch:
        batch.dispatch()
    before = ledger.row(1)
    with pytest.raises(LedgerError, match=r"by its policy; plan another one with OwnApi\(\.\.\., looks_up=True\)"):
        ledger.reconcile(OP, lambda row: Verdict.SAME)
    assert before == ledger.row(1)


def test_whether_something_can_be_asked_is_settled_at_planning_for_every_worker(ledger: Ledger) -> None:
    planned(ledger, 1)
    with pytest.raises(LedgerError, match="another target"):
        planned(ledger, 1, BOOKED)


def test_a_claim_that_another_one_takes_while_it_settles_goes_on_to_what_is_due(
    ledger: Ledger, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(ledger, 1, lease_s=60.0)
    lose(ledger)
    clock.advance(61.0)
    dispatch, epochs = ledger.store.dispatch, []

    def slow(epoch: int, replay: Replay | None = None) -> None:
        epochs.append(epoch)
        if len(epochs) == 1:
            clock.advance(61.0)  # its lease is over
        dispatch(epoch, replay)

    monkeypatch.setattr(ledger.store, "dispatch", slow)
    with ledger.claim(OP) as batch:
        assert () == batch.rows
    assert ([2, 3], "no_look_up") == (epochs, ledger.row(1).review)
