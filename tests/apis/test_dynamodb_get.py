"""BatchGetItem alone: the request on every pass, rows and leftovers, capacity, remarks, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.apis.dynamodb_get import CUT_BYTES, BatchGetItem
from itemledger.core.keys import KeySchema
from itemledger.core.reconcile import Finding, Silence
from itemledger.core.steps import SentKey
from itemledger.core.terms import Settings
from itemledger.errors import LedgerInvariantError
from tests.core.support import settings

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/T"
SENT: list[SentKey] = [(0, "secret-a"), (0, "secret-b")]
A, B = {"pk": {"S": "secret-a"}}, {"pk": {"S": "secret-b"}}
NONE_LEFT: dict[str, Any] = {"UnprocessedKeys": {}}


def found(api: BatchGetItem, response: dict[str, Any], sent: list[SentKey] = SENT) -> dict[int | None, Finding]:
    return {mention.position: mention.finding for mention in api.mentions(sent, response)}


def refusal(api: BatchGetItem, response: dict[str, Any], sent: list[SentKey] = SENT) -> LedgerInvariantError:
    with pytest.raises(LedgerInvariantError) as caught:
        list(api.mentions(sent, response))
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.structure)
    return caught.value


def notes(api: BatchGetItem, leftovers: dict[str, Any]) -> tuple[str, ...]:
    return api.facts(SENT[0], {"Responses": {}, "UnprocessedKeys": leftovers}).notes


def test_the_request_has_our_keys_settings_and_nothing_else() -> None:
    api = BatchGetItem([settings("T1", {"pk": "S"}, consistent_read=True), settings("T2", ("pk", "sk"))])
    entries = {
        "T1": {"Keys": [{"pk": {"S": "a"}}, {"pk": {"S": "b"}}], "ConsistentRead": True},
        "T2": {"Keys": [{"pk": {"S": "p"}, "sk": {"B": b"s"}}]},
    }
    assert {"RequestItems": entries, "ReturnConsumedCapacity": "TOTAL"} == api.request(
        [(0, "a"), (1, ("p", b"s")), (0, "b")]
    )
    assert (100, Silence.PROCESSED_NOT_RETURNED) == (api.limits.items, api.silence())


def test_every_request_of_a_read_has_the_same_projection_and_the_key_in_it() -> None:
    api = BatchGetItem([settings(projection=("n",), consistent_read=True)])
    first, second = (api.request(sent)["RequestItems"]["T"] for sent in (SENT, SENT[1:]))
    assert {**first, "Keys": [B]} == second
    assert {"n", "pk"} == set(first["ExpressionAttributeNames"].values())


@pytest.mark.parametrize(("projection", "item"), [(("n",), {"n": {"N": "1"}}), (("n", "pk"), {**A, "n": {"N": "1"}})])
def test_a_key_that_was_added_only_for_us_is_taken_off_the_item(projection: Any, item: dict[str, Any]) -> None:
    api = BatchGetItem([settings(projection=projection, values="typed")])
    (mention,) = api.mentions(SENT, {"Responses": {"T": [{**A, "n": {"N": "1"}}]}, **NONE_LEFT})
    assert item == mention.value


def test_rows_and_leftovers_are_placed_by_their_key() -> None:
    api = BatchGetItem([settings()])
    told = found(api, {"Responses": {"T": [B]}, "UnprocessedKeys": {"T": {"Keys": [A]}}})
    assert {0: Finding.UNPROCESSED, 1: Finding.RETURNED} == told
    assert {} == found(api, {"Responses": {"T": []}, **NONE_LEFT})


@pytest.mark.parametrize("left", [[A], [A, B]], ids=["one-left", "all-left"])
@pytest.mark.parametrize("absent", [{}, {"Responses": None}, {"Responses": {}}], ids=["absent", "null", "empty"])
def test_a_table_without_a_list_needs_every_key_named_as_left_over(left: list[Any], absent: dict[str, Any]) -> None:
    api = BatchGetItem([settings()])
    response = {**absent, "UnprocessedKeys": {"T": {"Keys": left}}}
    if len(left) == 2:
        assert {0: Finding.UNPROCESSED, 1: Finding.UNPROCESSED} == found(api, response)
    else:
        assert "1 of its keys are not named as left over" in str(refusal(api, response))


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"Responses": {"T": [A]}},
        {"Responses": [], **NONE_LEFT},
        {"Responses": {"T": {}}, **NONE_LEFT},
        {"Responses": {"T": ["secret"]}, **NONE_LEFT},
        {"Responses": {"T": None}, **NONE_LEFT},
        {"Responses": {"T": [{"n": {"S": "secret"}}]}, **NONE_LEFT},
        {"Responses": {"T": [{**A, "n": {"N": "secret"}}]}, **NONE_LEFT},
        {"Responses": {"T": [{**A, "n": {"Q": "secret"}}]}, **NONE_LEFT},
        {"Responses": {"Other": []}, **NONE_LEFT},
        {"Responses": {"T": []}, "UnprocessedKeys": []},
        {"Responses": {"T": []}, "UnprocessedKeys": {"T": ["secret"]}},
        {"Responses": {"T": []}, "UnprocessedKeys": {"T": {"Keys": "secret"}}},
        {"Responses": {"T": []}, "UnprocessedKeys": {"T": {"Keys": ["secret"]}}},
        {"Responses": {"T": []}, "UnprocessedKeys": {"Other": {"Keys": []}}},
    ],
    ids=str,
)
def test_an_unreadable_structure_is_refused_without_a_value_in_the_text(response: dict[str, Any]) -> None:
    refusal(BatchGetItem([settings()]), response)


def test_leftovers_may_be_left_out_only_where_every_table_of_the_read_allows_it() -> None:
    response = {"Responses": {"T": [A]}}
    lenient = settings(unprocessed_keys_optional=True)
    assert {0: Finding.RETURNED} == found(BatchGetItem([lenient]), response)
    assert "no UnprocessedKeys" in str(refusal(BatchGetItem([lenient, settings("T2")]), response))
    assert "no UnprocessedKeys" in str(refusal(BatchGetItem([lenient]), {"Responses": None}))


def test_asked_by_arn_a_table_may_answer_by_name_unless_two_tables_have_it() -> None:
    table = Settings(ARN, KeySchema.of("pk"))
    assert {0: Finding.RETURNED} == found(BatchGetItem([table]), {"Responses": {"T": [A]}, **NONE_LEFT})
    other = Settings(ARN.replace("123", "999"), KeySchema.of("pk"))
    assert "names table 'T'" in str(refusal(BatchGetItem([table, other]), {"Responses": {"T": [A]}, **NONE_LEFT}))


def test_the_request_hash_is_of_everything_but_the_keys() -> None:
    def hash_of(sent: list[SentKey] = SENT, **options: Any) -> str:
        api = BatchGetItem([settings(**options)])
        return api.facts(sent[0], None).request_hash

    assert hash_of() == hash_of(SENT[1:])
    variants: list[dict[str, Any]] = [
        {},
        {"consistent_read": True},
        {"projection": ("n",)},
        {"projection": ("m",)},
        {"table_name": "T2"},
    ]
    assert len(variants) == len({hash_of(**options) for options in variants})


@pytest.mark.parametrize(
    ("echo", "differing"),
    [
        ({"ConsistentRead": True}, None),
        ({"ConsistentRead": True, "ProjectionExpression": None, "ExpressionAttributeNames": {}}, None),
        ({}, "ConsistentRead"),
        ({"ConsistentRead": False}, "ConsistentRead"),
        ({"ConsistentRead": True, "AttributesToGet": ["n"]}, "AttributesToGet"),
        ({"ProjectionExpression": "n"}, "ConsistentRead, ProjectionExpression"),
    ],
    ids=str,
)
def test_an_echo_that_differs_is_noted_and_a_faithful_one_is_not(echo: dict[str, Any], differing: str | None) -> None:
    told = notes(BatchGetItem([settings(consistent_read=True)]), {"T": {"Keys": [A], **echo}})
    says = f"leftovers came back with other {differing}; the next pass asks as this one did"
    assert (() if differing is None else (says,)) == told


def test_an_empty_list_of_leftovers_is_noted_for_its_own_table_only() -> None:
    api = BatchGetItem([settings(), settings("T2")])
    assert ("UnprocessedKeys names the table with an empty list of keys",) == notes(api, {"T": {"Keys": []}})
    assert () == notes(api, {"T2": {"Keys": []}})


def rows(count: int, size: int) -> list[dict[str, Any]]:
    return [{"pk": {"S": f"{i:02}"}, "f": {"B": bytes(size)}} for i in range(count)]


@pytest.mark.parametrize(
    ("count", "size", "cut"),
    [
        (0, 0, False),
        (1, CUT_BYTES // 2 - 10_000, False),
        (1, CUT_BYTES // 2, True),
        (9, 100_000, True),
        (8, 100_000, False),
    ],
)
def test_a_response_was_cut_by_its_size_when_one_more_item_would_not_have_fitted(
    count: int, size: int, cut: bool
) -> None:
    assert cut is BatchGetItem([settings()]).cut_by_size({"Responses": {"T": rows(count, size)}})


@pytest.mark.parametrize(
    ("projection", "consistent", "units", "cut"),
    [
        (("n",), True, 240.0, True),
        (("n",), True, 200.0, False),
        (("n",), False, 120.0, True),
        (("n",), False, 100.0, False),
        (("n",), True, None, False),
        (None, True, 240.0, False),  # whole items are there to be measured
    ],
)
def test_projected_rows_are_as_large_as_the_capacity_that_they_took(
    projection: Any, consistent: bool, units: float | None, cut: bool
) -> None:
    api = BatchGetItem([settings(projection=projection, consistent_read=consistent)])
    capacity = {} if units is None else {"ConsumedCapacity": [{"TableName": "T", "CapacityUnits": units}]}
    assert cut is api.cut_by_size({"Responses": {"T": rows(50, 1)}, **capacity})
    assert api.cut_by_size({"Responses": {"T": []}, **capacity}) is False


def test_typed_rows_that_cannot_be_measured_explain_nothing() -> None:
    api = BatchGetItem([settings(values="typed")])
    odd = {"pk": {"S": "a"}, "f": {"Q": "x" * CUT_BYTES}}
    assert api.cut_by_size({"Responses": {"T": [odd]}}) is False
