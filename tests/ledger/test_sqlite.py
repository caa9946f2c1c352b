"""What of the SQLite store only a database can get wrong; its conformance is in ``test_sqlite_conformance.py``."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from itemledger.core.batches import Move
from itemledger.core.outcome import Event, Outcome
from itemledger.errors import LedgerError, LedgerLawError
from itemledger.ledger import sqlite_retention
from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.world import EVIDENCE, ORDERS, World, ask, item, operation


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orders.db"


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    world = World(lambda clock: SqliteStore(path, clock=clock))
    yield world
    world.store.close()


# -------------------------------------------------------------------------------------------------------- any thread


def test_one_store_serves_several_threads_and_gives_no_row_twice(world: World) -> None:
    numbers = [row.number for row in world.begin(count=60)]
    taken: list[int] = []
    faults: list[BaseException] = []

    def work() -> None:
        try:
            while (batch := world.store.claim(ORDERS, ask(3)).batch) is not None:
                world.store.dispatch(batch.epoch)
                moves = [Move(row, Event.CONFIRMED) for row in batch.items]
                taken.extend(world.store.record(batch.epoch, EVIDENCE, moves).moved)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == faults
    assert numbers == sorted(taken)


def test_two_stores_on_one_file_see_each_others_claims(world: World, path: Path) -> None:
    first, second = (row.number for row in world.begin(count=2))
    with SqliteStore(path, clock=world.wall) as other:
        assert (first,) == world.take(most=1).items
        batch = other.claim(ORDERS, ask(1)).batch
        assert batch is not None
        assert (second,) == batch.items
        assert Outcome.PENDING is world.store.row(second).outcome
        other.dispatch(batch.epoch)
        assert Outcome.IN_FLIGHT is world.store.row(second).outcome


# ------------------------------------------------------------------------------------------------------------ fences


@pytest.mark.parametrize(
    ("verb", "spoilt"),
    [
        *(
            (verb, f"epoch = {epoch}")
            for verb in ("dispatch", "record", "release", "lapse")
            for epoch in ("99", "NULL")
        ),
        ("dispatch", "outcome = 'succeeded'"),
        ("record", "outcome = 'pending'"),
    ],
)
def test_a_row_that_is_not_as_its_claim_assumes_stops_the_verb_and_nothing_of_it_is_kept(
    world: World, path: Path, verb: str, spoilt: str
) -> None:
    world.begin(count=2)
    batch = world.send() if verb in ("record", "lapse") else world.take()
    with sqlite3.connect(path) as meddler:
        meddler.execute(f"UPDATE itemledger_item SET {spoilt} WHERE number = ?", (batch.items[1],))
    meddler.close()
    before = world.everything()

    if verb == "lapse":
        world.outlive(batch)
    spoiled: dict[str, Callable[[], object]] = {
        "dispatch": lambda: world.store.dispatch(batch.epoch),
        "record": lambda: world.record(batch, Event.CONFIRMED),
        "release": lambda: world.store.release(batch.epoch),
        "lapse": world.claim,
    }
    with pytest.raises(LedgerLawError):
        spoiled[verb]()

    assert before == world.everything()


# ------------------------------------------------------------------------------------------------------------- looks


def test_a_snapshot_neither_sees_what_comes_after_nor_holds_it_up(world: World) -> None:
    world.begin(count=3)
    with world.store.snapshot(ORDERS) as snapshot:
        world.end(Event.CONFIRMED)
        assert [Outcome.PENDING] * 3 == [row.outcome for row in snapshot.rows]
        assert 3 == snapshot.counts[Outcome.PENDING]
    assert 3 == world.store.counts(ORDERS)[Outcome.SUCCEEDED]


def test_half_a_character_in_what_a_service_said_does_not_lose_the_record(world: World) -> None:
    world.begin()
    world.end(Event.REFUSED, error_code="Bad", error_message="half \ud83d of it")

    assert "half \\ud83d of it" == world.row().error_message


def test_half_a_character_in_an_item_id_is_refused_before_anything_is_planned(world: World) -> None:
    world.store.open_operation(operation())

    with pytest.raises(LedgerError, match="half a character"):
        world.plan(item(1), item(2, item_id="\ud83d"))

    assert [] == world.store.rows(ORDERS)


def test_a_ledger_restored_from_a_copy_makes_other_tokens_than_the_lost_one(world: World, path: Path) -> None:
    """Within the provider's window the same token would be taken for the same request."""
    world.begin(count=2)
    copy = path.with_name("copy.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    first = world.take(1)

    restored = World(lambda clock: SqliteStore(copy, clock=clock), world.wall)
    second = restored.take(1)
    restored.store.close()

    assert (first.epoch, first.items) == (second.epoch, second.items)
    assert first.token != second.token


# --------------------------------------------------------------------------------------------------------- retention


def test_pruning_goes_page_by_page_to_the_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_retention, "PRUNED_AT_ONCE", 2)
    world.begin(count=7)
    world.end(Event.CONFIRMED, most=5)
    world.wall.forward(31 * 86_400)

    pruned = world.store.prune(ORDERS, older_than_s=0)

    assert (5, {"open": 2}) == (pruned.deleted, pruned.kept)
    assert [6, 7] == [row.number for row in world.store.rows(ORDERS)]


def test_the_number_of_a_pruned_row_never_comes_again(world: World) -> None:
    world.begin(count=2)
    world.end(Event.CONFIRMED)
    world.wall.forward(31 * 86_400)
    world.store.prune(ORDERS, older_than_s=0)

    world.plan(item(9))

    assert [3] == [row.number for row in world.store.rows(ORDERS)]
