"""One key's story in sentences, as an evidence file tells it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from itemledger.core.answer import EvidenceLabel
from itemledger.core.evidence import SCHEMA
from itemledger.core.lines import Line, check_members, read_line
from itemledger.core.passes import LeftoverCause
from itemledger.core.ranges import from_ranges
from itemledger.core.reconcile import READ_FINDINGS, Finding
from itemledger.core.result import Disposition, StopReason
from itemledger.errors import EvidenceError

_CAUSES = {
    LeftoverCause.RESPONSE_SIZE: "left over because the answer was full",
    LeftoverCause.THROTTLE: "left over after the service had throttled an attempt of this call",
    LeftoverCause.UNKNOWN: "left over, cause unknown",
}
_ENDS = {
    Disposition.RETURNED: "Ends returned: its item was read.",
    Disposition.PROCESSED_NOT_RETURNED: "Ends processed_not_returned: the service looked and showed this read no item.",
    Disposition.UNRESOLVED: "Ends unresolved: nothing is known of it, neither that it is there nor that it is not.",
}
_REASONS = {
    StopReason.COMPLETE: "every key was settled",
    StopReason.PASSES_EXHAUSTED: "keys were left over on their last allowed pass",
    StopReason.DEADLINE: "the deadline was reached",
    StopReason.REQUEST_FAILED: "a call failed",
    StopReason.INTERRUPTED: "it was interrupted",
    StopReason.INVARIANT_BROKEN: "an answer said something that cannot be true",
}


def explain(lines: Iterable[bytes], token: str, *, name: str | None = None) -> list[str]:
    """What happened to the key of this token, call by call, and where it ends; ``name`` is how to call it.

    It takes the file at its word (``verify`` says whether to), and also one that ends early. EvidenceError when the
    key is not in the manifest, or a line cannot be read.
    """
    rest = _read(lines)
    header = next(rest, None)
    if header is None or header["kind"] != "header" or header.get("schema") != SCHEMA:
        raise EvidenceError(f"this is no evidence file of schema {SCHEMA}; give the file that a read wrote")
    position = None
    for line in rest:
        if line["kind"] != "manifest":
            rest = chain([line], rest)
            break
        if token in line["tokens"]:
            position = line["from"] + line["tokens"].index(token)
    if position is None:
        raise EvidenceError(_unknown(token, header))
    return [
        f"{name or token} (position {position}) is one of the {header['manifest_size']} keys that observation "
        f"{header['observation']['id']} asked table {header['table']} for.",
        *_story(position, rest),
    ]


def _read(lines: Iterable[bytes]) -> Iterator[Line]:
    for number, raw in enumerate(lines, start=1):
        if not raw.endswith(b"\n"):
            return  # cut here: what came before still tells
        try:
            line = read_line(raw)
            check_members(line)
        except EvidenceError as error:
            raise EvidenceError(f"line {number}: {error}; verify says more", line=number) from None
        yield line


def _unknown(token: str, header: Line) -> str:
    return (
        f"token {token} is not in this run's manifest: the key was not asked for, or the token was made with another "
        f"token key (this file's has the id {header['tokens']['key_id']})"
    )


def _story(position: int, lines: Iterable[Line]) -> Iterator[str]:
    times = 0
    for line in lines:
        if line["kind"] == "call" and _has(line["requested"], position):
            times += 1
            yield _call(line, position, times)
        elif line["kind"] == "summary":
            yield from _end(line, position, times)
            return
    if not times:
        yield "It was not asked in any call on record."
    yield "The file ends before a summary, so where the key ends is not on record."


def _call(line: Line, position: int, times: int) -> str:
    asked = "Asked" if times == 1 else "Asked again"
    told = [] if line["error"] else [f"pass {times}"]  # a pass ends in a usable response
    told.append(f"request {line['request_id']}" if line["request_id"] else "no request id")
    if line["sdk_retry_attempts"]:
        told.append(f"sent {line['sdk_retry_attempts'] + 1} times by the SDK")
    return f"{asked} in call {line['call']} ({', '.join(told)}): {_found(line, position)}."


def _found(line: Line, position: int) -> str:
    error = line["error"]
    if line["invariant_broken"]:
        return "the answer said something that cannot be true, so nothing of it was used"
    if error is not None:
        return f"no usable response ({error['code']}), so this call proves nothing of it"
    finding = next((f for f in READ_FINDINGS if _has(line[f.value], position)), None)
    match finding:
        case Finding.UNPROCESSED:
            return _CAUSES[LeftoverCause(line["leftover_cause"] or LeftoverCause.UNKNOWN)]
        case Finding.RETURNED:
            return "returned"
        case Finding.PROCESSED_NOT_RETURNED:
            return "processed, and no item came back"
        case _:
            return "the line says nothing of it, so this file is not to be trusted"


def _end(line: Line, position: int, times: int) -> Iterator[str]:
    reason, error = StopReason(line["stop_reason"]), line["terminal_error"]
    if not times:
        abandoned = " that ended" if line["abandoned_calls"] else ""
        yield f"It was not asked in any call{abandoned}."
    end = next((d for d in Disposition if _has(line[d.value], position)), None)
    yield _ENDS[end] if end is not None else "The summary leaves it out, so this file is not to be trusted."
    if end is Disposition.UNRESOLVED:
        code = f" ({error['code']}; request_id={error['request_id'] or 'none'})" if error else ""
        decision = line["decision"]
        yield f"The read stopped because {_REASONS[reason]}{code}."
        yield f"Decision {decision['name']}, for the {decision['owner']}: {decision['next_action']}."
    if line["label"] not in (None, EvidenceLabel.OBSERVED):
        yield f"This rests on answers labelled {line['label']}."


def _has(members: Any, position: int) -> bool:
    try:
        return position in from_ranges(members["positions"])
    except ValueError as error:
        raise EvidenceError(f"a line's positions cannot be read: {error}; verify says more") from None
