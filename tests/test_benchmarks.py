"""The benchmark still runs. What it measures is nothing for a test to judge: no time is looked at here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.contenders import Contender

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, object]]:
    figures = tmp_path_factory.mktemp("benchmark") / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--smoke", "--json", str(figures)]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=100, check=False)
    assert (0, "") == (run.returncode, run.stderr)
    return run.stdout, json.loads(figures.read_text())


def test_the_smoke_run_measures_every_reader(smoke: tuple[str, dict[str, object]]) -> None:
    printed, figures = smoke
    rows = re.findall(r"^\| (.+?) \| [\d,]+ \| (?:[\d.]+ \(.+?\))? \| ", printed, re.MULTILINE)
    assert [contender.value for contender in Contender] == rows
    assert {contender.value for contender in Contender} == set(figures["cpu_seconds_per_item"])  # type: ignore[call-overload]


def test_the_smoke_run_weighs_reads_in_process_and_on_the_command_line(smoke: tuple[str, dict[str, object]]) -> None:
    printed, _ = smoke
    weighed = re.findall(r"^\| (.+?) \| .* MB \(\d+ B an item\) \| [\d.,]+ MB \|", printed, re.MULTILINE)
    assert ["iter_read, items dropped", "read_batch, items held", "1,000"] == weighed


def test_the_smoke_run_names_the_cost_and_its_target(smoke: tuple[str, dict[str, object]]) -> None:
    printed, _ = smoke
    assert "target is less than 10 %" in printed
    assert re.search(r"^- read_batch, typed: [+-][\d.]+% of its CPU time", printed, re.MULTILINE)
