"""One connection to a ledger's file: opened with care, a transaction a verb, and waiting that starves nobody."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from itemledger.errors import LedgerError
from itemledger.ledger.sqlite_errors import explained, is_busy

Synchronous = Literal["FULL", "NORMAL"]
Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]
T = TypeVar("T")

#: SQLite's own waiting grows to a tenth of a second between looks, and a writer that comes back at once never leaves
#: a gap so long: seconds pass. A short pause finds the gap; after a second it is somebody's long transaction instead.
PAUSE_S, LONG_PAUSE_S, PATIENT_AFTER_S = 0.0003, 0.005, 1.0
#: A share of the time that a verb had the lock, and the most of it.
GAP_SHARE, GAP_S = 0.1, 0.0006
#: Pages of 4 KB that a connection keeps, negative in SQLite's way of counting kilobytes.
CACHE_KB = -32_768


@dataclass(frozen=True, slots=True)
class Transaction:
    """One verb's statements, and the store's time of it."""

    connection: sqlite3.Connection
    now: float

    def rows(self, statement: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        return self._cursor().execute(statement, parameters).fetchall()

    def one(self, statement: str, parameters: Parameters = ()) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._cursor().execute(statement, parameters).fetchone()
        return found

    def run(self, statement: str, parameters: Parameters = ()) -> int:
        """How many rows it changed."""
        return self._cursor().execute(statement, parameters).rowcount

    def run_many(self, statement: str, parameters: Sequence[Parameters]) -> int:
        """How many rows it changed in all."""
        if not parameters:
            return 0
        return max(0, self._cursor().executemany(statement, parameters).rowcount)

    def _cursor(self) -> sqlite3.Cursor:
        """Whatever a caller's own connection makes of its rows, here they are tuples."""
        cursor = self.connection.cursor()
        cursor.row_factory = None
        return cursor


class SqliteFile:
    """May be used from several threads; they take turns."""

    def __init__(
        self, path: str | os.PathLike[str], clock: Callable[[], float], synchronous: Synchronous, busy_timeout_s: float
    ) -> None:
        self.path = Path(os.path.abspath(path))  # so that no name of a file means anything special to SQLite
        self._clock = clock
        self._busy_timeout_s = busy_timeout_s
        self._ended = self._gap_s = 0.0
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        with self.explained():
            self._make()
            self._connection = self._connect(synchronous)

    def now(self) -> float:
        self._opened()
        return self._clock()

    def _leave_a_gap(self) -> None:
        """A writer that comes straight back lets those who wait find the lock free."""
        rest = self._ended + self._gap_s - time.monotonic()
        if rest > 0:
            time.sleep(rest)

    def explained(self) -> AbstractContextManager[None]:
        """SQLite's errors as LedgerError."""
        return explained(self.path, self._busy_timeout_s)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """All of it or nothing. The write lock comes first: who reads before he has it may have read what is gone."""
        with self._lock, self.explained():
            connection = self._opened()
            self._leave_a_gap()
            self._patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            began = time.monotonic()
            try:
                yield Transaction(connection, self._clock())
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
            finally:
                self._ended = time.monotonic()
                self._gap_s = min(GAP_S, (self._ended - began) * GAP_SHARE)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Everything read is of one moment."""
        with self._lock, self.explained(), self._snapshot(self._opened()) as transaction:
            yield transaction

    @contextmanager
    def reading_aside(self) -> Iterator[Transaction]:
        """The same on a connection of its own, so that long reading leaves the store free for other verbs."""
        with self._lock:
            self._opened()
        with self.explained():
            connection = self._connect("NORMAL")
            try:
                with self._snapshot(connection) as transaction:
                    yield transaction
            finally:
                connection.close()

    @contextmanager
    def _snapshot(self, connection: sqlite3.Connection) -> Iterator[Transaction]:
        connection.execute("BEGIN")
        try:
            # The moment is that of the first read, and only there another connection can be in the way.
            self._patiently(lambda: connection.execute("SELECT 1 FROM sqlite_master").fetchone())
            yield Transaction(connection, self._clock())
        finally:
            _roll_back(connection)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise LedgerError("this ledger is closed; open it again")
        return self._connection

    def _make(self) -> None:
        """A new file is for its owner alone; SQLite gives its companions the same mode."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise LedgerError(
                f"{self.path} cannot be made ({error.strerror}); give a path in a directory that this user can write to"
            ) from None

    def _connect(self, synchronous: Synchronous) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._busy_timeout_s, isolation_level=None, check_same_thread=False
        )
        try:
            mode = self._patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
            if mode != "wal":
                raise LedgerError(
                    f"{self.path} cannot be used by several connections at once (journal mode {mode}); "
                    "give a path on a local disk"
                )
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute(f"PRAGMA cache_size = {CACHE_KB}")
            connection.execute("PRAGMA busy_timeout = 0")  # from here on the waiting is our own
        except BaseException:
            connection.close()
            raise
        return connection

    def _patiently(self, act: Callable[[], T]) -> T:
        """Again and again while another connection is in the way, as long as the busy timeout allows."""
        began = time.monotonic()
        while True:
            try:
                return act()
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - began
                if not is_busy(error) or waited >= self._busy_timeout_s:
                    raise
            pause = PAUSE_S if waited < PATIENT_AFTER_S else LONG_PAUSE_S
            time.sleep(random.uniform(0.5, 1.5) * pause)


def _roll_back(connection: sqlite3.Connection) -> None:
    """A full disk makes SQLite roll back by itself; then there is nothing left to do."""
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
