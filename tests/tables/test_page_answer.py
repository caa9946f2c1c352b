"""Answers that cannot be a page, and where one can go on within a page."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.core.answer import Answer, EvidenceLabel
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.tables.page import Page
from itemledger.tables.page_answer import PageCall, page_of
from tests.tables.page_world import key, row


def page(response: dict[str, Any], *, limit: int | None = None, start: Any = None, **request: Any) -> Page:
    call = PageCall(1, "query", request, 0, 1, start, limit, 0.0)
    return page_of(call, Answer(response, "r", 0, EvidenceLabel.SYNTHETIC), 1.0, dict)


ROWS = [row("a"), row("b"), row("c")]


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        ({"Count": 0, "ScannedCount": 0}, "has no Items"),
        ({"Items": "rows", "Count": 4, "ScannedCount": 4}, "no list"),
        ({"Items": ["row"], "Count": 1, "ScannedCount": 1}, "no list"),
        ({"Items": ROWS, "Count": 2, "ScannedCount": 3}, "Count says 2 where Items holds 3"),
        ({"Items": ROWS, "Count": 3, "ScannedCount": 2}, "fewer than the 3 returned"),
        ({"Items": ROWS, "Count": -3, "ScannedCount": 3}, "Count is no count"),
        ({"Items": ROWS, "Count": True, "ScannedCount": 3}, "Count is no count"),
        ({"Items": [], "Count": 0, "ScannedCount": 6}, "examined 6 items where Limit allows 5"),
        ({"Items": [], "Count": 0, "ScannedCount": 0, "LastEvaluatedKey": {}}, "holds no key"),
        ({"Items": [], "Count": 0, "ScannedCount": 0, "LastEvaluatedKey": "k"}, "holds no key"),
        ({"Items": [], "Count": 0, "ScannedCount": 0, "LastEvaluatedKey": key(0, 7)}, "for ever"),
    ],
)
def test_what_cannot_be_true_is_refused_without_a_value_in_its_text(response: dict[str, Any], problem: str) -> None:
    with pytest.raises(LedgerInvariantError, match=problem) as raised:
        page(response, limit=5, start=key(0, 7))
    assert "0/7" not in f"{raised.value} {raised.value.structure}"


def test_what_is_only_counted_has_no_rows_and_what_does_not_tell_is_unknown() -> None:
    counted = page({"Count": 7, "ScannedCount": 9}, Select="COUNT")
    assert (7, 9, ()) == (counted.returned, counted.examined, counted.items)
    silent = page({"Items": ROWS})
    assert (3, None, None, None) == (silent.returned, silent.examined, silent.consumed, silent.totals.examined)


def test_after_each_row_there_is_a_key_made_of_the_services_own_attributes() -> None:
    """FC-24; FC-26: of the names that the service gave, never guessed."""
    rows = [{"pk": {"S": str(n)}, "g": {"N": "1"}, "v": {"S": "x"}} for n in range(3)]
    response = {"Items": rows, "Count": 3, "ScannedCount": 9, "LastEvaluatedKey": {"g": {"N": "1"}, "pk": {"S": "8"}}}
    there = page(response)
    assert {"g": {"N": "1"}, "pk": {"S": "1"}} == there.key_after(1)
    assert response["LastEvaluatedKey"] == there.key_after(2)
    assert there is there.first(3)
    assert (2, {"g": {"N": "1"}, "pk": {"S": "1"}}) == (there.first(2).returned, there.first(2).last_key)


def test_where_nothing_tells_the_key_it_is_asked_for() -> None:
    alone = page({"Items": ROWS, "Count": 3, "ScannedCount": 3})
    assert None is alone.key_after(2)
    assert row("a") == alone.key_after(0, ("pk",))
    with pytest.raises(ManifestError, match="key="):
        alone.key_after(0)
    with pytest.raises(ManifestError, match="without 'sk'"):
        alone.key_after(0, ("pk", "sk"))
