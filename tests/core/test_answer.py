"""What a call brought back: causes, the error that ended a read, and the order of labels."""

from __future__ import annotations

import pytest

from itemledger.core.answer import EvidenceLabel, Failure, FailureCause, TerminalError, weakest


@pytest.mark.parametrize(
    ("cause", "passing"),
    [
        (FailureCause.THROTTLED, True),
        (FailureCause.TRANSIENT, True),
        (FailureCause.DAMAGED, True),
        (FailureCause.CREDENTIALS, False),
        (FailureCause.REFUSED, False),
        (FailureCause.UNKNOWN, False),
    ],
)
def test_an_error_can_pass_when_its_cause_can(cause: FailureCause, passing: bool) -> None:
    assert passing is cause.passing
    assert TerminalError("Code", "message", "r-1", passing) == Failure(cause, "Code", "message", "r-1").error


def test_no_cause_is_left_out_here() -> None:
    assert 6 == len(FailureCause) == len({cause.label for cause in FailureCause})


def test_a_terminal_error_reads_as_code_and_request_id_without_its_message() -> None:
    assert "Code; request_id=r-1" == str(TerminalError("Code", "key 'secret'", "r-1", False))
    assert "Code; request_id=none" == str(TerminalError("Code", "key 'secret'", None, False))


def test_labels_go_from_what_proves_least_to_what_proves_most() -> None:
    labels = ["documented", "expected", "synthetic", "observed"]
    for i, label in enumerate(labels):
        assert label == weakest(EvidenceLabel(stronger) for stronger in reversed(labels[i:]))
