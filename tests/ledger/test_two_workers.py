"""Two workers on one ledger file, interleaved: two connections under one clock."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from itemledger.core.batches import Recorded
from itemledger.core.outcome import Event, Outcome
from itemledger.core.rows import Planned
from itemledger.errors import ClaimLostError
from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.world import ORDERS, SCRATCH, FakeWall, World, check_laws, items, operation


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        yield Path(folder)


@pytest.fixture
def pair(folder: Path) -> Iterator[tuple[World, World]]:
    """Two workers with connections of their own, under one clock."""
    wall = FakeWall()
    one, two = (World(lambda clock: SqliteStore(folder / "ledger.db", clock=clock), wall) for _ in range(2))
    yield one, two
    for world in (one, two):
        check_laws(world.store, sorted({*one.epochs, *two.epochs}))
        world.store.close()


def test_of_two_workers_with_the_same_items_one_claim_wins(pair: tuple[World, World]) -> None:
    one, two = pair
    one.begin(count=3)

    first, second = one.claim(), two.claim()

    assert first.batch is not None
    assert (None, 60.0) == (second.batch, second.wait_s)


def test_two_workers_that_plan_the_same_items_make_one_row_of_each(pair: tuple[World, World]) -> None:
    one, two = pair
    one.store.open_operation(operation())

    assert Planned(new=2) == one.plan(*items(2))
    assert Planned(new=1, repeated=2) == two.plan(*items(3))
    assert 3 == one.store.counts(ORDERS)[Outcome.PENDING]


def test_two_workers_share_what_is_due_and_no_epoch(pair: tuple[World, World]) -> None:
    one, two = pair
    one.begin(count=6)

    batches = [worker.take(most=2) for worker in (one, two, one)]

    assert 6 == len({number for batch in batches for number in batch.items})
    assert 3 == len({batch.epoch for batch in batches})


def test_a_worker_sees_the_lease_of_another_run_out_and_fences_it(pair: tuple[World, World]) -> None:
    one, two = pair
    one.begin()
    lost = one.take()
    two.outlive(lost)
    taken = two.send()

    for verb in (one.store.heartbeat, one.store.dispatch, one.store.release):
        with pytest.raises(ClaimLostError):
            verb(lost.epoch)
    assert Recorded(late=True) == one.record(lost, Event.LOST)
    assert Recorded(taken.items) == two.record(taken, Event.CONFIRMED)


def test_a_worker_keeps_its_claim_by_heartbeats_that_the_other_sees(pair: tuple[World, World]) -> None:
    one, two = pair
    one.begin()
    batch = one.send()
    for _ in range(3):
        one.wall.forward(50)
        one.store.heartbeat(batch.epoch)
        assert two.claim().batch is None

    assert Recorded(batch.items) == one.record(batch, Event.CONFIRMED)
    assert two.claim().wait_s is None


def test_an_answer_after_another_worker_saw_the_lapse_is_found_by_that_worker(pair: tuple[World, World]) -> None:
    one, two = pair
    one.begin()
    lost = one.send()
    two.outlive(lost)
    assert two.claim().batch is None
    one.record(lost, Event.CONFIRMED)

    assert two.claim().batch is None
    assert Outcome.SUCCEEDED is two.row().outcome
