"""One line of an evidence file read strictly: its one spelling, and exactly the members that its kind has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NoReturn, TypeAlias

from itemledger.core.answer import BodyCheck, EvidenceLabel
from itemledger.core.decision import Decision
from itemledger.core.evidence import MANIFEST_LINE, REQUEST_IDS, encode
from itemledger.core.keys import KeyType
from itemledger.core.passes import LeftoverCause
from itemledger.core.result import StopReason
from itemledger.core.tokens import HASHED, PLAIN
from itemledger.errors import EvidenceError

#: The largest integer that every JSON reader takes exactly.
MAX_INTEGER = 2**53 - 1

Line: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[object], bool]


def read_line(raw: bytes) -> Line:
    """The line as an object; EvidenceError when it is not spelled as the log spells it."""
    try:
        line = json.loads(raw, parse_constant=_refuse)
        spelled = encode(line) if isinstance(line, dict) else b""
    except (ValueError, RecursionError):
        raise EvidenceError("is not JSON, so bytes of it were changed") from None
    if spelled != raw:
        raise EvidenceError("is not spelled as the log spells it, so bytes of it were changed")
    return dict(line)


def check_members(line: Mapping[str, Any]) -> None:
    """EvidenceError unless the line has exactly its kind's members, each of the right type."""
    spec = _MEMBERS.get(line["kind"]) if isinstance(line.get("kind"), str) else None
    if spec is None:
        raise EvidenceError(f"is of no kind that the format knows ({line.get('kind')!r})")
    fault = _fault(line, spec, "")
    if fault:
        raise EvidenceError(fault)


def _fault(value: object, spec: Any, path: str) -> str | None:
    if not isinstance(spec, dict):
        return None if spec(value) else f"{path} has a value that the format does not allow"
    if not isinstance(value, dict):
        return f"{path} is no object"
    for name in sorted(spec.keys() - value.keys()):
        return f"lacks the member {_joined(path, name)}"
    for name in sorted(value.keys() - spec.keys()):
        return f"has a member that the format does not know: {_joined(path, name)}"
    faults = (_fault(value[name], inner, _joined(path, name)) for name, inner in spec.items())
    return next((fault for fault in faults if fault), None)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _text(value: object) -> bool:
    return isinstance(value, str)


def _count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_INTEGER


def _positive(value: object) -> bool:
    return value != 0 and _count(value)


def _amount(value: object) -> bool:
    return type(value) in (int, float) and value >= 0  # type: ignore[operator]  # it is a number by now


def _more_than_zero(value: object) -> bool:
    return value != 0 and _amount(value)


def _flag(value: object) -> bool:
    return type(value) is bool


def _object(value: object) -> bool:
    return isinstance(value, dict)


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_text, value.values()))


def _digest(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _key_id(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{16}}|{PLAIN}", value) is not None


def _path(value: object) -> bool:
    """A projection path: text, or a list of names and list indexes."""
    return _text(value) or (isinstance(value, list) and all(_text(part) or _count(part) for part in value))


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list(check: Check, most: int | None = None) -> Check:
    return lambda value: (
        isinstance(value, list) and (most is None or len(value) <= most) and all(check(member) for member in value)
    )


def _one_of(*values: str) -> Check:
    return lambda value: value in values


def _member_of(enum: type[Enum]) -> Check:
    return _one_of(*(member.value for member in enum))


def _key_attribute(value: object) -> bool:
    spec = {"name": _text, "type": _or_null(_member_of(KeyType))}
    return _fault(value, spec, "key") is None


def _any_list(value: object) -> bool:
    return isinstance(value, list)


_SET = {"positions": _any_list, "count": _count, "sha256": _digest}
_ERROR_SPEC = {"code": _text, "request_id": _or_null(_text), "transient": _flag}


def _error(value: object) -> bool:
    return value is None or _fault(value, _ERROR_SPEC, "error") is None


_OBSERVATION = {
    "id": _text,
    "number": _positive,
    "parent_id": _or_null(_text),
    "first_id": _or_null(_text),
    "started_at": _text,
    "revisions": _texts,
}

_MEMBERS: dict[str, dict[str, Any]] = {
    "header": {
        "kind": _text,
        "prev": _text,
        "schema": _text,
        "observation": _OBSERVATION,
        "table": _text,
        "key": _or_null(_list(_key_attribute, 2)),
        "consistent_read": _flag,
        "projection": _or_null(_list(_path)),
        "unprocessed_keys_optional": _flag,
        "bounds": {
            "max_passes": _positive,
            "timeout_s": _more_than_zero,
            "concurrency": _positive,
            "backoff_base_s": _more_than_zero,
            "backoff_cap_s": _more_than_zero,
        },
        "manifest_size": _count,
        "tables": _positive,
        "tokens": {"algorithm": _one_of(HASHED, PLAIN), "key_id": _key_id},
        "environment": _object,
        "policy": _text,
    },
    "manifest": {"kind": _text, "prev": _digest, "from": _count, "tokens": _list(_text, MANIFEST_LINE)},
    "call": {
        "kind": _text,
        "prev": _digest,
        "schema": _text,
        "call": _positive,
        "application_pass": _positive,
        "requested": _SET,
        "returned": _SET,
        "processed_not_returned": _SET,
        "unprocessed": _SET,
        "request_hash": _digest,
        "request_id": _or_null(_text),
        "sdk_retry_attempts": _or_null(_count),
        "label": _or_null(_member_of(EvidenceLabel)),
        "body_check": _or_null(_member_of(BodyCheck)),
        "response_bytes": _or_null(_count),
        "leftover_cause": _or_null(_member_of(LeftoverCause)),
        "consumed": _or_null(_amount),
        "notes": _list(_text),
        "duration_ms": _amount,
        "error": _error,
        "invariant_broken": _flag,
    },
    "summary": {
        "kind": _text,
        "prev": _digest,
        "schema": _text,
        "observation": _OBSERVATION,
        "table": _text,
        "consistent_read": _flag,
        "manifest": {"count": _count, "sha256": _digest},
        "returned": _SET,
        "processed_not_returned": _SET,
        "unresolved": _SET,
        "duplicates_folded": _count,
        "earlier": {"returned": _count, "processed_not_returned": _count},
        "complete": _flag,
        "stop_reason": _member_of(StopReason),
        "terminal_error": _error,
        "totals": {
            "calls": _count,
            "application_passes": _count,
            "sdk_retry_attempts": _or_null(_count),
            "consumed": _or_null(_amount),
        },
        "abandoned_calls": _count,
        "request_ids": _list(_text, REQUEST_IDS),
        "request_ids_left_out": _count,
        "deadline": {"timeout_s": _more_than_zero, "reached": _flag},
        "label": _or_null(_member_of(EvidenceLabel)),
        "decision": {"name": _one_of(*(d.label for d in Decision)), "owner": _text, "next_action": _text},
        "policy": _text,
    },
    "trailer": {"kind": _text, "prev": _digest, "lines": _positive, "sha256": _digest},
}
