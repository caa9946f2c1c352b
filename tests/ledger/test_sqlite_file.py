"""How a SQLite ledger's file is opened, by one process or several, and how it is refused."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from itemledger.errors import LedgerError
from itemledger.ledger import sqlite_schema
from itemledger.ledger.sqlite import SqliteStore
from itemledger.ledger.statements import migrations
from tests.ledger.world import ORDERS, FakeWall, item, items, operation


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orders.db"


def test_a_new_ledger_and_its_companions_are_for_their_owner_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        with SqliteStore(path) as store:
            store.open_operation(operation())
            files = list(path.parent.iterdir())
    finally:
        os.umask(before)

    assert ["orders.db", "orders.db-shm", "orders.db-wal"] == sorted(file.name for file in files)
    assert {0o600} == {stat.S_IMODE(file.stat().st_mode) for file in [path]}


def test_what_was_planned_is_there_when_it_is_opened_again(path: Path) -> None:
    with SqliteStore(path, clock=FakeWall()) as store:
        store.open_operation(operation())
        store.plan(ORDERS, items(2))
        before = store.operations(), store.rows(), store.history(1)

    with SqliteStore(path, clock=FakeWall()) as store:
        assert before == (store.operations(), store.rows(), store.history(1))


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1)])
def test_the_file_is_in_wal_mode_and_as_durable_as_asked(path: Path, synchronous: str, level: int) -> None:
    with SqliteStore(path, synchronous=synchronous) as store:  # type: ignore[arg-type]
        connection = store._file._connection
        assert connection is not None
        assert (("wal",), (level,)) == (
            connection.execute("PRAGMA journal_mode").fetchone(),
            connection.execute("PRAGMA synchronous").fetchone(),
        )


def test_no_other_durability_is_taken(path: Path) -> None:
    with pytest.raises(LedgerError, match="give FULL or NORMAL"):
        SqliteStore(path, synchronous="OFF")  # type: ignore[arg-type]

    assert not path.exists()


def test_the_ledger_lives_beside_the_callers_own_tables(path: Path) -> None:
    own = sqlite3.connect(path)
    own.execute("CREATE TABLE orders (id TEXT)")
    own.execute("PRAGMA user_version = 7")
    own.commit()

    with SqliteStore(path) as store:
        store.open_operation(operation())
        names = [name for (name,) in own.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")]
        assert ["orders"] == [name for name in names if not name.startswith("itemledger_")]
        assert (7,) == own.execute("PRAGMA user_version").fetchone()
    own.close()


# -------------------------------------------------------------------------------------------------------- migrations


def test_a_later_schema_is_refused_in_one_sentence(path: Path) -> None:
    SqliteStore(path).close()
    with sqlite3.connect(path) as later:
        later.execute("UPDATE itemledger_meta SET value = '99' WHERE name = 'schema_version'")
    later.close()

    with pytest.raises(LedgerError, match=r"holds a ledger of schema 99 and this itemledger knows schemas up to \d+;"):
        SqliteStore(path)


def test_an_older_schema_is_brought_up_with_its_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteStore(path) as store:
        store.open_operation(operation())
        store.plan(ORDERS, items(1))
    scripts = [*migrations("sqlite"), "-- a comment; with a semicolon\nCREATE TABLE itemledger_more (x);\n"]
    monkeypatch.setattr(sqlite_schema, "migrations", lambda dialect: scripts)

    with SqliteStore(path) as store:
        assert 1 == len(store.rows(ORDERS))

    assert str(len(scripts)) == _version(path)


def test_a_migration_that_fails_leaves_the_schema_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).close()
    scripts = [*migrations("sqlite"), "CREATE TABLE itemledger_more (x);\nCREATE TABLE itemledger_more (x);\n"]
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_schema, "migrations", lambda dialect: scripts)
        with pytest.raises(LedgerError, match="already exists"):
            SqliteStore(path)

    assert str(len(scripts) - 1) == _version(path)
    with sqlite3.connect(path) as looking:
        assert (0,) == looking.execute("SELECT count(*) FROM sqlite_master WHERE name = 'itemledger_more'").fetchone()
    looking.close()
    SqliteStore(path).close()


def _version(path: Path) -> str:
    looking = sqlite3.connect(path)
    [(version,)] = looking.execute("SELECT value FROM itemledger_meta WHERE name = 'schema_version'")
    looking.close()
    return str(version)


OPENER = """
import sys
from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.world import operation
print("ready", flush=True)
sys.stdin.readline()
with SqliteStore(sys.argv[1]) as store:
    store.open_operation(operation(operation_id=sys.argv[2]))
    print(store._ledger_id)
"""


def test_processes_that_open_a_new_ledger_at_once_all_succeed(path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", OPENER, str(path)]
    openers = [
        subprocess.Popen([*command, str(n)], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert "ready\n" == opener.stdout.readline()
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    said = [opener.communicate(timeout=60)[0] for opener in openers]

    assert [0] * 4 == [opener.returncode for opener in openers]
    assert 1 == len(set(said)), "they are of one ledger"
    with SqliteStore(path) as store:
        assert ["0", "1", "2", "3"] == sorted(each.operation_id for each in store.operations())


# ---------------------------------------------------------------------------------------------------------- refusals


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"id,amount\n" * 1000)

    with pytest.raises(LedgerError, match=r"orders\.db is not an SQLite database; give another path"):
        SqliteStore(path)

    assert b"id,amount\n" * 1000 == path.read_bytes()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"No such file or directory.*; give a path in a directory"):
        SqliteStore(tmp_path / "none" / "orders.db")


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened; check that it is a file"):
        SqliteStore(tmp_path)


def test_a_file_that_cannot_be_written_can_be_looked_at_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore(path) as writer:
        writer.open_operation(operation())
        connect = sqlite3.connect
        # As SQLite opens a file without the permission to write; whoever runs the tests may have every permission.
        monkeypatch.setattr(sqlite3, "connect", lambda at, **given: connect(f"file:{at}?mode=ro", uri=True, **given))
        with SqliteStore(path) as store:
            with pytest.raises(LedgerError, match="cannot be written; make the file and its directory writable"):
                store.plan(ORDERS, items(1))
            assert [ORDERS] == [each.operation_id for each in store.operations()]


def test_a_locked_file_is_named_after_the_busy_timeout_and_works_when_it_is_free(path: Path) -> None:
    with SqliteStore(path, busy_timeout_s=0.01) as store:
        store.open_operation(operation())
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"orders\.db stayed locked by another connection for 0\.01 s; end the"):
            store.plan(ORDERS, items(1))
        assert [] == store.rows(ORDERS), "reading waits for nobody"
        holder.execute("ROLLBACK")
        holder.close()

        assert 1 == store.plan(ORDERS, items(1)).new


def test_a_full_disk_keeps_what_was_there_and_the_store_goes_on_when_there_is_room(path: Path) -> None:
    with SqliteStore(path) as store:
        store.open_operation(operation())
        store.plan(ORDERS, items(1))
        connection = store._file._connection
        assert connection is not None
        [(pages,)] = connection.execute("PRAGMA page_count")
        connection.execute(f"PRAGMA max_page_count = {pages + 5}")
        large = [item(n, item_id=f"{n}" * 500) for n in range(2, 200)]

        with pytest.raises(LedgerError, match=r"no room is left for .*nothing of this step was kept; make room"):
            store.plan(ORDERS, large)

        assert [1] == [row.number for row in store.rows(ORDERS)]
        connection.execute("PRAGMA max_page_count = 1000000")
        assert len(large) == store.plan(ORDERS, large).new


def test_a_damaged_file_is_called_damaged(path: Path) -> None:
    with SqliteStore(path) as store:
        store.open_operation(operation())
        store.plan(ORDERS, items(500))
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xff" * (len(content) - 4096 * 2)
    path.write_bytes(content)

    with pytest.raises(LedgerError, match="is damaged; restore it from a copy"), SqliteStore(path) as store:
        store.rows(ORDERS)
