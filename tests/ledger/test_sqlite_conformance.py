"""The SQLite store, held to the conformance suite: on a file, as everybody runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.suite import StoreSuite
from tests.ledger.world import SCRATCH, OpenStore


class TestSqliteStore(StoreSuite):
    @pytest.fixture
    def open_store(self) -> Iterator[OpenStore]:
        names = count()
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            yield lambda clock: SqliteStore(Path(folder) / f"{next(names)}.db", clock=clock)
