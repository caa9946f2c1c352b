"""Planning inside the caller's own transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from itemledger.core.rows import Planned, Source
from itemledger.errors import LedgerError
from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.world import ORDERS, START, FakeWall, ask, item, items, operation


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(path, clock=FakeWall(), busy_timeout_s=0.01) as store:
        store.open_operation(operation())
        store.planning_ended(ORDERS)
        yield store


@pytest.fixture
def shop(path: Path, store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """The caller's connection, in Python's own way of handling transactions."""
    shop = sqlite3.connect(path)
    shop.execute("CREATE TABLE orders (id TEXT)")
    shop.commit()
    yield shop
    shop.close()


def test_what_is_planned_within_a_transaction_comes_with_its_commit(
    store: SqliteStore, shop: sqlite3.Connection
) -> None:
    shop.execute("INSERT INTO orders VALUES ('a')")

    assert Planned(new=2) == store.plan_within(shop, ORDERS, [item(1, source=Source(stored=b"{}")), item(2)])

    assert [] == store.rows(ORDERS)
    assert shop.in_transaction
    shop.commit()
    assert [START, START] == [row.due_at for row in store.rows(ORDERS)]
    assert Source(stored=b"{}") == store.rows(ORDERS)[0].source
    assert store.claim(ORDERS, ask()).batch is not None


def test_what_is_planned_within_a_transaction_goes_with_its_rollback(
    store: SqliteStore, shop: sqlite3.Connection
) -> None:
    shop.execute("INSERT INTO orders VALUES ('a')")
    store.plan_within(shop, ORDERS, items(2))
    shop.rollback()

    assert [] == store.rows(ORDERS)
    assert [] == shop.execute("SELECT * FROM orders").fetchall()
    assert Planned(new=2) == store.plan(ORDERS, items(2))


def test_without_an_open_transaction_nothing_is_planned(store: SqliteStore, shop: sqlite3.Connection) -> None:
    with pytest.raises(LedgerError, match="needs an open transaction"):
        store.plan_within(shop, ORDERS, items(1))

    assert [] == store.rows(ORDERS)


def test_a_connection_to_another_database_is_refused(store: SqliteStore, tmp_path: Path) -> None:
    SqliteStore(tmp_path / "other.db").close()
    for name in ("other.db", "none.db"):
        other = sqlite3.connect(tmp_path / name, isolation_level=None)
        other.execute("BEGIN")
        with pytest.raises(LedgerError, match=r"is to another database than .*shop\.db"):
            store.plan_within(other, ORDERS, items(1))
        assert other.in_transaction
        other.close()


def test_a_plan_that_fails_leaves_the_callers_own_part_alone(store: SqliteStore, shop: sqlite3.Connection) -> None:
    shop.execute("INSERT INTO orders VALUES ('a')")

    with pytest.raises(LedgerError, match="half a character"):
        store.plan_within(shop, ORDERS, [item(1), item(2, item_id="\ud83d")])
    with pytest.raises(LedgerError, match="no operation 'none'"):
        store.plan_within(shop, "none", items(1))

    shop.commit()
    assert [("a",)] == shop.execute("SELECT * FROM orders").fetchall()
    assert [] == store.rows(ORDERS)


def test_the_callers_way_of_reading_rows_does_not_matter_and_stays(
    store: SqliteStore, shop: sqlite3.Connection
) -> None:
    shop.row_factory = lambda cursor, row: dict(zip((name[0] for name in cursor.description), row, strict=True))
    shop.text_factory = bytes
    store.plan(ORDERS, items(1))
    shop.execute("INSERT INTO orders VALUES ('a')")

    assert Planned(new=1, repeated=1) == store.plan_within(shop, ORDERS, items(2))

    assert b"a" == shop.execute("SELECT id FROM orders").fetchone()["id"]


def test_the_first_thing_done_is_a_write_so_that_no_other_writer_can_come_between(
    store: SqliteStore, path: Path
) -> None:
    shop = sqlite3.connect(path, isolation_level=None)
    shop.execute("BEGIN DEFERRED")
    with pytest.raises(LedgerError, match="no operation 'none'"):
        store.plan_within(shop, "none", [])

    with pytest.raises(LedgerError, match="stayed locked"):
        store.plan(ORDERS, items(1))
    shop.close()
