"""From a URL to an open ledger."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from itemledger.errors import LedgerError
from itemledger.ledger.ledger import Ledger
from itemledger.ledger.memory import MemoryStore
from itemledger.ledger.sqlite import SqliteStore

_FORM = (
    "a ledger's URL is sqlite:///PATH (three slashes and a relative path, or four for an absolute one, and "
    "?synchronous=NORMAL where a power cut may cost the last transactions), such as sqlite:///orders.db, or memory://"
)


def open_ledger(url: str, *, create: bool = True, clock: Callable[[], float] = time.time) -> Ledger:
    """Opens the ledger at a URL; LedgerError says what is wrong with it.

    ``create=False`` is for looking: a ledger that is not there is an error then, and no file is made. ``clock`` gives
    seconds since 1970 and can be replaced in tests.
    """
    if url == "memory://":
        if not create:
            raise LedgerError("memory:// is a new ledger each time, so there is nothing in it to look at")
        return Ledger(MemoryStore(clock=clock))
    path, synchronous = _sqlite(url)
    if not create and not path.is_file():
        raise LedgerError(f"there is no ledger at {path}; check the path, or plan items into it first")
    return Ledger(SqliteStore(path, clock=clock, synchronous=synchronous))


def ledger_file(url: str) -> Path | None:
    """The file that a ledger's URL leads to, there or not; ``None`` for one in memory. Raises like ``open_ledger``."""
    return None if url == "memory://" else _sqlite(url)[0]


def _sqlite(url: str) -> tuple[Path, Literal["FULL", "NORMAL"]]:
    """Path and synchronous mode; nothing of a URL that is not understood is repeated, it may hold a password."""
    address, _, query = url.partition("?")
    prefix = "sqlite:///"
    name = address.removeprefix(prefix)
    if not address.startswith(prefix) or not name.strip("/"):
        raise LedgerError(f"this is no URL of a ledger: {_FORM}")
    if name == ":memory:":
        raise LedgerError("a ledger in SQLite is a file; give its path, or memory:// for one that is not kept")
    if query not in ("", "synchronous=FULL", "synchronous=NORMAL"):
        raise LedgerError(f"the only option of a ledger's URL is synchronous=FULL or synchronous=NORMAL: {_FORM}")
    return Path(name), "NORMAL" if query.endswith("NORMAL") else "FULL"
