"""Every n-th verb of the store fails, before it is done or just after: run again without failures, all is done."""

from __future__ import annotations

from itertools import count

import pytest

from tests.engines.launch import Engine
from tests.processes.bench import orders
from tests.processes.conftest import MakeBench
from tests.processes.wire import Wire, wire_to

ITEMS = 45
HOUR_S = 3600.0
UNHURRIED = {"lease_s": 60.0, "call_timeout_s": 40.0}
VERBS = 10
"""That a whole run makes: three to plan, three for each of two batches, and the claim that finds nothing more."""


@pytest.mark.parametrize(("fail_after", "failing_runs"), [(False, 2), (True, 1)])
def test_whichever_verb_fails_a_later_run_finishes_and_sends_nothing_on_a_guess(
    moto: Engine, make_bench: MakeBench, fail_after: bool, failing_runs: int
) -> None:
    for n in count(1):
        with wire_to(moto.endpoint_url) as wire:
            if not fails_and_recovers(n, fail_after, failing_runs, moto, wire, make_bench):
                break
    assert n > VERBS


def fails_and_recovers(
    n: int, fail_after: bool, failing_runs: int, moto: Engine, wire: Wire, make_bench: MakeBench
) -> bool:
    """Whether the first run had an n-th verb that failed. Each run begins an hour after the one before."""
    bench = make_bench(moto, wire, orders(ITEMS), **UNHURRIED)
    failed = 0
    for run in range(failing_runs):
        life = bench.start(fail_at=n, fail_after=fail_after, clock=[[0, run * HOUR_S]], read_timeout_s=30.0)
        if life.end() == 0:
            break
        assert "the test" in life.told()["error"], life.told()
        failed += 1

    bench.start(clock=[[0, failing_runs * HOUR_S]], read_timeout_s=30.0).ends_well()

    bench.check_all_written(moto.client())
    assert [] == wire.unproven(), f"verb {n}"
    return failed > 0
