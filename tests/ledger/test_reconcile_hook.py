"""Unknown ends settled by the caller's own look-up: only proof moves a row, and a hook that fails proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from itemledger.core.batches import Ask
from itemledger.core.reconcile import Limits
from itemledger.errors import ClaimLostError, LedgerError
from itemledger.ledger import Decided, Ledger, OnUnknown, Replay, Row, Scope, Verdict
from itemledger.testing import FakeClock
from tests.ledger.ledgers import (
    BOOKED,
    OP,
    START,
    STORES,
    Alerts,
    at_once,
    events,
    longest,
    open_one,
    outcomes,
    planned,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture(params=STORES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    with open_one(request.param, tmp_path, clock) as ledger:
        yield ledger


def lost(ledger: Ledger, count: int, **policy: object) -> Ledger:
    """A ledger whose rows were all sent, and nobody knows how it ended."""
    planned(ledger, count, BOOKED, **policy)
    with ledger.claim(OP, max_items=100) as batch:
        batch.dispatch()
    assert ["reconcile"] * count == outcomes(ledger)
    return ledger


class Hook:
    """Answers by row number; what is an error is raised."""

    def __init__(self, *answers: Verdict | BaseException | object) -> None:
        self.answers = answers
        self.asked: list[int] = []

    def __call__(self, row: Row) -> Verdict:
        self.asked.append(row.number)
        answer = self.answers[row.number - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[return-value]  # some are wrong on purpose


def test_each_verdict_leads_where_it_must(ledger: Ledger, clock: FakeClock) -> None:
    hook = Hook(*Verdict)
    counted = lost(ledger, 6, backoff_base_s=2.0).reconcile(OP, hook, jitter=longest)
    assert dict.fromkeys(Verdict, 1) == counted
    assert [1, 2, 3, 4, 5, 6] == hook.asked
    expected = {
        Verdict.SAME: ("succeeded", None, None),
        Verdict.DIFFERENT: ("reconcile", "different", None),
        Verdict.SUPERSEDED: ("reconcile", "superseded", None),
        Verdict.ABSENT_CONCLUSIVE: ("retryable", None, START + 2.0),
        Verdict.ABSENT_INCONCLUSIVE: ("reconcile", None, START + 2.0),
        Verdict.UNREADABLE: ("reconcile", None, START + 2.0),
    }
    found = {v: (r.outcome.value, r.review, r.due_at) for v, r in zip(Verdict, ledger.rows(OP), strict=True)}
    assert expected == found
    assert [v.value for v in Verdict] == [ledger.history(n)[-1].detail["verdict"] for n in range(1, 7)]


def test_it_goes_on_until_nothing_is_due(ledger: Ledger) -> None:
    hook = Hook(*[Verdict.SAME] * 7)
    assert {Verdict.SAME: 7} == lost(ledger, 7).reconcile(OP, hook, max_items=3)
    assert [1, 2, 3, 4, 5, 6, 7] == hook.asked
    assert ["succeeded"] * 7 == outcomes(ledger)


def test_rows_that_can_be_sent_are_left_alone(ledger: Ledger) -> None:
    """Neither taken nor counted: a hundred look-ups must not use up the claims of what waits to be sent."""
    planned(ledger, 2, BOOKED)
    before = list(ledger.rows(OP))
    for _ in range(3):
        assert {} == ledger.reconcile(OP, Hook())
    assert before == list(ledger.rows(OP))
    claimed = ledger.store.claim(OP, Ask("worker", None, Limits(1)))
    assert (None, None) == (claimed.batch, claimed.wait_s), "for one who only looks up there is nothing to wait for"


def test_rows_whose_worker_died_are_looked_up_too(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, BOOKED, lease_s=60.0, settle_s=5.0)
    dead = ledger.claim(OP).__enter__()
    dead.dispatch()
    assert {} == ledger.reconcile(OP, Hook())
    clock.advance(61.0)
    assert {} == ledger.reconcile(OP, Hook()), "a late effect gets its time to be seen"
    clock.advance(5.0)
    assert {Verdict.SAME: 1} == ledger.reconcile(OP, Hook(Verdict.SAME))


def test_a_look_up_that_settles_nothing_ends_with_a_person(ledger: Ledger) -> None:
    hook = Hook(Verdict.ABSENT_INCONCLUSIVE)
    counted = lost(ledger, 1, max_look_ups=4).reconcile(OP, hook, jitter=at_once)
    assert {Verdict.ABSENT_INCONCLUSIVE: 4} == counted
    row = ledger.row(1)
    assert ("reconcile", "inconclusive", None) == (row.outcome, row.review, row.due_at)
    ledger.decide(1, Decided.SUCCEEDED, who="ann", why="seen in the bank's file")
    assert ["succeeded"] == outcomes(ledger)


def test_an_irreversible_run_asks_a_person_even_where_it_is_absent(ledger: Ledger) -> None:
    lost(ledger, 1, on_unknown=OnUnknown.IRREVERSIBLE).reconcile(OP, Hook(Verdict.ABSENT_CONCLUSIVE))
    assert ("reconcile", "irreversible") == (ledger.row(1).outcome, ledger.row(1).review)


def test_within_a_live_window_nobody_needs_to_be_asked(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, BOOKED, call_timeout_s=20.0)
    with ledger.claim(OP) as batch:
        batch.dispatch(Replay(Scope.ITEM, 100.0, "the provider's own page"))
    assert {} == ledger.reconcile(OP, Hook())
    assert (["retryable"], "replay_allowed") == (outcomes(ledger), events(ledger, 1)[-1])
    clock.advance(90.0)
    with ledger.claim(OP) as batch:
        assert () == batch.rows, "it would be sent after the provider has forgotten it"
    assert {Verdict.ABSENT_CONCLUSIVE: 1} == ledger.reconcile(OP, Hook(Verdict.ABSENT_CONCLUSIVE))
    assert ["retryable"] == outcomes(ledger)


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (ConnectionError("r2 cannot be had"), ConnectionError),
        ("same", LedgerError),
        (None, LedgerError),
        (True, LedgerError),
    ],
)
def test_a_hook_that_fails_makes_its_row_unreadable_and_is_heard(
    ledger: Ledger, answer: object, raised: type[Exception]
) -> None:
    hook = Hook(Verdict.SAME, answer, Verdict.SAME)
    with pytest.raises(raised) as caught:
        lost(ledger, 3, backoff_base_s=1.0).reconcile(OP, hook, jitter=longest)
    assert isinstance(answer, Exception) == (caught.value is answer)
    assert ["succeeded", "reconcile", "succeeded"] == outcomes(ledger)
    assert [1, 2, 3] == hook.asked
    entry = ledger.history(2)[-1]
    assert ("inconclusive", "unreadable") == (entry.event, entry.detail["verdict"])
    assert entry.evidence is not None
    assert raised.__name__ == entry.evidence.code
    assert "cannot be had" not in repr(entry)


def test_the_first_of_several_errors_is_raised(ledger: Ledger) -> None:
    with pytest.raises(ZeroDivisionError):
        lost(ledger, 2).reconcile(OP, Hook(ZeroDivisionError(), ConnectionError()))


def test_an_interrupt_asks_nobody_any_more_and_records_what_is_known(ledger: Ledger) -> None:
    hook = Hook(Verdict.SAME, KeyboardInterrupt(), Verdict.SAME)
    with pytest.raises(KeyboardInterrupt):
        lost(ledger, 3).reconcile(OP, hook, jitter=longest)
    assert [1, 2] == hook.asked
    assert ["succeeded", "reconcile", "reconcile"] == outcomes(ledger)


def slow(clock: FakeClock, seconds: float) -> Callable[[Row], Verdict]:
    def look_up(row: Row) -> Verdict:
        clock.advance(seconds)
        return Verdict.SAME

    return look_up


def test_a_slow_hook_keeps_its_lease(ledger: Ledger, clock: FakeClock) -> None:
    lost(ledger, 9, lease_s=60.0)
    assert {Verdict.SAME: 9} == ledger.reconcile(OP, slow(clock, 25.0))
    assert {"found"} == {events(ledger, number)[-1] for number in range(1, 10)}


def test_a_hook_that_outlives_the_lease_is_late_evidence(ledger: Ledger, clock: FakeClock) -> None:
    lost(ledger, 2, lease_s=60.0)

    def look_up(row: Row) -> Verdict:
        clock.advance(61.0)
        with ledger.claim(OP) as other:  # anybody's claim ends the lapsed one
            assert () == other.rows
        return Verdict.SAME

    with pytest.raises(ClaimLostError):
        ledger.reconcile(OP, look_up)
    assert ["reconcile", "reconcile"] == outcomes(ledger)
    assert ["late", "late"] == [events(ledger, number)[-1] for number in (1, 2)]
    with ledger.claim(OP) as other:
        assert () == other.rows
    assert ["succeeded", "reconcile"] == outcomes(ledger), "what was seen settles the row all the same"


def test_rows_given_up_on_the_way_are_told_of(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 1, BOOKED, max_attempts=1)
    with ledger.claim(OP, jitter=at_once) as batch:
        batch.dispatch()
        batch.transient(batch.rows[0], code="Busy")
    alerts = Alerts()
    ledger.reconcile(OP, Hook(), on_alert=alerts)
    assert [("exhausted", "Busy")] == [(alert.reason, alert.code) for alert in alerts]


def test_an_operation_must_be_there_and_planned_to_its_end(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="no operation 'refunds'; plan it first"):
        ledger.reconcile(OP, Hook())
