"""How a writer waits for another one: in a time of its own here, so that nothing is measured."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from itemledger.errors import LedgerError
from itemledger.ledger import sqlite_file
from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.world import ORDERS, FakeWall, items, operation


class Clock:
    """Stands in for the ``time`` module: passes by sleeping only, and does something at each sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.holder: sqlite3.Connection | None = None
        self.release_after = 10**9

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)
        if len(self.slept) == self.release_after and self.holder is not None:
            self.holder.execute("ROLLBACK")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(sqlite_file, "time", clock)
    return clock


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "orders.db", clock=FakeWall()) as store:
        store.open_operation(operation())
        yield store


@pytest.fixture
def holder(tmp_path: Path, store: SqliteStore, clock: Clock) -> Iterator[sqlite3.Connection]:
    holder = sqlite3.connect(tmp_path / "orders.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    clock.slept.clear()
    clock.holder = holder
    yield holder
    holder.close()


def test_a_writer_looks_again_and_again_until_the_other_is_done(
    store: SqliteStore, holder: sqlite3.Connection, clock: Clock
) -> None:
    clock.release_after = 7

    assert 2 == store.plan(ORDERS, items(2)).new

    assert 7 == len(clock.slept)


def test_while_another_worker_may_be_busy_the_looks_are_less_than_a_millisecond_apart(
    store: SqliteStore, holder: sqlite3.Connection, clock: Clock
) -> None:
    clock.release_after = 500

    store.plan(ORDERS, items(2))

    assert max(clock.slept) < 0.001
    assert len(set(clock.slept)) > 100, "drawn, so that those who wait do not look in step"


def test_the_waiting_ends_with_the_busy_timeout(store: SqliteStore, holder: sqlite3.Connection, clock: Clock) -> None:
    with pytest.raises(LedgerError, match=r"orders\.db stayed locked by another connection for 30 s"):
        store.plan(ORDERS, items(2))

    assert 30 <= sum(clock.slept) < 30.1
    assert len(clock.slept) < 30_000, "somebody's long transaction is not worth a look every moment"


def test_who_comes_straight_back_leaves_a_gap_for_those_who_wait(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.slept.clear()
    store.plan(ORDERS, items(2))
    assert [] == clock.slept, "the verb before took no time"

    with store._file.writing():
        clock.now += 0.002
    store.planning_ended(ORDERS)
    assert [pytest.approx(0.0002)] == clock.slept, "a tenth of the time that it had the lock"

    clock.slept.clear()
    with store._file.writing():
        clock.now += 5.0
    clock.now += 0.0004
    store.planning_ended(ORDERS)
    assert [pytest.approx(0.0002)] == clock.slept, "little at most, and what it did meanwhile counts"
