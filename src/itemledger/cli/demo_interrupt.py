"""The demo's second half, on the command line: interrupt a read, resume it, verify the evidence."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from itemledger.cli.demo_table import TABLE, OrderKey
from itemledger.cli.problems import OTHER, CommandError

KEYS, ITEMS, RUN, HOLD = "keys.jsonl", "items.jsonl", "run.jsonl", "hold.json"
MORE_ITEMS, MORE_RUN = "items-resumed.jsonl", "run-resumed.jsonl"
#: Calls that are let through before Ctrl-C, of about forty.
CALLS_BEFORE = 12


def run(console: Console, url: str, keys: Sequence[OrderKey], directory: Path) -> None:
    """Leaves its files in ``directory``; raises CommandError when a step ends otherwise than it must."""
    for name in (KEYS, ITEMS, RUN, f"{RUN}.key", HOLD, MORE_ITEMS, MORE_RUN, f"{MORE_RUN}.key"):
        (directory / name).unlink(missing_ok=True)
    with (directory / KEYS).open("w") as lines:
        lines.writelines(f"{json.dumps([customer, int(order)])}\n" for customer, order in keys)
    console.print("[bold]3. Interrupt it, resume it, verify it[/]  with the command line, as on a table of your own")
    read = ["read", TABLE, "--keys", KEYS, "--out", ITEMS, "--evidence", RUN, "--hold", HOLD, "--require", "none"]
    _interrupted(console, [*read, "--concurrency", "1"], url, directory)
    _ended(
        console, ["resume", HOLD, "--out", MORE_ITEMS, "--evidence", MORE_RUN, "--require", "none"], 0, url, directory
    )
    _ended(console, ["verify", RUN, MORE_RUN], 0, url, directory)
    _ended(console, ["explain", MORE_RUN, "--key", json.dumps([keys[-1][0], int(keys[-1][1])])], None, url, directory)
    _check_union(console, len(keys), directory)
    console.print(f"\nThe files are in [bold]{directory}[/]: open {RUN}, {HOLD} and {ITEMS}.")


def _interrupted(console: Console, arguments: Sequence[str], url: str, directory: Path) -> None:
    process = _start(console, arguments, url, directory, note="and Ctrl-C after some calls")
    give_up_at = time.monotonic() + 60
    while _calls_recorded(directory) < CALLS_BEFORE and process.poll() is None and time.monotonic() < give_up_at:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _report(console, process, 130)


def _calls_recorded(directory: Path) -> int:
    return sum(part.read_bytes().count(b'"kind":"call"') for part in directory.glob(f".{RUN}.part"))


def _ended(console: Console, arguments: Sequence[str], expected: int | None, url: str, directory: Path) -> None:
    _report(console, _start(console, arguments, url, directory), expected)


def _start(
    console: Console, arguments: Sequence[str], url: str, directory: Path, note: str = ""
) -> subprocess.Popen[str]:
    console.print(f"\n[bold]$ itemledger {shlex.join(arguments)}[/] [dim]{note}[/]", soft_wrap=True)
    environment = os.environ | {
        "AWS_ENDPOINT_URL_DYNAMODB": url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "demo",
        "AWS_SECRET_ACCESS_KEY": "demo",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "itemledger", *arguments],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _report(console: Console, process: subprocess.Popen[str], expected: int | None) -> None:
    printed, _ = process.communicate(timeout=90)
    console.print(printed.rstrip(), style="dim", markup=False, soft_wrap=True)
    console.print(f"[dim]exit code {process.returncode}[/]")
    if expected is not None and process.returncode != expected:
        raise CommandError(
            f"the demo expects exit code {expected} here; the command ended with {process.returncode}", exit_code=OTHER
        )


def _check_union(console: Console, asked: int, directory: Path) -> None:
    """Counted from the files alone: no key twice, none forgotten."""
    rows = [
        (item["customer"], item["order"])
        for name in (ITEMS, MORE_ITEMS)
        for item in map(json.loads, (directory / name).read_text().splitlines())
    ]
    if len(set(rows)) != len(rows):
        raise CommandError("a key came back twice; the demo expects each once", exit_code=OTHER)
    console.print(
        f"   both files together: {len(rows):,} items of {asked:,} keys asked, each once; the evidence names the "
        "others as absent"
    )
