"""``itemledger lab`` as a process: known answers for anyone, without network, account or credentials."""

from __future__ import annotations

import json
import os
import subprocess
import sys

ENTRY = "from itemledger.cli import entry; entry()"


def lab(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command in an environment without any AWS variable; ``before`` is a fault put into the process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [sys.executable, "-c", f"{before}\n{ENTRY}", "lab", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_lab_prints_every_case_with_what_was_expected_and_exits_with_0() -> None:
    run = lab()

    assert (0, "") == (run.returncode, run.stderr)
    for text in (
        "completion in caller order",
        "exhaustion after two passes",
        "duplicate refused",
        "missing key attribute",
        "key outside the request",
        "conflicting repeat",
        "request-level error that can pass",
        "request-level error that will not pass",
        "non-shrinking leftovers",
        "deadline before a further pass",
        "requiring A-D: accept",
        "requiring all five: reject",
        "Evidence: synthetic.",
        "10 of 10 cases as expected",
    ):
        assert text in run.stdout


def test_json_carries_expected_and_got_word_for_word_and_what_it_ran_on() -> None:
    run = lab("--json")

    told = json.loads(run.stdout)
    assert 0 == run.returncode
    assert ("known-answer/1", "synthetic", True) == (told["lab"], told["evidence_label"], told["as_expected"])
    assert 10 == len(told["cases"])
    assert all(case["expected"] == case["got"] and case["as_expected"] for case in told["cases"])
    assert {"synthetic", None} == {case["got"]["evidence_label"] for case in told["cases"]}
    assert "known-answer/1" == told["environment"]["fixture_revision"]
    assert {"mode": "standard", "total_max_attempts": 1, "set_by": "client configuration"} == told["environment"][
        "sdk_retries"
    ]


def test_one_wrong_answer_is_named_and_makes_the_exit_code_1() -> None:
    # A reader that rounds "unresolved" to "processed_not_returned", which is the mistake the lab is there to find.
    rounding = (
        "from itemledger.core.result import Disposition, ReadResult\n"
        "ReadResult.__post_init__ = lambda self: object.__setattr__(self, 'dispositions', tuple("
        "Disposition.PROCESSED_NOT_RETURNED if d is Disposition.UNRESOLVED else d for d in self.dispositions))"
    )

    run = lab(before=rounding)

    assert 1 == run.returncode
    assert "WRONG" in run.stdout
    assert "2 of 10 cases as expected" in run.stdout  # the two that end without an unresolved key


def test_a_reader_that_crashes_is_a_wrong_answer_and_not_the_end_of_the_lab() -> None:
    run = lab("--json", before="import itemledger.sync as s\ns.read_batch = lambda *a, **k: 1 / 0")

    told = json.loads(run.stdout)
    assert (1, False) == (run.returncode, told["as_expected"])
    assert {"ZeroDivisionError: division by zero"} == {case["got"]["raised"] for case in told["cases"]}


def test_the_control_exits_with_0_because_the_one_call_reader_fails_and_says_what_it_reported() -> None:
    run = lab("--control")

    assert (0, "") == (run.returncode, run.stderr)
    assert "would have reported as missing: B, D, Z. Truly missing: Z." in run.stdout
    assert "Evidence: synthetic." in run.stdout


def test_the_control_as_json() -> None:
    run = lab("--control", "--json")

    assert 0 == run.returncode
    assert {
        "control": "one-call reader",
        "evidence_label": "synthetic",
        "truly_missing": ["Z"],
        "reported_missing": ["B", "D", "Z"],
        "failed_as_it_must": True,
    } == json.loads(run.stdout)


def test_a_control_that_no_longer_fails_makes_the_exit_code_1() -> None:
    # As if somebody had repaired the reader that is kept as it is.
    repaired = (
        "import itemledger.cli.lab_run as r\nread = r.one_call_reader\n"
        "r.one_call_reader = lambda client: [key for key in read(client) if key == 'Z']"
    )

    run = lab("--control", before=repaired)

    assert 1 == run.returncode
    assert "did not fail in the known way" in run.stdout
