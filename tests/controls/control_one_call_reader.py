"""MUST FAIL: the one-call reader held to the known answer. The suite leaves it out; test_controls_fail.py runs it."""

from __future__ import annotations

from itemledger import known_answer
from itemledger.cli.lab_run import lab_client, run_control


def test_the_one_call_reader_calls_only_z_missing() -> None:
    missing = run_control(lab_client()).missing

    assert known_answer.TRULY_MISSING == missing
