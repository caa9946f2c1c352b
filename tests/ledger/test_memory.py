"""The memory store, held to the conformance suite: what it does is what the others must do."""

from __future__ import annotations

import pytest

from itemledger.ledger.memory import MemoryStore
from tests.ledger.suite import StoreSuite
from tests.ledger.world import OpenStore


class TestMemoryStore(StoreSuite):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        return lambda clock: MemoryStore(clock=clock)
