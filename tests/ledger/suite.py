"""The conformance suite: what every store of a ledger must do, by behaviour. A new store passes it before all else.

Bind it in a test file of the store's own::

    class TestMyStore(StoreSuite):
        @pytest.fixture
        def open_store(self) -> OpenStore:
            return lambda clock: MyStore(clock=clock)
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ledger.suite_aside import SetAside
from tests.ledger.suite_claims import Caps, Claims, Order
from tests.ledger.suite_fences import Fences, LateEvidence
from tests.ledger.suite_leases import Leases, Releases
from tests.ledger.suite_looking import Looking
from tests.ledger.suite_persons import Decisions, Restoring, Retention
from tests.ledger.suite_planning import Groups, Planning
from tests.ledger.suite_records import Conservation, Law, Records
from tests.ledger.suite_replays import Requests, Windows
from tests.ledger.world import OpenStore, World, check_laws


class StoreSuite(
    Planning,
    Groups,
    Claims,
    Caps,
    Order,
    Windows,
    Requests,
    Leases,
    Releases,
    SetAside,
    Fences,
    LateEvidence,
    Conservation,
    Records,
    Law,
    Looking,
    Decisions,
    Retention,
    Restoring,
):
    """Every claim of the suite; the laws of ``world`` are held to the store after each."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError("a store's own test file says how it is opened: empty, with a given clock")

    @pytest.fixture
    def world(self, open_store: OpenStore) -> Iterator[World]:
        world = World(open_store)
        yield world
        if not world.closed:
            check_laws(world.store, world.epochs)
            world.store.close()
