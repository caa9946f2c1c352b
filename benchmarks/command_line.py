"""Peak memory of ``itemledger read`` as a process, against a canned endpoint behind a socket."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import items
from benchmarks.processes import PROJECT, BenchmarkError, environment, peak_bytes


@dataclass(frozen=True, slots=True)
class CommandRun:
    """One run: what was read, and the most memory the command had."""

    keys: int
    payload_bytes: int
    peak_bytes: int
    cpu_s: float


def measure(keys: int, payload_bytes: int) -> CommandRun:
    """A read with items, dispositions and evidence written to files, all of which are thrown away."""
    with tempfile.TemporaryDirectory() as folder, _endpoint(payload_bytes) as port:
        manifest = Path(folder, "keys.jsonl")
        manifest.write_text("".join(f'"{key}"\n' for key in items.keys(keys)))
        command = [sys.executable, "-m", "itemledger", "read", items.TABLE, "--keys", manifest.name, "--key", "pk:S"]
        command += ["--endpoint-url", f"http://127.0.0.1:{port}", "--out", "items.jsonl"]
        command += ["--dispositions", "dispositions.jsonl", "--evidence", "evidence.jsonl"]
        with Path(folder, "said").open("w+") as said:
            process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=said, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)  # of this child alone, unlike RUSAGE_CHILDREN
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                said.seek(0)
                last = said.read().strip().splitlines()[-1:] or ["it said nothing"]
                raise BenchmarkError(f"itemledger read ended with code {process.returncode}: {last[0]}")
        lines = _lines(Path(folder, "items.jsonl"))
        if lines != keys:
            raise BenchmarkError(f"itemledger read wrote {lines} items of {keys}")
    return CommandRun(keys, payload_bytes, peak_bytes(usage), usage.ru_utime + usage.ru_stime)


@contextmanager
def _endpoint(payload_bytes: int) -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.endpoint", str(payload_bytes)]
    with subprocess.Popen(
        command, cwd=PROJECT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise BenchmarkError("the canned endpoint did not start")
            yield int(port)
        finally:
            process.stdin.close()  # which ends it


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)
