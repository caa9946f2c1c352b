"""The outcome law against the table of the design, written out by hand; a change of the law is a change here too."""

from __future__ import annotations

import pytest

from itemledger.core.outcome import FINAL, TRANSITIONS, Event, Outcome, moved
from itemledger.errors import LedgerLawError

LAW = """
    pending    dispatched          in_flight
    pending    refused_locally     terminal
    pending    exhausted           terminal
    pending    settled             terminal
    in_flight  confirmed           succeeded
    in_flight  left_unprocessed    retryable
    in_flight  failed_transiently  retryable
    in_flight  not_processed       retryable
    in_flight  refused             terminal
    in_flight  lost                reconcile
    in_flight  lease_expired       reconcile
    retryable  dispatched          in_flight
    retryable  exhausted           terminal
    retryable  settled             terminal
    retryable  found               succeeded
    retryable  replay_expired      reconcile
    reconcile  found               succeeded
    reconcile  proven_absent       retryable
    reconcile  replay_allowed      retryable
    reconcile  inconclusive        reconcile
    reconcile  settled             succeeded
    reconcile  settled             retryable
    reconcile  settled             terminal
    terminal   reopened            retryable
    terminal   settled             succeeded
"""
ARROWS = {(Outcome(a), Event(event), Outcome(b)) for a, event, b in map(str.split, LAW.strip().splitlines())}
TARGETS = {(a, event): {b for x, y, b in ARROWS if (x, y) == (a, event)} for a in Outcome for event in Event}
BY_PERSONS = {Event.SETTLED, Event.REOPENED}
#: Moves into these say that the item may not have been done; only proof or permission leads there from reconcile.
SENT_AGAIN = {Event.PROVEN_ABSENT, Event.REPLAY_ALLOWED, Event.SETTLED}


def test_the_law_is_the_table_and_nothing_else() -> None:
    known = {(a, event, b) for a, events in TRANSITIONS.items() for event, ends in events.items() for b in ends}

    assert ARROWS == known
    assert set(Outcome) == set(TRANSITIONS)


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("outcome", Outcome)
def test_an_event_leads_where_the_table_says_or_is_refused(outcome: Outcome, event: Event) -> None:
    ends = TARGETS[outcome, event]
    if len(ends) == 1:
        assert ends == {moved(outcome, event)}
    else:
        with pytest.raises(LedgerLawError):
            moved(outcome, event)
    for choice in Outcome:
        if choice in ends:
            assert choice is moved(outcome, event, choice)
        else:
            with pytest.raises(LedgerLawError):
                moved(outcome, event, choice)


def test_only_a_person_has_a_choice() -> None:
    assert {(Outcome.RECONCILE, Event.SETTLED)} == {move for move, ends in TARGETS.items() if len(ends) > 1}


def test_success_is_final() -> None:
    assert {} == TRANSITIONS[Outcome.SUCCEEDED]


def test_only_a_person_moves_a_final_row() -> None:
    assert {Outcome.SUCCEEDED, Outcome.TERMINAL} == FINAL
    assert all(event in BY_PERSONS for outcome in FINAL for event in TRANSITIONS[outcome])


def test_every_event_happens_somewhere() -> None:
    assert set(Event) == {event for events in TRANSITIONS.values() for event in events}


def test_every_outcome_is_reached_from_pending_and_leads_to_an_end() -> None:
    assert set(Outcome) == _reached(Outcome.PENDING)
    assert all(FINAL & _reached(outcome) for outcome in Outcome)


def test_an_unknown_end_is_never_rounded() -> None:
    assert {Outcome.RECONCILE} == TARGETS[Outcome.IN_FLIGHT, Event.LOST]
    assert {Outcome.RECONCILE} == TARGETS[Outcome.IN_FLIGHT, Event.LEASE_EXPIRED]
    assert {Event.FOUND, Event.SETTLED} == _events(Outcome.RECONCILE, Outcome.SUCCEEDED)
    assert {Event.SETTLED} == _events(Outcome.RECONCILE, Outcome.TERMINAL)
    assert SENT_AGAIN == _events(Outcome.RECONCILE, Outcome.RETRYABLE)


def test_nothing_is_sent_from_anywhere_but_pending_and_retryable() -> None:
    assert {Outcome.PENDING, Outcome.RETRYABLE} == {a for a, _, b in ARROWS if b is Outcome.IN_FLIGHT}


def test_a_refusal_says_what_was_asked() -> None:
    with pytest.raises(LedgerLawError, match=r"no confirmed moves a row from reconcile to succeeded"):
        moved(Outcome.RECONCILE, Event.CONFIRMED, Outcome.SUCCEEDED)


def _events(before: Outcome, after: Outcome) -> set[Event]:
    return {event for a, event, b in ARROWS if (a, b) == (before, after)}


def _reached(start: Outcome) -> set[Outcome]:
    reached = {start}
    for _ in Outcome:
        reached |= {b for a, _, b in ARROWS if a in reached}
    return reached
