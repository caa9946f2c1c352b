"""The SQLite store's conditions in SQL, alone: what they refuse when nothing before them has looked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from itemledger.core.batches import BatchState
from itemledger.core.outcome import Event, Outcome
from itemledger.errors import LedgerLawError
from itemledger.ledger import sqlite_batches
from itemledger.ledger.sqlite import SqliteStore
from itemledger.ledger.sqlite_file import SqliteFile
from itemledger.ledger.sqlite_rows import Change, batch_of, operation_named, save_batch, write
from tests.ledger.world import ORDERS, SCRATCH, World, check_laws


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        yield Path(folder) / "ledger.db"


@pytest.fixture
def world(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A store that no longer looks before it writes."""
    world = World(lambda clock: SqliteStore(path, clock=clock))
    monkeypatch.setattr(sqlite_batches, "check_open", lambda *_: None)
    yield world
    check_laws(world.store, world.epochs)
    world.store.close()


@pytest.fixture
def file(path: Path, world: World) -> Iterator[SqliteFile]:
    """A connection of its own to the store's file."""
    file = SqliteFile(path, world.wall, "NORMAL", 5.0)
    yield file
    file.close()


def test_a_row_in_other_hands_is_not_written(world: World) -> None:
    world.begin()
    lost = world.take()
    world.outlive(lost)
    world.take()
    before = world.everything()

    with pytest.raises(LedgerLawError):
        world.store.release(lost.epoch)

    assert before == world.everything()


def test_a_row_in_other_hands_is_not_dispatched(world: World) -> None:
    world.begin()
    lost = world.take()
    world.outlive(lost)
    world.take()
    before = world.everything()

    with pytest.raises(LedgerLawError):
        world.store.dispatch(lost.epoch)

    assert before == world.everything()


def test_a_row_in_flight_is_not_dispatched_again(world: World) -> None:
    world.begin()
    batch = world.send()
    before = world.everything()

    with pytest.raises(LedgerLawError):
        world.store.dispatch(batch.epoch)

    assert before == world.everything()


def test_a_row_that_has_moved_on_is_not_written(world: World, file: SqliteFile) -> None:
    [row] = world.begin()
    world.end(Event.CONFIRMED)
    before = world.everything()
    stale = Change(row, replace(row, outcome=Outcome.TERMINAL, due_at=None), Event.EXHAUSTED)

    with pytest.raises(LedgerLawError), file.writing() as transaction:
        write(transaction, operation_named(transaction, ORDERS), [stale])

    assert before == world.everything()


def test_a_claim_that_has_ended_is_not_written(world: World, file: SqliteFile) -> None:
    world.begin()
    epoch = world.take().epoch
    with file.reading() as transaction:
        claimed = batch_of(transaction, epoch)
    world.store.release(epoch)
    before = world.everything()

    with pytest.raises(LedgerLawError), file.writing() as transaction:
        save_batch(transaction, claimed, replace(claimed, state=BatchState.DISPATCHED))

    assert before == world.everything()
