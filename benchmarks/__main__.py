"""``python -m benchmarks`` measures all and prints Markdown; ``--smoke`` only proves that it still runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import command_line, cpu, instructions, ledger_store, memory, report
from benchmarks.cpu import Size
from benchmarks.ledger_store import LedgerSize
from benchmarks.memory import Reader
from benchmarks.processes import BenchmarkError


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run measures. For memory: keys, and payload bytes of each item."""

    cpu: Size
    counts_instructions: bool
    memory: tuple[tuple[Reader, int, int], ...]
    command_line: tuple[tuple[int, int], ...]
    ledger: LedgerSize


FULL = Scope(
    Size(keys=5_000, reads=2, rounds=5),
    counts_instructions=True,
    memory=(
        ("iter_read", 1_000_000, 30),
        ("read_batch", 1_000_000, 30),
        ("iter_read", 100_000, 100),
        ("iter_read", 100_000, 10_000),
    ),
    command_line=((10_000, 10_000), (100_000, 10_000), (100_000, 100), (1_000_000, 100)),
    ledger=LedgerSize(planned=100_000, worked_off=20_000, rounds=3, waiting_s=8.0, workers=(2, 8)),
)
SMOKE = Scope(
    Size(keys=200, reads=1, rounds=1),
    counts_instructions=False,
    memory=(("iter_read", 1_000, 30), ("read_batch", 1_000, 30)),
    command_line=((1_000, 100),),
    ledger=LedgerSize(planned=200, worked_off=100, rounds=1, waiting_s=0.1, workers=(2,)),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="measure next to nothing, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the bare figures too")
    given = parser.parse_args()
    if given.smoke:
        _print(["A smoke run: no figure below means anything.\n"])
    try:
        figures = _run(SMOKE if given.smoke else FULL)
    except BenchmarkError as error:
        print(f"benchmark: {error}", file=sys.stderr)
        return 1
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


def _run(scope: Scope) -> dict[str, object]:
    """Times first and alone; what is counted or weighed is not disturbed by a neighbour."""
    _print([report.setting()])
    rounds = cpu.measure(scope.cpu)
    _print(report.cpu(rounds, scope.cpu))
    stores = ledger_store.measure(scope.ledger)
    _print(ledger_store.report(stores, scope.ledger))
    waits = ledger_store.measure_waiting(scope.ledger)
    _print(ledger_store.report_waiting(waits))
    with ThreadPoolExecutor(max_workers=2) as pool:
        counted = pool.submit(instructions.measure) if scope.counts_instructions and instructions.available() else None
        in_process = [pool.submit(memory.measure, *wanted) for wanted in scope.memory]
        commands = [pool.submit(command_line.measure, *wanted) for wanted in scope.command_line]
        counts = counted.result() if counted else None
        if counts is None:
            _print(["Instructions are not counted in a smoke run, nor without valgrind.\n"])
        else:
            _print(report.instructions(counts))
        _print(report.own_cost(rounds, counts))
        in_process_runs = [run.result() for run in in_process]
        _print(report.memory(in_process_runs))
        command_runs = [run.result() for run in commands]
        _print(report.command_line(command_runs))
    return {
        "cpu_seconds_per_item": {contender.value: each for contender, each in rounds.seconds.items()},
        "instructions_per_call": {contender.value: each for contender, each in (counts or {}).items()},
        "memory": [asdict(run) for run in in_process_runs],
        "command_line": [asdict(run) for run in command_runs],
        "ledger_store": [asdict(run) for run in stores],
        "ledger_waiting": [asdict(run) for run in waits],
    }


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
