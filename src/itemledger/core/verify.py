"""Whether an evidence file is whole, unaltered and true to itself; offline, from its lines alone.

A hash chain shows accidents and edits of a part. Somebody who rewrites the whole file can rewrite the chain: the hash
that a run prints at its end is to be kept elsewhere, and ``Verified.sha256`` is to be compared with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from itemledger.core.answer import EvidenceLabel
from itemledger.core.conclusions import check_summary
from itemledger.core.decision import Decision
from itemledger.core.evidence import SCHEMA
from itemledger.core.lines import Line, check_members, read_line
from itemledger.core.recount import Recount, RequestHash
from itemledger.core.result import StopReason
from itemledger.errors import EvidenceError

#: Looks at one parsed line; returns what is wrong with it as the end of a sentence, or None.
LineCheck: TypeAlias = Callable[[Mapping[str, Any]], str | None]

_FOLLOWS = {
    "": ("header",),
    "header": ("manifest", "call", "summary"),
    "manifest": ("manifest", "call", "summary"),
    "call": ("call", "summary"),
    "summary": ("trailer",),
    "trailer": (),
}


@dataclass(frozen=True, slots=True)
class Verified:
    """What a whole and true evidence file says.

    ``tables`` above 1 means that other tables shared its calls, so that gaps in the call numbers prove nothing.
    ``sha256`` is the hash of the whole file, as its run printed it.
    """

    observation_id: str
    observation_number: int
    parent_id: str | None
    first_id: str | None
    started_at: str
    table: str
    tables: int
    consistent_read: bool
    policy: str
    decision: Decision
    stop_reason: StopReason
    label: EvidenceLabel | None
    keys: int
    returned: int
    processed_not_returned: int
    unresolved: int
    duplicates_folded: int
    calls: int
    application_passes: int
    sdk_retry_attempts: int | None
    consumed: float | None
    abandoned_calls: int
    lines: int
    sha256: str


def verify(
    lines: Iterable[bytes], check_line: LineCheck | None = None, *, request_hash: RequestHash | None = None
) -> Verified:
    """Checks every byte and recounts every set; raises EvidenceError with a sentence at the first falsehood.

    ``lines`` are raw lines with their newlines, as a file opened in binary mode gives them. ``check_line`` sees each
    parsed line, for instance to hold it against the JSON Schema. ``request_hash`` computes from the header what its
    calls must carry; without it they are only compared with each other.
    """
    reader = _Reader(check_line, request_hash)
    for number, raw in enumerate(lines, start=1):
        try:
            reader.take(raw)
        except EvidenceError as error:
            raise EvidenceError(f"line {number}: {error}", line=number) from None
    return reader.verified()


class _Reader:
    """The lines in their order, the chain, and the recount behind them."""

    def __init__(self, check_line: LineCheck | None, request_hash: RequestHash | None) -> None:
        self._check_line = check_line
        self._request_hash = request_hash
        self._whole = hashlib.sha256()
        self._previous = ""
        self._count = 0
        self._kind = ""
        self._recount: Recount | None = None
        self._summary: Line | None = None

    def take(self, raw: bytes) -> None:
        if self._kind == "trailer":
            raise EvidenceError("comes after the trailer, which is the last line of a file")
        if not raw.endswith(b"\n"):
            raise EvidenceError(f"does not end with a newline: the file is cut here, after {self._count} intact lines")
        line = read_line(raw)
        if self._count == 0 and (line.get("kind"), line.get("schema")) != ("header", SCHEMA):
            raise EvidenceError(f"this is no evidence file of schema {SCHEMA}, or its first line is gone")
        if line.get("prev") != self._previous:
            raise EvidenceError(
                "does not carry the hash of the line before it, so that line or this one was changed, moved or removed"
            )
        check_members(line)
        kind: str = line["kind"]
        if kind not in _FOLLOWS[self._kind]:
            raise EvidenceError(f"a {kind} line cannot follow a {self._kind} line")
        if line.get("schema", SCHEMA) != SCHEMA:
            raise EvidenceError(f"is of schema {line['schema']}, not {SCHEMA}")
        wrong = self._check_line(line) if self._check_line is not None else None
        if wrong:
            raise EvidenceError(wrong)
        self._interpret(kind, line)
        self._kind = kind
        self._count += 1
        self._whole.update(raw)
        self._previous = hashlib.sha256(raw).hexdigest()

    def verified(self) -> Verified:
        if self._recount is None:
            raise EvidenceError("the file is empty; give the evidence file that a read wrote")
        if self._kind != "trailer" or self._summary is None:
            missing = "trailer" if self._kind == "summary" else "summary"
            raise EvidenceError(
                f"the file ends early, before its {missing}: its {self._count} lines are intact and show what was "
                "settled until then, but they prove no conclusion"
            )
        return _verified(self._recount, self._summary, self._count, self._whole.hexdigest())

    def _interpret(self, kind: str, line: Line) -> None:
        if self._recount is None:
            self._recount = Recount(line, self._request_hash)
            return
        if kind in ("call", "summary") and self._kind in ("header", "manifest"):
            self._recount.close_manifest()
        if kind == "manifest":
            self._recount.manifest.add(line)
        elif kind == "call":
            self._recount.call(line)
        elif kind == "summary":
            check_summary(line, self._recount)
            self._summary = line
        elif (line["lines"], line["sha256"]) != (self._count + 1, self._whole.hexdigest()):
            raise EvidenceError(
                "the trailer's number of lines, or its hash of them, is not that of the lines before it"
            )


def _verified(recount: Recount, summary: Line, lines: int, sha256: str) -> Verified:
    observation, totals = summary["observation"], summary["totals"]
    return Verified(
        observation_id=observation["id"],
        observation_number=observation["number"],
        parent_id=observation["parent_id"],
        first_id=observation["first_id"],
        started_at=observation["started_at"],
        table=summary["table"],
        tables=recount.header["tables"],
        consistent_read=summary["consistent_read"],
        policy=summary["policy"],
        decision=next(d for d in Decision if d.label == summary["decision"]["name"]),
        stop_reason=StopReason(summary["stop_reason"]),
        label=recount.label,
        keys=summary["manifest"]["count"],
        returned=summary["returned"]["count"],
        processed_not_returned=summary["processed_not_returned"]["count"],
        unresolved=summary["unresolved"]["count"],
        duplicates_folded=summary["duplicates_folded"],
        calls=totals["calls"],
        application_passes=totals["application_passes"],
        sdk_retry_attempts=totals["sdk_retry_attempts"],
        consumed=totals["consumed"],
        abandoned_calls=summary["abandoned_calls"],
        lines=lines,
        sha256=sha256,
    )
