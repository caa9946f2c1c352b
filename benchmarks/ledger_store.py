"""The ledger in SQLite: items through claim, dispatch and record, and how long one worker waits for others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal

from benchmarks.processes import worker

Synchronous = Literal["FULL", "NORMAL"]
Contender = Literal["SqliteStore", "bare sqlite3", "huey", "persist-queue"]
Waiting = Literal["own", "SQLite's"]

CONTENDERS: tuple[Contender, ...] = ("SqliteStore", "bare sqlite3", "huey", "persist-queue")
BATCH = 25


@dataclass(frozen=True, slots=True)
class LedgerSize:
    """Items in the ledger, how many of them are worked off, rounds, and seconds of each measurement of waiting."""

    planned: int
    worked_off: int
    rounds: int
    waiting_s: float
    workers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoreRun:
    """Items per second by the clock, an entry per round; none where the program is not installed."""

    contender: Contender
    synchronous: Synchronous
    per_second: list[float]


@dataclass(frozen=True, slots=True)
class WaitRun:
    """The longest that any of several busy workers waited for its turn, in seconds, and what all got done."""

    workers: int
    synchronous: Synchronous
    waiting: Waiting
    longest_s: float
    per_second: float


def measure(size: LedgerSize) -> list[StoreRun]:
    """Rounds interleaved, so that noise which lasts meets all."""
    runs = [StoreRun(who, level, []) for level in ("FULL", "NORMAL") for who in CONTENDERS if _has(who, level)]
    for _ in range(size.rounds):
        for run in runs:
            measured = worker("ledger_store", run.contender, run.synchronous, size.planned, size.worked_off)
            if "wall_s" in measured:
                run.per_second.append(measured["items"] / measured["wall_s"])
    return runs


def _has(who: Contender, level: Synchronous) -> bool:
    """The queues have their own mode, which cannot be chosen: they are measured once, beside NORMAL."""
    return who in ("SqliteStore", "bare sqlite3") or level == "NORMAL"


def measure_waiting(size: LedgerSize) -> list[WaitRun]:
    runs: list[WaitRun] = []
    for workers in size.workers:
        for level, waiting in (("FULL", "own"), ("NORMAL", "own"), ("FULL", "SQLite's")):
            measured = worker("ledger_waiting", workers, level, waiting, size.waiting_s)
            runs.append(
                WaitRun(workers, level, waiting, measured["longest_s"], measured["items"] / size.waiting_s)  # type: ignore[arg-type]
            )
    return runs


def report(runs: list[StoreRun], size: LedgerSize) -> Iterator[str]:
    yield f"## Ledger in SQLite: {size.worked_off:,} of {size.planned:,} items through claim, dispatch and record\n"
    yield f"{BATCH} items a claim. The bare loop runs the very statements that the store did, without the store.\n"
    yield "| what | synchronous | items per second | × bare sqlite3 |"
    yield "| --- | --- | ---: | ---: |"
    for run in runs:
        if not run.per_second:
            yield f"| {run.contender} | – | not installed | |"
            continue
        [bare] = [r for r in runs if (r.contender, r.synchronous) == ("bare sqlite3", run.synchronous)]
        ratios = sorted(b / mine for b, mine in zip(bare.per_second, run.per_second, strict=True))
        beside = f"{median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        level = run.synchronous if _has(run.contender, "FULL") else "its own"
        yield f"| {run.contender} | {level} | {median(run.per_second):,.0f} | {beside} |"
    yield ""


def report_waiting(runs: list[WaitRun]) -> Iterator[str]:
    yield "## The longest wait for a turn, all workers claiming and recording without pause\n"
    yield "| workers | synchronous | waiting | longest wait | items per second of all |"
    yield "| ---: | --- | --- | ---: | ---: |"
    for run in runs:
        longest = f"{run.longest_s * 1000:,.0f} ms"
        yield f"| {run.workers} | {run.synchronous} | {run.waiting} | {longest} | {run.per_second:,.0f} |"
    yield ""
