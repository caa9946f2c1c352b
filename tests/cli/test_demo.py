"""The demo as its user starts it: it says what it must, and leaves evidence that verifies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path


def itemledger(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "itemledger", *arguments], cwd=cwd, capture_output=True, text=True, timeout=120
    )


def test_the_demo_shows_what_a_one_call_reader_loses_and_leaves_files_that_verify(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in ("items.jsonl", "run.jsonl", "run.jsonl.key", "hold.json"):
        (out / name).write_text("of an earlier run")

    run = itemledger("demo", "--dir", "out", cwd=tmp_path)

    assert 0 == run.returncode, run.stdout + run.stderr
    one_call, ours = re.search(r"reported missing\W+(\d+)\W+(\d+)", run.stdout).groups()  # type: ignore[union-attr]
    assert "310" == ours
    assert int(one_call) > 310
    assert "interrupted" == json.loads((out / "hold.json").read_text())["stop_reason"]
    verified = itemledger("verify", "run.jsonl", "run-resumed.jsonl", cwd=out)
    assert 0 == verified.returncode, verified.stdout + verified.stderr
    lines = [line for name in ("items", "items-resumed") for line in (out / f"{name}.jsonl").read_text().splitlines()]
    assert list(range(3690)) == sorted(json.loads(line)["order"] for line in lines)
    assert not list(out.glob("*.part"))
