"""Several workers with the same items at once: a queue that delivers twice, a cron job that overlaps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.engines.launch import Engine
from tests.processes.bench import orders
from tests.processes.conftest import MakeBench
from tests.processes.wire import Wire

UNHURRIED: dict[str, Any] = {"lease_s": 60.0, "call_timeout_s": 40.0}
READ_TIMEOUT_S = 30.0


@pytest.mark.parametrize(("count", "processes"), [(1, 2), (300, 3)])
def test_of_workers_that_plan_and_work_on_the_same_items_at_once_one_claim_wins_each(
    moto: Engine, wire: Wire, make_bench: MakeBench, tmp_path: Path, count: int, processes: int
) -> None:
    bench = make_bench(moto, wire, orders(count), **UNHURRIED)
    gates = [tmp_path / f"gate-{number}" for number in range(processes)]
    for gate in gates:
        os.mkfifo(gate)
    lives = [bench.start(gate=str(gate), chunk=50, read_timeout_s=READ_TIMEOUT_S) for gate in gates]
    for life in lives:
        assert life.reaches("ready")
    for gate in gates:
        gate.write_bytes(b"")

    told = [life.ends_well() for life in lives]

    assert bench.each(1) == wire.sends()
    assert [{"succeeded": count}] * processes == [
        {outcome: number for outcome, number in each["counts"].items() if number} for each in told
    ]
    assert {("planned", "dispatched", "confirmed")} == {tuple(bench.events(name)) for name in list(bench.items)[::29]}
    bench.check_all_written(moto.client())
