"""The one rule: every item of a call ends with exactly one finding, or the response is refused."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.core.reconcile import Finding, Mention, Silence, reconcile, shape_of
from itemledger.errors import LedgerInvariantError

RETURNED, UNPROCESSED, ABSENT = Finding.RETURNED, Finding.UNPROCESSED, Finding.PROCESSED_NOT_RETURNED
SILENT = Silence.PROCESSED_NOT_RETURNED


def test_mentions_come_back_in_the_order_of_what_was_sent_and_silence_fills_the_rest() -> None:
    mentions = [Mention(3, UNPROCESSED), Mention(0, RETURNED, {"n": 1})]
    found = reconcile(4, mentions, SILENT)
    assert [0, 1, 2, 3] == [mention.position for mention in found]
    assert [RETURNED, ABSENT, ABSENT, UNPROCESSED] == [mention.finding for mention in found]
    assert {"n": 1} == found[0].value


def test_nothing_sent_and_nothing_said_is_nothing() -> None:
    assert [] == reconcile(0, [], SILENT)
    assert [] == reconcile(0, [], Silence.FORBIDDEN)


@pytest.mark.parametrize("position", [None, -1, 2, 10**6])
def test_a_mention_outside_the_call_is_refused(position: int | None) -> None:
    with pytest.raises(LedgerInvariantError, match="outside this call") as caught:
        reconcile(2, [Mention(0, RETURNED), Mention(position, RETURNED, structure={"pk": {"S": "secret"}})], SILENT)
    assert {"pk": "S"} == caught.value.structure
    assert caught.value.position is None


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (
            Mention(1, RETURNED, {"n": 1}),
            Mention(1, RETURNED, {"n": 1}),
            "returns item 1 of this call twice, with equal",
        ),
        (Mention(1, RETURNED, {"n": 1}), Mention(1, RETURNED, {"n": 2}), "twice, with conflicting content"),
        (
            Mention(1, UNPROCESSED),
            Mention(1, RETURNED, {}),
            "says of item 1 of this call both unprocessed and returned",
        ),
        (Mention(1, RETURNED, {}), Mention(1, UNPROCESSED), "both returned and unprocessed"),
        (Mention(1, UNPROCESSED), Mention(1, UNPROCESSED), "names item 1 of this call twice as unprocessed"),
    ],
    ids=["equal", "conflicting", "left-and-returned", "returned-and-left", "left-twice"],
)
def test_a_second_mention_of_one_item_is_refused(first: Mention, second: Mention, says: str) -> None:
    with pytest.raises(LedgerInvariantError, match=says) as caught:
        reconcile(2, [Mention(0, RETURNED), first, second], SILENT)
    assert 1 == caught.value.position


def test_where_silence_is_forbidden_each_item_must_be_named() -> None:
    assert 2 == len(reconcile(2, [Mention(0, RETURNED), Mention(1, RETURNED)], Silence.FORBIDDEN))
    with pytest.raises(LedgerInvariantError, match="says nothing of item 1") as caught:
        reconcile(2, [Mention(0, RETURNED)], Silence.FORBIDDEN)
    assert 1 == caught.value.position


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (None, None),
        ({}, {}),
        ({"pk": {"S": "secret"}, "n": {"N": "7"}}, {"pk": "S", "n": "N"}),
        ({"pk": {"S": "secret", "N": "7"}}, {"pk": "N+S"}),
        ({"pk": {}}, {"pk": "empty"}),
        ({"Responses": ["secret"], "x": None, "y": "secret"}, {"Responses": "list", "x": "NoneType", "y": "str"}),
    ],
    ids=str,
)
def test_a_shape_has_names_and_types_and_no_value(structure: Any, shape: Any) -> None:
    assert shape == shape_of(structure)
