"""Every measurement has a process of its own, sealed from the machine's AWS settings; here they are started."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
AWS_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "key-id",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


class BenchmarkError(Exception):
    """A measurement could not be made; the text says why."""


def environment() -> dict[str, str]:
    """This process's environment with nothing of AWS in it but what the benchmark needs; texts hash alike each time."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ITEMLEDGER_"))}
    return {**kept, **AWS_SETTINGS, "PYTHONHASHSEED": "0"}


def worker(kind: str, *arguments: object, under: tuple[str, ...] = ()) -> dict[str, Any]:
    """What one worker measured; ``under`` is a program that runs it."""
    command = [*under, sys.executable, "-m", "benchmarks.worker", kind, *map(str, arguments)]
    run = subprocess.run(command, cwd=PROJECT, env=environment(), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        last = run.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise BenchmarkError(f"{' '.join(command[1:])} ended with code {run.returncode}: {last[0]}")
    measured: dict[str, Any] = json.loads(run.stdout)
    return measured


def peak_bytes(usage: resource.struct_rusage) -> int:
    """The most memory a process ever had resident."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
