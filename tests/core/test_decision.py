"""Acceptance apart from completeness: the truth table of R10, written by hand and walked through exhaustively."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from itemledger import IncompleteReadError
from itemledger.core.answer import FailureCause, TerminalError
from itemledger.core.decision import ALL, MAX_OBSERVATIONS, NONE, Decision
from itemledger.core.passes import Totals
from itemledger.core.result import Disposition, ReadResult, StopReason
from itemledger.core.terms import Bounds, Earlier, Observation
from itemledger.errors import ManifestError
from tests.core.support import settings

RETURNED, ABSENT = Disposition.RETURNED, Disposition.PROCESSED_NOT_RETURNED
UNRESOLVED = Disposition.UNRESOLVED

#: Everything that can leave keys unresolved, and what R10 says of it while observations are left.
OPEN_ENDS: list[tuple[StopReason, FailureCause | None, str]] = [
    (StopReason.PASSES_EXHAUSTED, None, "retry"),
    (StopReason.DEADLINE, None, "retry"),
    (StopReason.REQUEST_FAILED, FailureCause.THROTTLED, "retry"),
    (StopReason.REQUEST_FAILED, FailureCause.TRANSIENT, "retry"),
    (StopReason.REQUEST_FAILED, FailureCause.DAMAGED, "retry"),
    (StopReason.REQUEST_FAILED, FailureCause.CREDENTIALS, "hold"),
    (StopReason.REQUEST_FAILED, FailureCause.REFUSED, "hold"),
    (StopReason.REQUEST_FAILED, FailureCause.UNKNOWN, "hold"),
    (StopReason.INTERRUPTED, None, "hold"),
]


def result(
    dispositions: list[Disposition],
    stop: StopReason = StopReason.COMPLETE,
    cause: FailureCause | None = None,
    *,
    number: int = 1,
    earlier: Earlier | None = None,
) -> ReadResult:
    """A result over keys A, B, C … that stand so."""
    keys = tuple("ABCDEFG"[: len(dispositions)])
    return ReadResult(
        observation=Observation("o", number),
        settings=settings(key={"pk": "S"}),
        bounds=Bounds(),
        requested_order=keys,
        dispositions=tuple(dispositions),
        items_by_key={key: {"pk": key} for key, d in zip(keys, dispositions, strict=True) if d is RETURNED},
        ledger=(),
        totals=Totals(),
        stop_reason=stop,
        terminal_error=None if cause is None else TerminalError("Code", "", None, cause.passing),
        earlier=earlier or Earlier(),
    )


def spelled(value: object) -> str:
    """For the name of a test: a function by its own, for its address is another in each process."""
    return getattr(value, "__name__", str(value))


def yes(_: ReadResult) -> bool:
    return True


def no(_: ReadResult) -> bool:
    return False


POLICIES: list[Any] = [ALL, NONE, ["A"], [], yes, no]


@pytest.mark.parametrize(("stop", "cause", "expected"), OPEN_ENDS)
@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("policy", POLICIES, ids=["all", "none", "A", "empty", "yes", "no"])
def test_while_a_key_is_unresolved_the_cause_and_the_chain_decide_and_no_policy(
    stop: StopReason, cause: FailureCause | None, expected: str, number: int, policy: Any
) -> None:
    if number >= 5:
        expected = "hold"  # the cap of five observations
    for standing in ([UNRESOLVED], [RETURNED, UNRESOLVED], [RETURNED, ABSENT, UNRESOLVED]):
        assert expected == str(result(standing, stop, cause, number=number).decide(policy))


def test_the_table_of_open_ends_has_every_cause_and_every_reason() -> None:
    assert set(FailureCause) == {cause for _, cause, _ in OPEN_ENDS if cause}
    assert set(StopReason) - {StopReason.COMPLETE, StopReason.INVARIANT_BROKEN} == {stop for stop, _, _ in OPEN_ENDS}
    assert 5 == MAX_OBSERVATIONS


@pytest.mark.parametrize(
    ("standing", "policy", "expected"),
    [
        ([RETURNED, RETURNED], ALL, "accept"),
        ([RETURNED, ABSENT], ALL, "reject"),
        ([ABSENT], ALL, "reject"),
        ([], ALL, "accept"),
        ([RETURNED, ABSENT], NONE, "accept"),
        ([ABSENT], NONE, "accept"),
        ([], NONE, "accept"),
        ([RETURNED, ABSENT], ["A"], "accept"),
        ([RETURNED, ABSENT], ["B"], "reject"),
        ([RETURNED, ABSENT], ["A", "B"], "reject"),
        ([RETURNED, ABSENT], [{"pk": {"S": "A"}}], "accept"),
        ([ABSENT], [], "accept"),
        ([ABSENT], yes, "accept"),
        ([RETURNED], no, "reject"),
    ],
    ids=spelled,
)
@pytest.mark.parametrize("number", [1, 5, 9])
def test_a_complete_read_is_accepted_or_rejected_by_its_policy_whatever_its_place_in_the_chain(
    standing: list[Disposition], policy: Any, expected: str, number: int
) -> None:
    assert expected == str(result(standing, number=number).decide(policy))


@pytest.mark.parametrize("policy", POLICIES, ids=["all", "none", "A", "empty", "yes", "no"])
@pytest.mark.parametrize("standing", [[RETURNED], [ABSENT], [UNRESOLVED], [RETURNED, UNRESOLVED]], ids=str)
def test_impossible_evidence_is_repair_under_every_policy_even_when_every_key_was_settled(
    standing: list[Disposition], policy: Any
) -> None:
    for number in (1, 5):
        assert "repair" == str(result(standing, StopReason.INVARIANT_BROKEN, number=number).decide(policy))


@pytest.mark.parametrize(
    ("earlier", "policy", "expected"),
    [
        (Earlier(frozenset("X"), frozenset()), ALL, "accept"),
        (Earlier(frozenset(), frozenset("X")), ALL, "reject"),
        (Earlier(frozenset(), frozenset("X")), NONE, "accept"),
        (Earlier(frozenset("X"), frozenset("Y")), ["A", "X"], "accept"),
        (Earlier(frozenset("X"), frozenset("Y")), ["A", "Y"], "reject"),
    ],
)
def test_a_resumed_read_is_weighed_with_what_the_chain_settled_before(
    earlier: Earlier, policy: Any, expected: str
) -> None:
    assert expected == str(result([RETURNED], number=2, earlier=earlier).decide(policy))


def test_a_required_key_that_was_never_asked_for_is_a_mistake_and_no_rejection() -> None:
    for standing, stop in (([RETURNED], StopReason.COMPLETE), ([UNRESOLVED], StopReason.DEADLINE)):
        with pytest.raises(ManifestError, match="position 1 is not in the manifest") as caught:
            result(standing, stop).decide(["A", "secret"])
        assert (1,) == caught.value.positions
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("policy", ["A", b"A"], ids=["str", "bytes"])
def test_a_single_key_is_no_collection_of_its_letters(policy: Any) -> None:
    with pytest.raises(ManifestError, match="a collection of keys"):
        result([RETURNED]).decide(policy)


def test_a_required_key_of_another_type_is_refused() -> None:
    with pytest.raises(ManifestError):
        result([RETURNED]).decide([1])


def test_a_function_is_only_asked_about_a_complete_read() -> None:
    asked: list[ReadResult] = []

    def policy(told: ReadResult) -> bool:
        asked.append(told)
        return True

    result([UNRESOLVED], StopReason.DEADLINE).decide(policy)
    assert [] == asked
    whole = result([RETURNED])
    whole.decide(policy)
    assert [whole] == asked


def test_what_a_function_says_counts_as_true_or_false() -> None:
    odd: list[tuple[Callable[[ReadResult], Any], str]] = [
        (lambda r: r.items_by_key, "accept"),
        (lambda r: None, "reject"),
    ]
    for policy, expected in odd:
        assert expected == str(result([RETURNED]).decide(policy))


def test_each_decision_has_an_owner_and_a_next_action() -> None:
    owners = {d: d.owner for d in Decision}
    assert {
        Decision.ACCEPT: "caller",
        Decision.REJECT: "application",
        Decision.RETRY: "caller",
        Decision.HOLD: "operator",
        Decision.REPAIR: "engineer",
    } == owners
    assert 5 == len({d.next_action for d in Decision})


@pytest.mark.parametrize(
    ("standing", "stop", "policy"),
    [
        case
        for case in product(
            [[RETURNED, ABSENT], [RETURNED, UNRESOLVED]],
            [StopReason.COMPLETE, StopReason.INVARIANT_BROKEN, StopReason.DEADLINE, StopReason.INTERRUPTED],
            [ALL, ["B"], no],
        )
        if (case[1] is StopReason.COMPLETE) == (UNRESOLVED not in case[0]) or case[1] is StopReason.INVARIANT_BROKEN
    ],
    ids=spelled,
)
def test_a_list_is_only_given_out_where_the_read_is_accepted(
    standing: list[Disposition], stop: StopReason, policy: Any
) -> None:
    read = result(standing, stop)
    with pytest.raises(IncompleteReadError) as caught:
        read.items(policy)
    assert read is caught.value.result
    assert read.decide(policy) is caught.value.decision
    assert [{"pk": "A"}] == result([RETURNED, ABSENT]).items(NONE)
