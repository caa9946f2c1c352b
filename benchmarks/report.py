"""The measurements as Markdown tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from statistics import median

from benchmarks.command_line import CommandRun
from benchmarks.contenders import Contender
from benchmarks.cpu import Rounds, Size
from benchmarks.instructions import READS, Counts
from benchmarks.memory import MemoryRun


def setting() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("itemledger", "boto3", "botocore"))
    return (
        f"Python {platform.python_version()}, {packages}; {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start.\n"
    )


def cpu(rounds: Rounds, size: Size) -> Iterator[str]:
    yield f"## CPU, {size.keys:,} keys a read, {size.rounds} rounds\n"
    rows = []
    for contender in Contender:
        rate = f"{rounds.items_per_second(contender):,.0f}"
        beside = [_ratio(rounds, contender, loop) for loop in (contender.counterpart, Contender.BOTO3)]
        rows.append([contender.value, rate, *beside])
    head = ["reader", "items per CPU-second", "CPU time, × its loop", f"× {Contender.BOTO3.value}"]
    yield from _table(head, rows)


def instructions(counts: Counts) -> Iterator[str]:
    yield "## Instructions per call of 100 keys, in millions\n"
    rows = []
    for contender, counted in counts.items():
        row = [contender.value]
        for calls in READS:
            extra = counted[calls] / counts[contender.counterpart][calls] - 1
            row += [f"{counted[calls] / 1e6:.2f}", "" if contender is contender.counterpart else f"{extra:+.1%}"]
        rows.append(row)
    head = ["reader"]
    for calls in READS:
        head += [f"reads of {calls} call{'s' if calls > 1 else ''}", "on top of its loop"]
    yield from _table(head, rows)


def own_cost(rounds: Rounds, counts: Counts | None) -> Iterator[str]:
    """The figures that the target is about: what read_batch costs on top of the loop that ends with the same items."""
    yield "## itemledger's own cost on top of the SDK's, at concurrency=1\n"
    yield "The target is less than 10 % of the boto3 loop.\n"
    for contender in (Contender.READ_BATCH_TYPED, Contender.READ_BATCH_SORT_KEY):
        loop = contender.counterpart
        ratios = rounds.ratios(contender, loop)
        text = (
            f"{median(ratios) - 1:+.1%} of its CPU time ({ratios[0] - 1:+.1%} to {ratios[-1] - 1:+.1%} over the rounds)"
        )
        if counts is not None:
            one, many = (counts[contender][calls] / counts[loop][calls] - 1 for calls in READS)
            text += f", {many:+.1%} of its instructions ({one:+.1%} in reads of one call)"
        yield f"- {contender.value}: {text}"
    yield ""


def memory(runs: Iterable[MemoryRun]) -> Iterator[str]:
    yield "## Peak memory of a read inside a process, beyond what the process had before\n"
    names = {"iter_read": "iter_read, items dropped", "read_batch": "read_batch, items held"}
    yield from _table(
        ["reader", "keys", "payload", "peak", "bytes per key"],
        [
            [names[r.reader], f"{r.keys:,}", _payload(r), _size(r.growth_bytes), f"{r.growth_bytes / r.keys:,.0f}"]
            for r in runs
        ],
    )


def command_line(runs: Iterable[CommandRun]) -> Iterator[str]:
    yield "## Peak memory of `itemledger read` as a whole process, all its files written\n"
    rows = [[f"{run.keys:,}", _payload(run), _size(run.peak_bytes)] for run in runs]
    yield from _table(["keys", "payload", "peak"], rows)


def _ratio(rounds: Rounds, contender: Contender, baseline: Contender) -> str:
    ratios = rounds.ratios(contender, baseline)
    return "" if contender is baseline else f"{median(ratios):.3f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"


def _payload(run: MemoryRun | CommandRun) -> str:
    return f"{_size(run.keys * run.payload_bytes)} ({run.payload_bytes:,} B an item)"


def _size(count: float) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 10e6 else f"{count / 1e6:,.1f} MB"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
