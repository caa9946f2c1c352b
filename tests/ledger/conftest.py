"""The suite's own modules get the same telling assertions as test files."""

import pytest

PARTS = ("claims", "fences", "leases", "looking", "persons", "planning", "records", "replays")

pytest.register_assert_rewrite("tests.ledger.world", *(f"tests.ledger.suite_{part}" for part in PARTS))
