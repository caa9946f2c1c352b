"""The completion report: every item in it, sums that add up, nothing that can be changed unseen, and back again."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from itemledger.core.outcome import Outcome
from itemledger.core.report import report_lines
from itemledger.core.report_check import report_rows
from itemledger.core.rows import Operation, Review, Row, Snapshot, Source
from itemledger.core.write_api import Effect
from itemledger.errors import ClaimLostError, EvidenceError, LedgerError
from itemledger.ledger import Decided, Ledger, OwnApi, Policy, Replay, Scope, Verdict, verify_report
from itemledger.testing import FakeClock
from tests.core.evidence_files import published, rechained
from tests.ledger.ledgers import (
    BOOKED,
    OP,
    REFUNDS,
    START,
    STORES,
    ends_with,
    longest,
    open_one,
    outcomes,
    planned,
    refunds,
)

SCHEMA = Draft202012Validator(published("report-1.json"))
DAY = Replay(Scope.ITEM, 86_400.0, "the provider's own page")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def ledger(kind: str, tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    with open_one(kind, tmp_path, clock) as ledger:
        yield ledger


@pytest.fixture
def other(kind: str, tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    (tmp_path / "other").mkdir()
    with open_one(kind, tmp_path / "other", clock) as ledger:
        yield ledger


def everything(ledger: Ledger) -> list[bytes]:
    """The report of an operation with a row at every outcome."""
    api = OwnApi("payments.refund", "id", item_bytes=100, looks_up=True)
    policy = Policy(retry_codes=frozenset({"Locked"}), settle_s=1.0)
    items = [*refunds(8), {"id": "r9", "note": "x" * 100}]
    ledger.plan(OP, api, items, policy=policy, store_payloads=True)
    with ledger.claim(OP, max_items=5) as batch:
        batch.dispatch(DAY)
        one, two, three, four, _five = batch.rows
        batch.succeeded(one, object_ref="refund-1", request_id="q-1")
        batch.transient(two, code="Busy", message="the secret of r2")
        batch.rejected(three, code="NoSuchOrder", message="the secret of r3")
        batch.unknown(four, code="ReadTimeout")
    held = ledger.claim(OP, max_items=1).__enter__()
    held.dispatch()
    return list(ledger.export(OP))


def parsed(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def snapshot(rows: list[Row], **counts: int) -> Snapshot:
    operation = Operation(OP, "payments.refund", {"id": "id"}, Policy(), Effect.REPEATABLE, START, START)
    return Snapshot(operation, START, {Outcome(name): number for name, number in counts.items()}, iter(rows))


def row(number: int, outcome: Outcome = Outcome.PENDING, **changes: Any) -> Row:
    made = Row(number, OP, f"r{number}", f"k{number}", f"1:{number}", 10, Source("secret.jsonl"), outcome, START)
    return replace(made, **changes)


# ------------------------------------------------------------------------------------------------- what stands in it


def test_every_item_is_in_it_with_its_outcome(ledger: Ledger) -> None:
    lines = everything(ledger)
    header, *items, trailer = parsed(lines)
    stand = [
        "succeeded",
        "retryable",
        "terminal",
        "reconcile",
        "reconcile",
        "in_flight",
        "pending",
        "pending",
        "terminal",
    ]
    assert stand == [item["outcome"] for item in items]
    assert {"succeeded": 1, "retryable": 1, "terminal": 2, "reconcile": 2, "in_flight": 1, "pending": 2} == header[
        "outcomes"
    ]
    assert (9, OP, "payments.refund", {"id": "id", "looks_up": True}) == tuple(
        header[n] for n in ("planned", "operation", "api", "target")
    )
    assert ledger.operation(OP).policy == Policy.from_json(header["policy"])
    assert (9, 11) == (trailer["items"], trailer["lines"])
    assert list(range(1, 10)) == [item["row"] for item in items]
    first = items[0]
    assert ("r1", "refund-1", "q-1", 1, None) == tuple(
        first[n] for n in ("item_id", "object_ref", "request_id", "attempts", "error_code")
    )
    assert ("NoSuchOrder", "refused") == (items[2]["error_code"], items[2]["review"])


def test_verifying_it_needs_nothing_else_and_says_what_it_says(ledger: Ledger) -> None:
    lines = everything(ledger)
    report = verify_report(lines)
    assert ledger.operation(OP) == report.operation
    assert (START, 9, 3, 0, 11) == (
        report.at,
        report.planned,
        report.not_sent,
        report.possible_duplicates,
        report.lines,
    )
    assert ledger.counts(OP) == report.outcomes
    assert {Review.REFUSED: 2} == report.reviews


def test_fc_65_a_run_that_stopped_early_lists_the_rest_as_not_sent(ledger: Ledger) -> None:
    planned(ledger, 5)
    with ledger.claim(OP, max_items=2) as batch:
        batch.dispatch()
        for each in batch.rows:
            batch.succeeded(each)
    lines = list(ledger.export(OP))
    items = parsed(lines)[1:-1]
    assert ["sent", "sent", "not sent", "not sent", "not sent"] == [item["sent"] for item in items]
    assert ["r3", "r4", "r5"] == [item["item_id"] for item in items if item["outcome"] == "pending"]
    assert 3 == verify_report(lines).not_sent


def test_sent_is_not_forgotten_when_an_attempt_is_given_back_or_a_person_starts_anew(ledger: Ledger) -> None:
    planned(ledger, 1)
    with ledger.claim(OP) as batch:
        batch.dispatch()
        batch.rejected(batch.rows[0], code="No")
    ledger.decide(1, Decided.RETRY, who="ann", why="try again")
    item = parsed(list(ledger.export(OP)))[1]
    assert (0, 1, "sent", "retryable") == (item["attempts"], item["dispatches"], item["sent"], item["outcome"])


def test_no_payload_place_or_message_is_in_it(ledger: Ledger) -> None:
    text = b"".join(everything(ledger)).decode()
    assert "secret" not in text
    assert "EUR" not in text
    assert "secret.jsonl" not in b"".join(report_lines(snapshot([row(1)], pending=1))).decode()


def test_an_operation_without_items_has_a_report(ledger: Ledger) -> None:
    planned(ledger, 0)
    report = verify_report(ledger.export(OP))
    assert (0, 2, dict.fromkeys(Outcome, 0)) == (report.planned, report.lines, report.outcomes)


def test_it_shows_one_moment(ledger: Ledger) -> None:
    """What happens while the lines are taken is not in them."""
    planned(ledger, 3)
    lines = ledger.export(OP)
    taken = list(islice(lines, 2))
    with ledger.claim(OP) as batch:
        batch.dispatch()
    ledger.plan(OP, REFUNDS, [{"id": "later"}])
    taken += list(lines)
    assert ["pending"] * 3 == [item["outcome"] for item in parsed(taken)[1:-1]]
    assert 3 == verify_report(taken).planned


def test_an_unknown_operation_has_none(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="no operation 'refunds'"):
        next(ledger.export(OP))


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([row(1)], {"pending": 2}),
        ([row(1), row(2)], {"pending": 1}),
        ([row(1)], {"pending": 1, "terminal": 1}),
        ([row(1, Outcome.TERMINAL)], {"pending": 1}),
        ([], {"succeeded": 1}),
    ],
)
def test_a_store_that_counts_otherwise_gets_no_whole_report(rows: list[Row], counts: dict[str, int]) -> None:
    taken: list[bytes] = []
    with pytest.raises(LedgerError, match="which is not the same"):
        taken.extend(report_lines(snapshot(rows, **counts)))
    with pytest.raises(EvidenceError, match="ends early"):
        verify_report(taken)


def test_a_report_of_any_size_is_made_and_read_line_by_line() -> None:
    count = 20_000
    made: list[int] = []

    def rows() -> Iterator[Row]:
        for number in range(1, count + 1):
            made.append(number)
            yield row(number)

    lines = report_lines(replace(snapshot([], pending=count), rows=rows()))
    next(lines)
    next(lines)
    assert [1] == made, "no row is taken before its line is asked for"
    whole = report_lines(replace(snapshot([], pending=count), rows=rows()))
    assert list(range(1, count + 1)) == [each.number for each in report_rows(whole)]


# ---------------------------------------------------------------------------------------- what cannot be changed unseen


def test_every_byte_counts(ledger: Ledger) -> None:
    whole = b"".join(everything(ledger))
    chance = random.Random(0)
    verify_report(whole.splitlines(keepends=True))
    for at in chance.sample(range(len(whole)), 1500) + list(range(len(whole) - 300, len(whole))):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << chance.randrange(8)
        with pytest.raises(EvidenceError):
            verify_report(bytes(flipped).splitlines(keepends=True))


def test_no_line_can_be_left_out_moved_or_doubled(ledger: Ledger) -> None:
    lines = everything(ledger)
    for at in range(len(lines)):
        for forged in (
            lines[:at] + lines[at + 1 :],
            lines[:at],
            lines[: at + 1] + lines[at:],
            lines[:at] + lines[at : at + 2][::-1] + lines[at + 2 :],
            [*lines[:at], lines[at][:-1]],
        ):
            if forged != lines:
                with pytest.raises(EvidenceError):
                    verify_report(forged)


def test_the_line_at_fault_is_named(ledger: Ledger) -> None:
    lines = everything(ledger)
    lines[3] = lines[3].replace(b"terminal", b"succeeded")
    with pytest.raises(EvidenceError, match=r"^line 5: does not carry the hash of the line before it") as error:
        verify_report(lines)
    assert 5 == error.value.line


FORGERIES: list[tuple[str, int, dict[str, Any]]] = [
    ("not those that the header counts", 1, {"outcome": "retryable"}),
    ("not the sum of its outcomes", 0, {"planned": 10}),
    ("not those that the header counts", 0, {"planned": 10, "outcomes": {"pending": 3}}),
    ("sent is not what its dispatches say", 1, {"sent": "not sent"}),
    ("sent is not what its dispatches say", 7, {"sent": "sent"}),
    ("pending of an item that was sent", 7, {"sent": "sent", "dispatches": 1}),
    ("in_flight of an item that was not sent", 6, {"sent": "not sent", "dispatches": 0}),
    ("row is not above", 2, {"row": 1}),
    ("row is less than 1", 1, {"row": 0}),
    ("is not a valid Outcome", 1, {"outcome": "failed"}),
    ("is not a valid Review", 1, {"review": "later"}),
    ("attempts is of type bool", 1, {"attempts": True}),
    ("attempts is less than 0", 1, {"attempts": -1}),
    ("every reader takes exactly", 1, {"size_bytes": 2**53}),
    ("item_id is of type int", 1, {"item_id": 1}),
    ("due_at is of type str", 1, {"due_at": "soon"}),
    ("exactly the members", 1, {"message": "more"}),
    ("exactly the members", 0, {"more": 1}),
    ("a kind that cannot stand here", 1, {"kind": "header"}),
    ("a kind that cannot stand here", 1, {"kind": ["item"]}),
    ("policy is not complete", 0, {"policy": {}}),
    ("a policy has no member", 0, {"policy": {"on_error": "retry"}}),
    ("max_attempts", 0, {"policy": {**Policy().to_json(), "max_attempts": 0}}),
    ("outcomes has a member that is no outcome", 0, {"outcomes": {"failed": 0}}),
    ("no completion report", 0, {"schema": "itemledger/evidence/1"}),
    ("the number of items or lines", -1, {"items": 8}),
]


@pytest.mark.parametrize(("told", "at", "changes"), FORGERIES)
def test_a_careful_forger_is_found_where_the_report_contradicts_itself(
    ledger: Ledger, told: str, at: int, changes: dict[str, Any]
) -> None:
    lines = parsed(everything(ledger))
    if isinstance(changes.get("outcomes"), dict):
        changes = {**changes, "outcomes": {**lines[at]["outcomes"], **changes["outcomes"]}}
    lines[at] |= changes
    with pytest.raises(EvidenceError, match=told):
        verify_report(_rechained(lines))


def _rechained(lines: list[dict[str, Any]]) -> list[bytes]:
    if lines[-1]["items"] != len(lines) - 2:  # this forger changes the trailer itself
        return [*rechained(lines[:-1]), rechained(lines)[-1]]
    return rechained(lines)


def test_nothing_follows_the_trailer(ledger: Ledger) -> None:
    lines = parsed(everything(ledger))
    with pytest.raises(EvidenceError, match="line 12: comes after the trailer"):
        verify_report(rechained([*lines, {**lines[-2], "row": 10}]))


def test_a_line_that_is_cut_says_how_much_is_whole(ledger: Ledger) -> None:
    lines = everything(ledger)
    with pytest.raises(EvidenceError, match="the report is cut here, after 4 intact lines"):
        verify_report([*lines[:4], lines[4][:-1]])


def test_an_empty_file_is_no_report() -> None:
    with pytest.raises(EvidenceError, match="the report is empty"):
        verify_report([])


# -------------------------------------------------------------------------------------------------------- its schema


def test_the_published_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(published("report-1.json"))


def test_every_line_is_valid_under_the_published_schema(ledger: Ledger) -> None:
    for line in parsed(everything(ledger)) + parsed(list(report_lines(snapshot([])))):
        assert [] == [fault.message for fault in SCHEMA.iter_errors(line)]


def test_a_member_more_or_less_is_refused_wherever_it_is(ledger: Ledger) -> None:
    for line in parsed(everything(ledger)):
        for path in ((), ("policy",), ("outcomes",)) if line["kind"] == "header" else ((),):
            changed = copy.deepcopy(line)
            inner = changed[path[0]] if path else changed
            inner["unknown"] = 1
            assert not SCHEMA.is_valid(changed)
            del inner["unknown"]
            for name in list(inner):
                value = inner.pop(name)
                assert not SCHEMA.is_valid(changed), name
                inner[name] = value


# ---------------------------------------------------------------------------------------------------- and back again


def test_rows_at_rest_come_back_as_they_were(ledger: Ledger, other: Ledger, clock: FakeClock) -> None:
    lines = everything(ledger)
    clock.advance(100.0)
    assert 9 == other.restore(lines)
    again = parsed(list(other.export(OP)))
    left = {"row", "prev", "replay_until", "outcome", "lost_attempts", "due_at", "review"}
    for before, after in zip(parsed(lines)[1:-1], again[1:-1], strict=True):
        assert {n: v for n, v in before.items() if n not in left} == {n: v for n, v in after.items() if n not in left}
        if before["outcome"] in ("succeeded", "terminal", "pending"):
            assert [before[n] for n in ("outcome", "lost_attempts", "due_at", "review")] == [
                after[n] for n in ("outcome", "lost_attempts", "due_at", "review")
            ]
    assert ledger.operation(OP).policy == other.operation(OP).policy


def test_what_was_in_flight_may_be_done(ledger: Ledger, other: Ledger) -> None:
    other.restore(everything(ledger))
    restored = other.find(OP, "r6")
    assert restored is not None
    assert ("reconcile", 1, START) == (restored.outcome, restored.lost_attempts, restored.due_at)
    assert {Verdict.SAME: 1} == other.reconcile(OP, lambda each: Verdict.SAME)


def test_a_window_stays_behind(ledger: Ledger, other: Ledger, clock: FakeClock) -> None:
    other.restore(everything(ledger))
    assert [False, True] == [each.replay_until is None for each in (ledger.row(4), other.row(4))]
    clock.advance(10.0)
    assert {Verdict.UNREADABLE: 3} == other.reconcile(OP, lambda each: Verdict.UNREADABLE, jitter=longest)


def test_a_send_that_only_a_window_allowed_is_looked_up_first(ledger: Ledger, other: Ledger) -> None:
    planned(ledger, 1, BOOKED)
    with ledger.claim(OP) as batch:
        batch.dispatch(DAY)
    ledger.reconcile(OP, lambda each: Verdict.UNREADABLE)
    assert ["retryable"] == outcomes(ledger)
    other.restore(ledger.export(OP))
    assert ["reconcile"] == outcomes(other)
    with other.claim(OP) as batch:
        assert () == batch.rows


def test_a_send_whose_late_answer_says_that_it_is_done_is_looked_up_first(
    ledger: Ledger, other: Ledger, clock: FakeClock
) -> None:
    planned(ledger, 1, BOOKED, lease_s=60.0)
    with ends_with(ClaimLostError), ledger.claim(OP) as slow:
        slow.dispatch()
        clock.advance(61.0)
        ledger.reconcile(OP, lambda each: Verdict.ABSENT_CONCLUSIVE)
        slow.succeeded(slow.rows[0])
    assert ["retryable"] == outcomes(ledger)
    lines = list(ledger.export(OP))
    assert True is parsed(lines)[1]["late_success"]
    other.restore(lines)
    with other.claim(OP) as batch:
        assert () == batch.rows
    assert ["reconcile"] == outcomes(other)


def test_the_same_items_planned_again_are_recognised_and_have_their_payloads_again(
    ledger: Ledger, other: Ledger
) -> None:
    planned(ledger, 2)
    other.restore(ledger.export(OP))
    result = other.plan(OP, REFUNDS, refunds(2), store_payloads=True)
    assert (0, 2, []) == (result.new, result.repeated, result.conflicts)
    with other.claim(OP) as batch:
        assert refunds(2) == [batch.payload(each) for each in batch.rows]


def test_nothing_is_written_of_a_report_that_is_not_whole(ledger: Ledger, other: Ledger) -> None:
    planned(ledger, 2500)
    lines = list(ledger.export(OP))
    with pytest.raises(EvidenceError, match="ends early"):
        other.restore(lines[:-1])
    assert [] == other.operations()
    assert 2500 == other.restore(lines)
    assert 2500 == sum(other.counts(OP).values())


def test_a_report_is_not_put_into_a_ledger_that_has_it(ledger: Ledger) -> None:
    planned(ledger, 2)
    with pytest.raises(LedgerError, match="operation 'refunds' is in this ledger already; import into a new one"):
        ledger.restore(ledger.export(OP))
    assert 2 == sum(ledger.counts(OP).values())


def test_a_key_that_the_ledger_has_stops_the_import_and_nothing_of_it_is_sent(ledger: Ledger, other: Ledger) -> None:
    planned(ledger, 2)
    mine = ledger.row(2)

    class Same(OwnApi):
        def entry(self, value: object, position: int) -> Any:
            return replace(super().entry(value, position), idempotency_key=mine.idempotency_key)

    other.plan("others", Same("payments.refund", "id"), [{"id": "x"}])
    with pytest.raises(LedgerError, match="in this ledger already; import into a new one"):
        other.restore(ledger.export(OP))
    if OP in [each.operation_id for each in other.operations()]:
        with pytest.raises(LedgerError, match="interrupted"):
            other.claim(OP)


def test_an_operation_not_planned_to_its_end_stays_so(ledger: Ledger, other: Ledger) -> None:
    ledger.store.open_operation(Operation(OP, REFUNDS.name, REFUNDS.target, Policy()))
    other.restore(ledger.export(OP))
    assert None is other.operation(OP).planned_at
