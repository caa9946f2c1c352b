"""Instructions per call of 100 keys, counted by callgrind: they repeat on a noisy machine, where times do not."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from benchmarks.contenders import Contender
from benchmarks.processes import BenchmarkError, worker

#: Calls in a read: of one, where all that a read costs besides its calls falls on it, and of several.
READS = (1, 5)
#: A C function that nothing else calls: each call makes callgrind write down its count since the one before.
MARK = "getloadavg"

Counts = dict[Contender, dict[int, float]]


def available() -> bool:
    return shutil.which("valgrind") is not None


def measure() -> Counts:
    """Instructions per call, by contender and number of calls in the read."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts")
        callgrind = ("valgrind", "--tool=callgrind", f"--dump-before={MARK}", f"--callgrind-out-file={counts}")
        worker("instructions", *READS, under=callgrind)
        dumps = (counts.with_name(f"counts.{number}") for number in range(1, len(Contender) * (len(READS) + 1) + 1))
        measured: Counts = {}
        for contender in Contender:
            next(dumps)  # up to its first mark: the start, and the warming up
            measured[contender] = {calls: _total(next(dumps)) / calls for calls in READS}
        return measured


def _total(dump: Path) -> int:
    if not dump.exists():
        raise BenchmarkError(f"callgrind does not see {MARK}() of this Python, so there are no instruction counts")
    found = re.search(r"^totals: (\d+)", dump.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])
