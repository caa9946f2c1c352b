"""Scans a table in a process of its own, which may kill itself before or after the nth write or sync of a file."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import itemledger as il
from tests.engines.launch import Engine


def dies_at(name: str, nth: int, *, after: bool) -> None:
    """Replaces ``os.write`` or ``os.fsync`` by one that is the last thing this process does."""
    real: Callable[..., Any] = getattr(os, name)
    count = 0

    def counted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == nth and not after:
            if name == "write":  # half of it is on its way
                real(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        done = real(*arguments)
        if count == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(os, name, counted)


class Pages:
    """A caller's own function: appends a line for each page, synced when it returns."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115  # as long as the process

    def __call__(self, page: il.Page) -> None:
        numbers = [int(item["n"]) for item in page.items]
        self._file.write(json.dumps([page.segment, page.number, numbers]) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def main() -> None:
    job = json.loads(sys.argv[1])
    client = Engine("moto", job["endpoint"], 0).client()
    if job.get("die"):
        dies_at(job["die"], job["nth"], after=job["after"])
    to = Pages(job["to"]) if job["handler"] else job["to"]
    result = il.scan(
        client, to, checkpoint=job["checkpoint"], TableName=job["table"], segments=job["segments"], Limit=job["limit"]
    )
    assert result.complete, result.stop_reason


if __name__ == "__main__":
    main()
