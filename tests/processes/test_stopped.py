"""SIGSTOP beyond the lease, then SIGCONT: another worker has taken over, and the one that wakes up changes nothing."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from itemledger.core.outcome import Outcome
from tests.engines.launch import Engine
from tests.processes.bench import Bench, messages, orders
from tests.processes.conftest import MakeBench, MakeQueue
from tests.processes.wire import Passed, Way, Wire

#: A lease that a test can wait for, and calls that a busy machine still makes within it.
PATIENT: dict[str, Any] = {"lease_s": 1.1, "call_timeout_s": 1.0}
READ_TIMEOUT_S = 0.8
CLAIMED, DISPATCHED, ANSWERED = ["claim<", 1], ["dispatch<", 1], ["record>", 1]
COUNT = 20


def stopped_at(bench: Bench, step: list[object]) -> Any:
    """A worker that has stopped exactly there."""
    life = bench.start(stop_at=step, read_timeout_s=READ_TIMEOUT_S)
    life.stopped()
    return life


def works_alone(bench: Bench) -> None:
    """Another worker, from its start to its end."""
    bench.start(read_timeout_s=READ_TIMEOUT_S).ends_well()


def test_a_worker_that_wakes_up_before_its_dispatch_sends_nothing(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    bench = make_bench(moto, wire, orders(COUNT), **PATIENT)
    sleeper = stopped_at(bench, CLAIMED)
    works_alone(bench)

    sleeper.wake()
    sleeper.ends_well()

    assert bench.each(1) == wire.sends()
    assert ["planned", "dispatched", "confirmed"] == bench.events("order-0000")
    bench.check_all_written(moto.client())


def test_a_worker_that_wakes_up_with_its_answer_moves_no_row_and_leaves_its_evidence(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    bench = make_bench(moto, wire, orders(COUNT), **PATIENT)
    sleeper = stopped_at(bench, ANSWERED)
    works_alone(bench)
    before = bench.rows()

    sleeper.wake()
    sleeper.ends_well()

    assert before == bench.rows()
    assert bench.each(1) == wire.sends()
    assert ["planned", "dispatched", "lease_expired", "found", "late"] == bench.events("order-0000")
    late = bench.history(bench.row("order-0000"))[-1]
    assert late.evidence is not None
    assert late.evidence.request_id
    bench.check_all_written(moto.client())


def test_a_worker_that_is_stopped_while_it_waits_for_its_answer_moves_no_row(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    bench = make_bench(moto, wire, orders(COUNT), **PATIENT)
    written, answers = threading.Event(), threading.Event()

    def answering(passed: Passed) -> None:
        if passed.writes:
            written.set()
            assert answers.wait(60)

    wire.answering = answering
    sleeper = bench.start(read_timeout_s=READ_TIMEOUT_S)
    assert written.wait(60)
    os.kill(sleeper.pid, signal.SIGSTOP)
    sleeper.stopped()
    answers.set()
    works_alone(bench)
    before = bench.rows()

    sleeper.wake()
    sleeper.ends_well()

    assert before == bench.rows()
    assert bench.each(1) == wire.sends()
    assert ["planned", "dispatched", "lease_expired", "found", "late"] == bench.events("order-0000")
    bench.check_all_written(moto.client())


def test_a_send_that_wakes_up_within_the_grace_is_settled_by_its_late_answer(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    bench = make_bench(moto, wire, orders(COUNT), **PATIENT, settle_s=3600.0)
    sleeper = stopped_at(bench, DISPATCHED)
    other = bench.start(read_timeout_s=READ_TIMEOUT_S)
    while Outcome.RECONCILE is not bench.row("order-0000").outcome:
        assert other.reaches("claim<")

    sleeper.wake()  # nothing stops it from sending now; the other worker leaves the items alone for an hour
    sleeper.ends_well()
    other.ends_well()

    assert bench.each(1) == wire.sends()
    assert ["planned", "dispatched", "lease_expired", "late", "found"] == bench.events("order-0000")
    bench.check_all_written(moto.client())


def test_a_send_that_wakes_up_within_the_grace_is_seen_by_the_look_up(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    bench = make_bench(moto, wire, orders(COUNT), **PATIENT)
    looked, written = threading.Event(), threading.Event()

    def deciding(passed: Passed) -> Way:
        if passed.writes:
            return Way.ANSWER_LOST
        looked.set()
        assert written.wait(60)  # stands for a grace as long as it takes the other to wake up
        return Way.THROUGH

    def answering(passed: Passed) -> None:
        if passed.writes:
            written.set()

    wire.deciding, wire.answering = deciding, answering
    sleeper = stopped_at(bench, DISPATCHED)
    other = bench.start(read_timeout_s=READ_TIMEOUT_S)
    assert looked.wait(60)

    sleeper.wake()
    sleeper.ends_well()
    other.ends_well()

    assert bench.each(1) == wire.sends()
    assert "found" in bench.events("order-0000")
    assert "proven_absent" not in bench.events("order-0000")
    bench.check_all_written(moto.client())


def test_what_remains_a_send_that_wakes_up_after_its_items_were_proven_absent_goes_out_a_second_time(
    moto: Engine, wire: Wire, make_bench: MakeBench
) -> None:
    """A ledger cannot stop a worker between its dispatch and its send. Here the second send is a put of the same item,
    which leaves things as they are; the books hold, and its answer is kept as late."""
    bench = make_bench(moto, wire, orders(COUNT), **PATIENT)
    sleeper = stopped_at(bench, DISPATCHED)
    works_alone(bench)
    before = bench.rows()
    assert bench.each(1) == wire.sends()

    sleeper.wake()
    sleeper.ends_well()

    assert bench.each(2) == wire.sends()
    assert before == bench.rows()
    told = ["planned", "dispatched", "lease_expired", "proven_absent", "dispatched", "confirmed", "late"]
    assert told == bench.events("order-0000")
    bench.check_all_written(moto.client())


@pytest.mark.parametrize(("on_unknown", "copies"), [("review", 1), ("at_least_once", 2)])
def test_what_remains_of_messages_is_in_review_until_it_is_sent_or_marked_as_possibly_doubled(
    moto: Engine, wire: Wire, make_queue: MakeQueue, on_unknown: str, copies: int
) -> None:
    queue = make_queue()
    bench = queue.bench(wire, messages(10), **PATIENT, on_unknown=on_unknown)
    sleeper = stopped_at(bench, DISPATCHED)
    works_alone(bench)
    assert (on_unknown == "review") == all(row.review is not None for row in bench.rows())

    sleeper.wake()
    sleeper.ends_well()

    assert bench.each(copies) == queue.messages()
    rows = bench.rows()
    assert {Outcome.SUCCEEDED} == {row.outcome for row in rows}
    assert {copies - 1} == {row.possible_duplicates for row in rows}
    bench.check_books()
