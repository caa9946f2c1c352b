"""Whatever statement of a verb fails, the SQLite store stays as it was, and usable."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Self

import pytest

from itemledger.core.batches import CallEvidence, Move
from itemledger.core.outcome import Event
from itemledger.core.rows import Decided
from itemledger.core.write_api import Replay, Scope
from itemledger.errors import LedgerError
from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.world import ORDERS, World, item, items, operation


class Failing(sqlite3.Connection):
    """Fails at the n-th statement from now; of many in one, half are done by then."""

    left: int | None = None

    def due(self) -> bool:
        if Failing.left is None:
            return False
        Failing.left -= 1
        return Failing.left == 0

    def execute(self, statement: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if statement != "ROLLBACK" and self.due():
            raise sqlite3.OperationalError("injected")
        return super().execute(statement, parameters)

    def cursor(self, factory: Any = None, /) -> Any:
        return super().cursor(FailingCursor)


class FailingCursor(sqlite3.Cursor):
    connection: Failing

    def execute(self, statement: str, parameters: Any = (), /) -> Self:
        if self.connection.due():
            raise sqlite3.OperationalError("injected")
        return super().execute(statement, parameters)

    def executemany(self, statement: str, parameters: Any, /) -> Self:
        if self.connection.due():
            super().executemany(statement, parameters[: (len(parameters) + 1) // 2])
            raise sqlite3.OperationalError("injected")
        return super().executemany(statement, parameters)


def test_a_verb_that_fails_at_any_statement_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **given: connect(path, factory=Failing, **given))
    monkeypatch.setattr(Failing, "left", None)
    world = World(lambda clock: SqliteStore(tmp_path / "orders.db", clock=clock))
    injected = 0
    for verb in _life_of_a_ledger(world):
        before = world.everything()
        for statement in count(1):
            Failing.left = statement
            failed = _failed(verb)
            Failing.left = None
            if not failed:
                break
            injected += 1
            assert before == world.everything(), f"statement {statement} of {verb}"
    world.store.close()
    assert injected > 150


def _failed(verb: Callable[[], object]) -> bool:
    try:
        verb()
    except LedgerError as error:
        if "injected" not in str(error):
            raise
        return True
    return False


def _life_of_a_ledger(world: World) -> Iterator[Callable[[], object]]:
    """Verbs, one after another, each ready to be tried again after it failed."""
    store = world.store
    window = Replay(Scope.REQUEST, 300.0, "made up")
    new = [*items(4), item(5, group_id="g"), item(6, group_id="g"), item(7, refused="too large")]
    yield lambda: store.open_operation(operation())
    yield lambda: store.plan(ORDERS, new)
    yield lambda: store.plan(ORDERS, [item(1, payload_hash="other"), item(8)])
    yield lambda: store.planning_ended(ORDERS)
    yield lambda: world.claim(most=5)
    yield lambda: store.heartbeat(1)
    yield lambda: store.dispatch(1, window)
    ends = [Event.CONFIRMED, Event.LOST, Event.REFUSED, Event.LEFT_UNPROCESSED, Event.CONFIRMED]
    moves = [Move(row, event) for row, event in zip(range(1, 6), ends, strict=True)]
    yield lambda: store.record(1, CallEvidence("r"), moves)
    yield lambda: world.claim()  # the look-up of row 2
    yield lambda: store.dispatch(2)
    world.wall.forward(70)
    yield lambda: world.claim(read_back=None)  # the look-up lapses, row 4 and others are taken
    yield lambda: store.record(2, CallEvidence("late"), [Move(2, Event.FOUND)])
    yield lambda: store.release(3)
    yield lambda: world.claim(most=1)  # the late answer settles row 2
    world.wall.forward(70)
    yield lambda: world.claim(most=1)
    yield lambda: store.decide(3, Decided.RETRY, who="me", why="looked")
    world.wall.forward(31 * 86_400)
    yield lambda: store.prune(ORDERS, older_than_s=0)
    told = [replace(row, item_id=f"told-{row.number}", idempotency_key=f"told-{row.number}") for row in store.rows()]
    assert len(told) >= 3
    yield lambda: store.restore(operation(operation_id="again"), told)
