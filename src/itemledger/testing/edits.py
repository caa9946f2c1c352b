"""Faults that change a real answer: leftovers on a real engine, damaged bytes, rows and members that should not be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from itemledger.testing.faults import Fault
from itemledger.testing.script import ScriptError
from itemledger.testing.wire import Attempt, Forward, Json, Plan, WireAnswer, crc32, encode

_LEFTOVERS = {"batch_get_item": "UnprocessedKeys", "batch_write_item": "UnprocessedItems"}


@dataclass(frozen=True, slots=True)
class LeaveUnprocessed(Fault):
    """Part of a batch is carried out for real, the rest comes back as ``UnprocessedKeys`` or ``UnprocessedItems``.

    Exactly one of these says which: ``keep`` carries out the first n and leaves the others; ``every_nth`` leaves every
    n-th; ``when(table, entry)`` leaves an entry (a key, or a write request, in wire form) for which it is true.
    Leftovers that the engine makes by itself are added. ``echo_settings=False`` leaves projection, names and
    consistency out of the leftover map of a read, as several engines do. With nothing to carry out, nothing is sent.
    """

    keep: int | None = None
    every_nth: int | None = None
    when: Callable[[str, Mapping[str, Any]], bool] | None = None
    echo_settings: bool = True

    def __post_init__(self) -> None:
        if sum(rule is not None for rule in (self.keep, self.every_nth, self.when)) != 1:
            raise TypeError("LeaveUnprocessed needs exactly one of keep, every_nth and when")
        if (self.keep is not None and self.keep < 0) or (self.every_nth is not None and self.every_nth < 1):
            raise ValueError("keep is zero or more, every_nth one or more")

    def play(self, attempt: Attempt) -> Plan:
        member = _LEFTOVERS.get(attempt.operation)
        if member is None:
            raise ScriptError(f"LeaveUnprocessed has no meaning for {attempt.operation}; it knows {sorted(_LEFTOVERS)}")
        request = attempt.request
        kept, left = self._split(request["RequestItems"])
        if kept:
            answer = yield Forward(encode({**request, "RequestItems": kept}))
            assert answer is not None
            if answer.status != 200:
                raise ScriptError(f"the engine refused the reduced request with {answer.status}: {answer.body[:200]!r}")
        else:
            empty: Json = {"Responses": {}} if member == "UnprocessedKeys" else {}
            answer = WireAnswer.of(empty, request_id=attempt.request_id)
        body = answer.json()
        leftovers: Json = dict(body.get(member) or {})
        for table, entries in left.items():
            leftovers[table] = _joined(leftovers.get(table), entries)
        return answer.with_json({**body, member: leftovers})

    def _split(self, asked: Json) -> tuple[Json, Json]:
        kept: Json = {}
        left: Json = {}
        position = 0
        for table, entries in asked.items():
            listed = entries["Keys"] if isinstance(entries, dict) else entries
            stays: list[bool] = []
            for entry in listed:
                stays.append(self._stays(position, table, entry))
                position += 1
            for part, settings, wanted in ((kept, True, False), (left, self.echo_settings, True)):
                chosen = [entry for entry, stay in zip(listed, stays, strict=True) if stay is wanted]
                if chosen and isinstance(entries, dict):
                    part[table] = {**(entries if settings else {}), "Keys": chosen}
                elif chosen:
                    part[table] = chosen
        return kept, left

    def _stays(self, position: int, table: str, entry: Json) -> bool:
        if self.keep is not None:
            return position >= self.keep
        if self.every_nth is not None:
            return (position + 1) % self.every_nth == 0
        assert self.when is not None
        return bool(self.when(table, entry))


class _Edit(Fault):
    """Sends for real and changes what comes back."""

    __slots__ = ()

    def play(self, attempt: Attempt) -> Plan:
        answer = yield Forward()
        assert answer is not None
        return self._edited(answer)

    @abstractmethod
    def _edited(self, answer: WireAnswer) -> WireAnswer: ...


@dataclass(frozen=True, slots=True)
class CutBody(_Edit):
    """The answer's body ends early: after ``at`` bytes, or after that fraction of it when ``at`` is a float.

    ``keep_crc`` leaves the full body's checksum in place, otherwise there is none.
    """

    at: int | float
    keep_crc: bool = True

    def _edited(self, answer: WireAnswer) -> WireAnswer:
        size = len(answer.body)
        end = int(size * self.at) if isinstance(self.at, float) else self.at
        if not 0 <= end < size:
            raise ScriptError(f"CutBody(at={self.at}) cuts nothing off a body of {size} bytes")
        cut = answer.with_crc(None).with_body(answer.body[:end])
        return cut if self.keep_crc else cut.without_crc()


@dataclass(frozen=True, slots=True)
class WrongCrc(_Edit):
    """The whole body, under a checksum that is not its own."""

    def _edited(self, answer: WireAnswer) -> WireAnswer:
        return answer.with_crc(str(int(crc32(answer.body)) ^ 1))


class _JsonEdit(_Edit):
    """Changes members of a successful answer; its checksum is made anew, so the body is intact."""

    __slots__ = ()

    def _edited(self, answer: WireAnswer) -> WireAnswer:
        if answer.status != 200:
            raise ScriptError(f"{self.name} edits a 200 answer, but this one is {answer.status}: {answer.body[:200]!r}")
        return answer.with_json(self._changed(answer.json()))

    @abstractmethod
    def _changed(self, body: Json) -> Mapping[str, Any]: ...

    def _table(self, body: Json, table: str | None) -> str:
        tables = body.get("Responses") or {}
        if table is None and len(tables) != 1:
            raise ScriptError(f"{self.name} needs table=, the answer has the tables {sorted(tables)}")
        return next(iter(tables)) if table is None else table

    def _row(self, body: Json, table: str, position: int) -> Json:
        rows: list[Json] = body.get("Responses", {}).get(table, [])
        if not 0 <= position < len(rows):
            raise ScriptError(f"{self.name} wants row {position} of {table}, but the answer has {len(rows)} rows")
        return rows[position]


@dataclass(frozen=True, slots=True)
class DropRow(_JsonEdit):
    """Row ``position`` (from 0) is missing from the answer, and not left over either."""

    position: int = 0
    table: str | None = None

    def _changed(self, body: Json) -> Json:
        table = self._table(body, self.table)
        self._row(body, table, self.position)
        del body["Responses"][table][self.position]
        return body


@dataclass(frozen=True, slots=True)
class DuplicateRow(_JsonEdit):
    """Row ``position`` comes twice; ``change`` sets attributes of the second copy, for a repeat that conflicts."""

    position: int = 0
    table: str | None = None
    change: Mapping[str, Any] | None = None

    def _changed(self, body: Json) -> Json:
        table = self._table(body, self.table)
        row = self._row(body, table, self.position)
        body["Responses"][table].append({**row, **(self.change or {})})
        return body


@dataclass(frozen=True, slots=True)
class ForeignRow(_JsonEdit):
    """A row nobody asked for, in typed form; ``table`` may be one nobody asked for either."""

    row: Mapping[str, Any]
    table: str | None = None

    def _changed(self, body: Json) -> Json:
        table = self._table(body, self.table)
        body.setdefault("Responses", {}).setdefault(table, []).append(self.row)
        return body


@dataclass(frozen=True, slots=True)
class DropMember(_JsonEdit):
    """A top-level member is absent from an intact answer, such as ``UnprocessedKeys``."""

    member: str

    def _changed(self, body: Json) -> Json:
        if self.member not in body:
            raise ScriptError(f"the answer has no {self.member} to drop, only {sorted(body)}")
        del body[self.member]
        return body


@dataclass(frozen=True, slots=True)
class Edit(_JsonEdit):
    """Any other change: ``change`` gets the parsed answer and returns the one to send."""

    change: Callable[[Json], Mapping[str, Any]]

    def _changed(self, body: Json) -> Mapping[str, Any]:
        return self.change(body)


def _joined(engine: Any, ours: Any) -> Any:  # Any: a map of keys for reads, a list for writes
    if engine is None:
        return ours
    if isinstance(ours, dict):
        return {**engine, **ours, "Keys": [*engine["Keys"], *ours["Keys"]]}
    return [*engine, *ours]
