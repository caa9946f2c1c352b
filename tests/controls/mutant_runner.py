"""Runs tests against changed copies of the package: a fork for each, so that pytest is imported only once.

Reads ``{name: [source folder, [test, …]]}`` from stdin, prints ``{name: [pytest's exit code, what it printed]}``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from typing import IO

import boto3  # noqa: F401 - what every test needs anyway, imported before the first fork
import pytest

OPTIONS = ["--noconftest", "--import-mode=importlib", "-o", "addopts=", "-q", "-x", "--tb=short"]
WITHOUT = ["-p", "no:cacheprovider", "-p", "no:randomly"]


def main() -> None:
    waiting = [*json.load(sys.stdin).items()]
    running: dict[int, tuple[str, IO[bytes]]] = {}
    told = {}
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            name, (source, tests) = waiting.pop()
            printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - read and closed when its child has ended
            child = os.fork()
            if child == 0:
                _run(source, tests, printed.fileno())
            running[child] = name, printed
        ended, status = os.wait()
        name, printed = running.pop(ended)
        with printed:
            printed.seek(0)
            told[name] = [os.waitstatus_to_exitcode(status), printed.read().decode(errors="replace")]
    json.dump(told, sys.stdout)


def _run(source: str, tests: list[str], output: int) -> None:
    code = 70
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        assert "itemledger" not in sys.modules
        sys.path.insert(0, source)
        code = int(pytest.main([*OPTIONS, *WITHOUT, *tests]))
        found = sys.modules["itemledger"].__file__ or ""
        if not found.startswith(source):
            print(f"the tests ran against {found}")
            code = 71
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
