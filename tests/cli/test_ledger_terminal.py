"""What a person sees while a ledger is worked on: two lines of progress on a terminal, and plain lines in a pipe."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Itemledger
from tests.cli.proxy import Proxy
from tests.cli.test_terminal import ESCAPES, seen
from tests.conftest import MakeTable
from tests.engines.launch import Engine

ITEMS = [{"pk": f"item-{n}"} for n in range(100)]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_shows_progress_that_fits(
    il: Itemledger, proxy: Proxy, moto: Engine, make_table: MakeTable, columns: int
) -> None:
    il.environment = {"TERM": "xterm", "COLUMNS": None}
    il.keys(ITEMS, "items.jsonl")
    line = ("--key", "pk:S", "--items", "items.jsonl", "--ledger", "sqlite:///ledger.db")

    exit_code, content = seen(il, columns, "write", make_table(moto), *line)

    assert 0 == exit_code, content
    frames = [text for text in ESCAPES.sub("", content).replace("\r", "\n").splitlines() if " calls · " in text]
    assert frames
    if columns >= 80:
        assert re.search(r"[\d,]+/s · 0 to retry · 0 unknown · 0 in review · \d calls · 0:0\d of 5:04", frames[-1])
    else:
        assert frames[-1].endswith("…")
    assert all(len(text) <= columns for text in frames)
    assert "items done" in content
    assert "\x1b[?25h" in content, "the cursor is shown again"
    assert "decision      accept" in content


def test_a_pipe_gets_plain_lines_only(il: Itemledger, moto: Engine, make_table: MakeTable) -> None:
    il.keys(ITEMS[:1], "items.jsonl")

    ended = il("write", make_table(moto), "--key", "pk:S", "--items", "items.jsonl", "--ledger", "sqlite:///ledger.db")

    assert (0, "") == (ended.exit_code, ended.stdout), ended.stderr
    assert "\x1b" not in ended.stderr
    assert "items done" not in ended.stderr
