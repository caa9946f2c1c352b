"""What SQLite's errors mean for a ledger: one sentence, and what to do about it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from itemledger.errors import LedgerError


@contextmanager
def explained(path: Path, busy_timeout_s: float) -> Iterator[None]:
    """Raises SQLite's errors as LedgerError; the transaction they came from is rolled back by then."""
    try:
        yield
    except sqlite3.Error as error:
        raise LedgerError(_sentence(path, error, busy_timeout_s)) from error
    except UnicodeEncodeError as error:
        raise LedgerError(
            f"{path}: a text holds half a character (a lone surrogate), which no database keeps; repair the input"
        ) from error


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection is at work, so that waiting helps."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(error: sqlite3.Error) -> int:
    """The primary code; errors of the sqlite3 module itself have none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _sentence(path: Path, error: sqlite3.Error, busy_timeout_s: float) -> str:
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"{path} stayed locked by another connection for {busy_timeout_s:g} s; end the program that holds it "
                "(a long transaction, a backup) and run this again"
            )
        case sqlite3.SQLITE_FULL:
            return f"no room is left for {path}, so nothing of this step was kept; make room and run this again"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return f"{path} cannot be written; make the file and its directory writable, or give another path"
        case sqlite3.SQLITE_CANTOPEN:
            return f"{path} cannot be opened; check that it is a file in a directory that this user can write to"
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is not an SQLite database; give another path"
        case sqlite3.SQLITE_CORRUPT:
            return f"{path} is damaged; restore it from a copy, or save what `sqlite3 {path.name} .recover` can read"
        case sqlite3.SQLITE_IOERR:
            return f"{path} could not be read or written ({error}); check the disk and run this again"
        case _:
            return f"{path}: SQLite says {error}; nothing of this step was kept"
