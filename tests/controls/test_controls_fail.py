"""Programs that must fail, run as a user runs them: if one passes, the suite can no longer tell right from wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONTROLS = Path(__file__).parent
ROOT = CONTROLS.parent.parent


def test_the_one_call_reader_fails_the_known_answer_lab() -> None:
    run = _pytest(CONTROLS / "control_one_call_reader.py")

    assert 1 == run.returncode, run.stdout + run.stderr  # 1: tests ran and failed; 2 and above: pytest itself failed
    assert "1 failed in" in run.stdout, run.stdout
    assert "AssertionError: assert ['Z'] == ['B', 'D', 'Z']" in run.stdout, run.stdout


def test_the_controls_stay_out_of_the_suite() -> None:
    run = _pytest(CONTROLS, "--collect-only")

    assert 0 == run.returncode, run.stdout + run.stderr
    assert "control_one_call_reader" not in run.stdout


def _pytest(*arguments: Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
