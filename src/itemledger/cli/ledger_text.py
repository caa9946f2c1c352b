"""Rows and their history in words: for people in columns and sentences, for machines as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from itemledger.cli.summary import count
from itemledger.core.batches import HistoryEntry
from itemledger.core.outcome import Event
from itemledger.core.rows import Operation, Row

#: What each event says of a row, in the words of the outcome law.
_SAID: Mapping[str, str] = {
    "planned": "planned",
    "restored": "put here from a completion report",
    "reviewed": "reviewed by a person, who left it as it is",
    "set_aside": "its payload is no longer what was planned: it waits",
    "planned_again": "planned again as it was: it goes on",
    "late": "a late answer came, after its claim was lost; it moves nothing by itself",
    Event.DISPATCHED: "the call was about to begin",
    Event.REFUSED_LOCALLY: "over its own limit: never sent",
    Event.EXHAUSTED: "its attempts are used up, or its workers died too often",
    Event.CONFIRMED: "the response says that it is done",
    Event.LEFT_UNPROCESSED: "the response says that the service did not work on it",
    Event.FAILED_TRANSIENTLY: "the response says that it is not done, for a cause that passes",
    Event.NOT_PROCESSED: "the whole call failed, and nothing of it was processed",
    Event.REFUSED: "the service rejects it",
    Event.LOST: "no usable response: it may be done",
    Event.LEASE_EXPIRED: "its worker was not heard of in time after the dispatch: it may be done",
    Event.FOUND: "evidence came that it is done",
    Event.PROVEN_ABSENT: "a conclusive look-up did not find it",
    Event.REPLAY_ALLOWED: "it may be sent again",
    Event.REPLAY_EXPIRED: "the provider's window closed before it was sent again",
    Event.INCONCLUSIVE: "the look-up settled nothing",
    Event.SETTLED: "a person decided",
    Event.REOPENED: "a person lets it be sent again",
}


def moment(seconds: float) -> str:
    """UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def printable(text: str) -> str:
    """Text of the ledger's users and providers, which could otherwise write anything on a terminal."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def table(head: Sequence[str], lines: Iterable[Sequence[str]], *, right: int) -> list[str]:
    """Lines in columns, the first ``right`` of them numbers; the last column has any width."""
    cells = [[printable(cell) for cell in line] for line in (head, *lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if index < right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def row_json(row: Row) -> dict[str, Any]:
    """A row for machines: all of it but where its payload is."""
    told = asdict(row)
    del told["source"], told["error_message"]
    return told


def operation_json(operation: Operation, counts: Mapping[Any, int], reviews: int) -> dict[str, Any]:
    """An operation for machines."""
    return {
        "operation": operation.operation_id,
        "api": operation.api,
        "target": dict(operation.target),
        "effect": operation.effect.value,
        "endpoint": operation.endpoint,
        "policy": operation.policy.to_json(),
        "former_policies": [{"policy": each.policy.to_json(), "until": each.until} for each in operation.former],
        "created_at": operation.created_at,
        "planned_at": operation.planned_at,
        "planned": sum(counts.values()),
        **{outcome.value: number for outcome, number in counts.items()},
        "waiting": reviews,
    }


def row_lines(row: Row, now: float) -> list[str]:
    """Where a row stands, for people."""
    place = "in the ledger itself" if row.source.stored is not None else None
    if row.source.path is not None:
        place = f"{row.source.path}, {row.source.length:,} bytes from byte {row.source.offset:,}"
    told = {
        "operation": row.operation_id,
        "item": row.item_id,
        "outcome": f"{row.outcome}{f', waits for a person ({row.review})' if row.review else ''}",
        "next": _next(row, now),
        "attempts": f"{row.attempts:,} ({count(row.dispatches, 'send')}, {count(row.claims, 'claim')})",
        "lapsed": f"{count(row.lapses, 'claim')} whose worker was not heard of again" if row.lapses else None,
        "unknown ends": f"{row.lost_attempts:,}" if row.lost_attempts else None,
        "duplicates": f"{row.possible_duplicates:,} possible" if row.possible_duplicates else None,
        "error": row.error_code and f"{row.error_code}{f': {row.error_message}' if row.error_message else ''}",
        "request id": row.request_id,
        "object": row.object_ref,
        "replay until": moment(row.replay_until) if row.replay_until is not None else None,
        "key": row.idempotency_key,
        "payload": f"{row.size_bytes:,} bytes, hash {row.payload_hash}",
        "to be found": place,
    }
    head = f"row {row.number}, as of {moment(row.updated_at)}"
    return [head] + [f"  {name:<14}{printable(text)}" for name, text in told.items() if text is not None]


def history_lines(entries: Iterable[HistoryEntry]) -> list[str]:
    """A row's history in sentences, oldest first."""
    return [_sentence(entry) for entry in entries]


def _next(row: Row, now: float) -> str | None:
    if row.epoch is not None:
        return f"held by the claim with epoch {row.epoch}"
    if row.due_at is None:
        return None
    return "due now" if row.due_at <= now else f"due at {moment(row.due_at)}, in {row.due_at - now:.0f} s"


def _sentence(entry: HistoryEntry) -> str:
    move = f"{entry.before} → {entry.after}" if entry.before is not None else str(entry.after)
    detail = [f"{name} {_said(value)}" for name, value in entry.detail.items()]
    evidence = entry.evidence
    if evidence is not None and entry.event != Event.DISPATCHED:
        told = {
            "request": evidence.request_id if "request_id" not in entry.detail else None,
            "call failed with": evidence.code if evidence.code != entry.detail.get("code") else None,
            "label": evidence.label,
            "body": evidence.body_check,
            "SDK retry attempts": evidence.sdk_retry_attempts or None,
            "took": f"{evidence.duration_ms:,.0f} ms" if evidence.duration_ms else None,
        }
        detail += [f"{name} {_said(value)}" for name, value in told.items() if value is not None]
    claim = f" [epoch {entry.epoch}]" if entry.epoch is not None else ""
    told_detail = f" ({', '.join(detail)})" if detail else ""
    return f"  {moment(entry.at)}  {move:<24} {_SAID.get(entry.event, entry.event)}{told_detail}{claim}"


def _said(value: object) -> str:
    return printable(str(value))
