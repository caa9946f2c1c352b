"""What a person sees: a progress bar on a terminal, nothing of it in a pipe."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import termios
from typing import Any

import pytest

from tests.cli.conftest import GIVE_UP_S, Itemledger
from tests.cli.proxy import Proxy

KEYS = [f"k{n}" for n in range(250)]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def seen(il: Itemledger, columns: int, *arguments: str, stdout_too: bool = False) -> tuple[int, str]:
    """The exit code, and what came to a terminal of this width that is stderr (and stdout)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    popen: dict[str, Any] = {"stderr": slave, **({"stdout": slave} if stdout_too else {})}
    process = il.start(*arguments, **popen)
    os.close(slave)
    content = b""
    with contextlib.suppress(OSError):  # EIO: the other side has gone
        while more := os.read(master, 65_536):
            content += more
    os.close(master)
    return process.wait(GIVE_UP_S), content.decode()


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_progress_that_fits(il: Itemledger, proxy: Proxy, orders: str, columns: int) -> None:
    il.environment = {"TERM": "xterm", "COLUMNS": None}

    exit_code, content = seen(il, columns, "read", orders, "--keys", str(il.keys(KEYS)), "--out", "items.jsonl")

    assert 0 == exit_code
    frames = [line for line in ESCAPES.sub("", content).replace("\r", "\n").splitlines() if " calls · " in line]
    assert frames
    assert re.search(r"[\d,]+/s · 0 left over · 0 SDK retries · \d calls · 0:0\d of 1:00", frames[-1])
    assert all(len(line) <= columns for line in frames)
    assert "\x1b[?25h" in content, "the cursor is shown again"
    assert "decision      accept" in content


def test_a_terminal_that_goes_away_does_not_keep_the_read_from_finishing_its_files(
    il: Itemledger, proxy: Proxy, orders: str
) -> None:
    il.environment = {"TERM": "xterm", "COLUMNS": None}
    arrived = proxy.hold_from(2)
    master, slave = pty.openpty()
    reading = il.start(
        "read", orders, "--keys", il.keys(KEYS), "--concurrency", "1", "--out", "items.jsonl", "--evidence",
        "run.jsonl", "--hold", "hold.json", "--json", stderr=slave,
    )  # fmt: skip
    os.close(slave)
    assert arrived.wait(GIVE_UP_S)

    os.close(master)
    reading.send_signal(signal.SIGHUP)
    ended = il.end(reading)

    assert 129 == ended.exit_code
    assert (100, 150) == (len(il.rows("items.jsonl")), json.loads(ended.stdout)["unresolved"])
    assert {"hold.json", "run.jsonl"} <= il.files()
    assert 0 == il("verify", "run.jsonl").exit_code


def test_rows_on_the_same_terminal_leave_no_room_for_a_bar(il: Itemledger, orders: str) -> None:
    il.environment = {"TERM": "xterm", "COLUMNS": None}

    exit_code, content = seen(il, 80, "read", orders, "--keys", str(il.keys(KEYS)), stdout_too=True)

    assert 0 == exit_code
    assert '{"pk":"k249","n":249}' in content
    assert "keys settled" not in content


def test_a_pipe_gets_no_bar_and_no_escapes(il: Itemledger, orders: str) -> None:
    ended = il("read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl")

    assert "\x1b" not in ended.stderr
    assert "keys settled" not in ended.stderr


def test_forced_colours_bring_no_bar_into_a_pipe(il: Itemledger, orders: str) -> None:
    il.environment = {"FORCE_COLOR": "1", "TERM": "xterm"}

    ended = il("read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl")

    assert "\x1b[" in ended.stderr
    assert "keys settled" not in ended.stderr
