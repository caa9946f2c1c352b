"""Peak memory of reads inside a process: what is held per key, and that payload which is let go does not add to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.processes import worker

Reader = Literal["iter_read", "read_batch"]


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """How far one read raised its process's peak, in bytes."""

    reader: Reader
    keys: int
    payload_bytes: int
    growth_bytes: int


def measure(reader: Reader, keys: int, payload_bytes: int) -> MemoryRun:
    measured = worker("memory", reader, keys, payload_bytes)
    return MemoryRun(reader, keys, payload_bytes, measured["peak_bytes"] - measured["before_bytes"])
