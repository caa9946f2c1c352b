"""The known-answer lab on botocore's Stubber; every expected value is a literal, and all evidence is synthetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.stub import Stubber

from itemledger import ReadResult, known_answer, read_batch
from itemledger.cli.lab_run import lab_client, run_case
from itemledger.known_answer import Case, Reply


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    client = lab_client()
    yield client
    client.close()


@pytest.mark.parametrize("case", known_answer.CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_right_reader_gives_the_known_answer(client: Any, case: Case) -> None:
    assert case.expected == run_case(client, case).got


def test_the_lab_has_a_case_for_every_way_that_a_read_of_five_keys_can_end() -> None:
    assert {
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
    } == {case.name for case in known_answer.CASES}


def test_the_literals_are_the_published_example() -> None:
    first, second, third = known_answer.CASES[0].replies

    assert (
        "KnownAnswer",
        {"pk": "S"},
        ("A", "B", "C", "D", "Z"),
        ("A", "B", "C", "D"),
    ) == (known_answer.TABLE, known_answer.KEY, known_answer.ASKED, known_answer.REQUIRED)
    assert [
        (["A", "B", "C", "D", "Z"], {"C": "30", "A": "10"}, ["B", "D"]),
        (["B", "D"], {"B": "20"}, ["D"]),
        (["D"], {"D": "40"}, []),
    ] == [_reply(first), _reply(second), _reply(third)]


def test_the_values_come_in_the_order_of_the_caller_and_not_of_the_answers(client: Any) -> None:
    result = _completed(client, ("A", "B", "C", "D", "Z"))

    assert [10, 20, 30, 40, None] == [outcome.item and outcome.item["value"] for outcome in result.outcomes]


def test_requiring_a_to_d_accepts_and_requiring_all_five_rejects(client: Any) -> None:
    result = _completed(client, ("A", "B", "C", "D", "Z"))

    assert "accept" == str(result.decide(required=["A", "B", "C", "D"]))
    assert "reject" == str(result.decide(required=["A", "B", "C", "D", "Z"]))
    assert "reject" == str(result.decide())


def test_other_parameters_than_the_expected_ones_are_a_wrong_answer(client: Any) -> None:
    case = known_answer.CASES[0]
    weaker = {"RequestItems": {"KnownAnswer": {"Keys": [{"pk": {"S": "B"}}, {"pk": {"S": "D"}}]}}}
    altered = replace(case, replies=(case.replies[0], Reply(weaker, case.replies[1].answer), case.replies[2]))

    assert not run_case(client, altered).as_expected


def test_a_scripted_answer_that_nobody_asked_for_is_a_wrong_answer(client: Any) -> None:
    case = known_answer.CASES[0]
    longer = replace(case, replies=(*case.replies, case.replies[2]))

    report = run_case(client, longer)

    assert not report.as_expected
    assert "AssertionError: 1 responses remaining in queue." == report.got["raised"]


def _completed(client: Any, keys: tuple[str, ...]) -> ReadResult:
    with Stubber(client) as stubber:
        for reply in known_answer.CASES[0].replies:
            assert isinstance(reply.answer, dict)
            stubber.add_response("batch_get_item", reply.answer, dict(reply.request))
        result = read_batch(
            client, "KnownAnswer", keys, {"pk": "S"}, consistent_read=True, concurrency=1, sleep=lambda _: None
        )
        stubber.assert_no_pending_responses()
    return result


def _reply(reply: Reply) -> tuple[list[str], dict[str, str], list[str]]:
    """What was asked, what came back, and what was left over."""
    assert isinstance(reply.answer, dict)
    asked = reply.request["RequestItems"]["KnownAnswer"]["Keys"]
    rows = reply.answer["Responses"]["KnownAnswer"]
    left_over = reply.answer["UnprocessedKeys"].get("KnownAnswer", {"Keys": []})["Keys"]
    return (
        [key["pk"]["S"] for key in asked],
        {row["pk"]["S"]: row["value"]["N"] for row in rows},
        [key["pk"]["S"] for key in left_over],
    )
