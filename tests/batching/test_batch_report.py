"""Where a row stands decides in which part of the report its item is: unknown is never rounded."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.batch_report import BatchItem, Tally
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Review, Row, Source

WRITTEN, LEFTOVER, REFUSED, UNKNOWN = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("outcome", "members", "part"),
    [
        (Outcome.SUCCEEDED, {}, WRITTEN),
        (Outcome.PENDING, {}, LEFTOVER),
        (Outcome.PENDING, {"review": Review.SOURCE_CHANGED}, LEFTOVER),
        (Outcome.RETRYABLE, {}, LEFTOVER),
        (Outcome.RETRYABLE, {"lost_attempts": 1}, UNKNOWN),
        (Outcome.RETRYABLE, {"late_epoch": 1}, UNKNOWN),
        (Outcome.IN_FLIGHT, {}, UNKNOWN),
        (Outcome.RECONCILE, {}, UNKNOWN),
        (Outcome.TERMINAL, {"review": Review.REFUSED}, REFUSED),
        (Outcome.TERMINAL, {"review": Review.EXHAUSTED}, LEFTOVER),
        (Outcome.TERMINAL, {"review": Review.LATE_SUCCESS}, UNKNOWN),
    ],
)
def test_each_row_is_in_one_part(outcome: Outcome, members: dict[str, Any], part: tuple[int, ...]) -> None:
    row = Row(1, "o", "A", "k", "h", 1, Source(), outcome, 0.0, **members)
    tally = Tally()

    tally.add([(BatchItem(0, "A", "A"), row)])

    report = tally.report()
    assert part == (report.written, len(report.leftover), len(report.refused), len(report.unknown))
    assert 1 == report.total
    assert (part == WRITTEN) is report.complete
