"""A completion report read strictly: every byte, every item counted again, no ledger needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from itemledger.core.checked_json import count, member
from itemledger.core.lines import MAX_INTEGER, Line, read_line
from itemledger.core.outcome import Outcome
from itemledger.core.policy import Policy
from itemledger.core.report import NOT_SENT, SCHEMA, SENT, Chain, header_line, item_line
from itemledger.core.rows import FormerPolicy, Operation, Review, Row, Snapshot, Source
from itemledger.core.write_api import Effect
from itemledger.errors import EvidenceError


@dataclass(frozen=True, slots=True)
class Report:
    """What a whole and true completion report says; ``at`` is its moment by the ledger's clock.

    ``not_sent`` counts items that never went out. ``sha256`` is the hash of the whole file.
    """

    operation: Operation
    at: float
    planned: int
    outcomes: Mapping[Outcome, int]
    not_sent: int
    reviews: Mapping[Review, int]
    possible_duplicates: int
    lines: int
    sha256: str


def verify_report(lines: Iterable[bytes]) -> Report:
    """Checks every byte and counts every item again; EvidenceError with a sentence at the first falsehood.

    ``lines`` are raw lines with their newlines, as a file opened in binary mode gives them.
    """
    reader = _Reader()
    for _ in reader.rows(lines):
        pass
    return reader.report()


def report_rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """The rows of a report, free and without what it leaves out; EvidenceError, at its end at the latest, for one that
    is not whole and true."""
    reader = _Reader()
    yield from reader.rows(lines)
    reader.report()


@dataclass(slots=True)
class _Sums:
    found: Counter[Outcome] = field(default_factory=Counter)
    reviews: Counter[Review] = field(default_factory=Counter)
    not_sent: int = 0
    possible_duplicates: int = 0
    last_row: int = 0


class _Reader:
    """The lines in their order, the chain, and the sums behind them."""

    def __init__(self) -> None:
        self._chain = Chain()
        self._header: tuple[Operation, float, int, dict[Outcome, int]] | None = None
        self._sums = _Sums()
        self._ended = False

    def rows(self, lines: Iterable[bytes]) -> Iterator[Row]:
        for number, raw in enumerate(lines, start=1):
            try:
                row = self._take(raw)
            except EvidenceError as error:
                raise EvidenceError(f"line {number}: {error}", line=number) from None
            if row is not None:
                yield row

    def _take(self, raw: bytes) -> Row | None:
        if self._ended:
            raise EvidenceError("comes after the trailer, which is the last line of a report")
        if not raw.endswith(b"\n"):
            intact = self._chain.lines
            raise EvidenceError(f"does not end with a newline: the report is cut here, after {intact} intact lines")
        line = read_line(raw)
        if self._header is None and (line.get("kind"), line.get("schema")) != ("header", SCHEMA):
            raise EvidenceError(f"this is no completion report of schema {SCHEMA}, or its first line is gone")
        if line.get("prev") != self._chain.previous:
            raise EvidenceError(
                "does not carry the hash of the line before it, so that line or this one was changed, moved or removed"
            )
        kind = line["kind"] if isinstance(line.get("kind"), str) else ""
        if (kind == "header") != (self._header is None) or kind not in _MEMBERS:
            raise EvidenceError("is of a kind that cannot stand here")
        if line.keys() != _MEMBERS[kind]:
            raise EvidenceError(f"has not exactly the members of a line of kind {kind}")
        try:
            row = self._interpret(kind, line)
        except (ValueError, TypeError, KeyError) as error:
            raise EvidenceError(f"says what cannot be: {error}") from None
        self._chain.add(raw)
        return row

    def report(self) -> Report:
        if self._header is None:
            raise EvidenceError("the report is empty; give the file that the export wrote")
        if not self._ended:
            raise EvidenceError(
                f"the report ends early: its {self._chain.lines} lines are intact, but more are missing"
            )
        operation, at, planned, outcomes = self._header
        sums = self._sums
        return Report(
            operation,
            at,
            planned,
            outcomes,
            sums.not_sent,
            dict(sums.reviews),
            sums.possible_duplicates,
            self._chain.lines,
            self._chain.sha256,
        )

    def _interpret(self, kind: str, line: Line) -> Row | None:
        if self._header is None:
            self._header = _read_header(line)
        elif kind == "item":
            row = _read_item(line, self._header[0].operation_id)
            self._add(row)
            return row
        else:
            self._close(line, self._header[3])
        return None

    def _add(self, row: Row) -> None:
        sums = self._sums
        if row.number <= sums.last_row:
            raise ValueError("row is not above that of the line before")
        sums.last_row = row.number
        sums.found[row.outcome] += 1
        sums.not_sent += row.dispatches == 0
        sums.possible_duplicates += row.possible_duplicates
        if row.review is not None:
            sums.reviews[row.review] += 1

    def _close(self, line: Line, outcomes: Mapping[Outcome, int]) -> None:
        found = self._sums.found
        told = _count(line, "items"), _count(line, "lines"), line["sha256"]
        if told != (found.total(), self._chain.lines + 1, self._chain.sha256):
            raise ValueError("the number of items or lines, or the hash of them, is not that of the lines before")
        if outcomes != {outcome: found[outcome] for outcome in Outcome}:
            raise ValueError("the items are not those that the header counts by outcome")
        self._ended = True


_MEMBERS = {
    "header": {"prev", *header_line(Snapshot(Operation("", "", {}, Policy()), 0.0, {}, iter(())))},
    "item": {"prev", *item_line(Row(1, "", "", "", "", 0, Source(), Outcome.PENDING, 0.0))},
    "trailer": {"kind", "prev", "items", "lines", "sha256"},
}


def _read_header(line: Line) -> tuple[Operation, float, int, dict[Outcome, int]]:
    operation = Operation(
        member(line, "operation", str),
        member(line, "api", str),
        member(line, "target", dict),
        _read_policy(line),
        Effect(member(line, "effect", str)),
        _seconds(line, "created_at"),
        _seconds_or_none(line, "planned_at"),
        _text_or_none(line, "endpoint"),
        tuple(_read_former(each) for each in member(line, "former_policies", list)),
    )
    told = member(line, "outcomes", dict)
    outcomes = {outcome: _count(told, outcome.value) for outcome in Outcome}
    if len(told) != len(outcomes):
        raise ValueError("outcomes has a member that is no outcome")
    if sum(outcomes.values()) != _count(line, "planned"):
        raise ValueError("planned is not the sum of its outcomes")
    return operation, _seconds(line, "at"), line["planned"], outcomes


def _read_policy(told: Mapping[str, Any]) -> Policy:
    policy = Policy.from_json(member(told, "policy", dict))
    if policy.to_json() != told["policy"]:
        raise ValueError("policy is not complete")
    return policy


def _read_former(told: Any) -> FormerPolicy:
    if not isinstance(told, Mapping) or told.keys() != {"until", "policy"}:
        raise ValueError("former_policies has a member that is none")
    return FormerPolicy(_read_policy(told), _seconds(told, "until"))


def _read_item(line: Line, operation_id: str) -> Row:
    """The row, free and without its payload's place. Of a late success it says only that there was one (epoch 0)."""
    review = member(line, "review", str, type(None))
    row = Row(
        _count(line, "row", 1),
        operation_id,
        member(line, "item_id", str),
        member(line, "idempotency_key", str),
        member(line, "payload_hash", str),
        _count(line, "size_bytes"),
        Source(),
        Outcome(member(line, "outcome", str)),
        _seconds(line, "updated_at"),
        _text_or_none(line, "group_id"),
        attempts=_count(line, "attempts"),
        lost_attempts=_count(line, "lost_attempts"),
        due_at=_seconds_or_none(line, "due_at"),
        replay_until=_seconds_or_none(line, "replay_until"),
        late_epoch=0 if member(line, "late_success", bool) else None,
        possible_duplicates=_count(line, "possible_duplicates"),
        request_id=_text_or_none(line, "request_id"),
        object_ref=_text_or_none(line, "object_ref"),
        error_code=_text_or_none(line, "error_code"),
        review=None if review is None else Review(review),
        dispatches=_count(line, "dispatches"),
    )
    if member(line, "sent", str) != (NOT_SENT if row.dispatches == 0 else SENT):
        raise ValueError("sent is not what its dispatches say")
    if row.dispatches == 0 and row.outcome in (Outcome.IN_FLIGHT, Outcome.RECONCILE):
        raise ValueError(f"outcome is {row.outcome} of an item that was not sent")
    if row.dispatches and row.outcome is Outcome.PENDING:
        raise ValueError("outcome is pending of an item that was sent")
    return row


def _count(line: Mapping[str, Any], name: str, least: int = 0) -> int:
    number = count(line, name, least)
    if number > MAX_INTEGER:
        raise ValueError(f"{name} is no number that every reader takes exactly")
    return number


def _seconds(line: Mapping[str, Any], name: str) -> float:
    value: float = member(line, name, int, float)
    return value


def _seconds_or_none(line: Mapping[str, Any], name: str) -> float | None:
    return None if line[name] is None else _seconds(line, name)


def _text_or_none(line: Mapping[str, Any], name: str) -> str | None:
    value: str | None = member(line, name, str, type(None))
    return value
