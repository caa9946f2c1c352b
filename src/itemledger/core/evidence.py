"""The evidence file of one read, line by line: what was asked, what each call proved, and where every key ends.

Each line carries the SHA-256 of the line before it, the trailer that of all lines before it. Keys are positions and
tokens, items are never in it. ``docs/evidence.md`` describes the format for its readers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from itemledger.core.answer import TerminalError
from itemledger.core.decision import Decision
from itemledger.core.keys import Key, KeySchema
from itemledger.core.passes import PassEvidence
from itemledger.core.ranges import to_ranges
from itemledger.core.reconcile import READ_FINDINGS, Finding
from itemledger.core.result import Disposition, ReadResult, StopReason
from itemledger.core.terms import Bounds, Observation, Settings
from itemledger.core.tokens import SetHash, Tokeniser
from itemledger.errors import LedgerInvariantError

SCHEMA = "itemledger/evidence/1"
#: Tokens on one manifest line.
MANIFEST_LINE = 1000
#: Request ids named in a run event, the last ones; every call event has its own.
REQUEST_IDS = 100


class EvidenceLog:
    """Writes the lines of one table's evidence, each complete and chained to the one before.

    The order is header, manifest, a line per call as the calls end, summary, trailer. A run that stops before its
    summary leaves a file that ``verify`` refuses, and that still shows what was settled until then.
    """

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._tokeniser = tokeniser
        self._whole = hashlib.sha256()
        self._previous = ""
        self._lines = 0
        self._policy = ""

    def header(
        self,
        *,
        observation: Observation,
        settings: Settings,
        bounds: Bounds,
        manifest_size: int,
        environment: Mapping[str, Any],
        policy: str,
        tables: int = 1,
    ) -> bytes:
        """What is about to be read, with what, and who will judge it.

        ``policy`` is "all", "none", or the caller's own word for any other. ``tables`` is how many tables share the
        run's calls: a file speaks of one, and with several its calls are not numbered without gaps.
        """
        self._policy = policy
        return self._line(
            {
                "kind": "header",
                "schema": SCHEMA,
                "observation": observation_event(observation),
                "table": settings.table_name,
                "key": _key_event(settings.key),
                "consistent_read": settings.consistent_read,
                "projection": _projection_event(settings.projection),
                "unprocessed_keys_optional": settings.unprocessed_keys_optional,
                "bounds": {
                    "max_passes": bounds.max_passes,
                    "timeout_s": bounds.timeout_s,
                    "concurrency": bounds.concurrency,
                    "backoff_base_s": bounds.backoff_base_s,
                    "backoff_cap_s": bounds.backoff_cap_s,
                },
                "manifest_size": manifest_size,
                "tables": tables,
                "tokens": {"algorithm": self._tokeniser.algorithm, "key_id": self._tokeniser.key_id},
                "environment": dict(environment),
                "policy": policy,
            }
        )

    def manifest(self, keys: Iterable[Key]) -> Iterator[bytes]:
        """The requested keys' tokens, in order; the lines must be taken before the first call's."""
        tokens = map(self._tokeniser.token, keys)
        start = 0
        while chunk := list(islice(tokens, MANIFEST_LINE)):
            yield self._line({"kind": "manifest", "from": start, "tokens": chunk})
            start += len(chunk)

    def call(self, entry: PassEvidence) -> bytes:
        """One call, written when it has ended: also one without a usable response, and one whose answer is refused."""
        return self._line(call_event(entry, self._tokeniser))

    def summary(self, result: ReadResult, decision: Decision) -> bytes:
        """Where every key stands, and what follows from it."""
        return self._line(run_event(result, decision, self._tokeniser, policy=self._policy))

    def trailer(self) -> bytes:
        """The last line: how many there are with it, and the hash of all before it."""
        return self._line({"kind": "trailer", "lines": self._lines + 1, "sha256": self._whole.hexdigest()})

    @property
    def sha256(self) -> str:
        """The hash of everything so far; after the trailer that of the file, as ``sha256sum`` prints it."""
        return self._whole.hexdigest()

    def _line(self, event: Mapping[str, Any]) -> bytes:
        raw = encode({**event, "prev": self._previous})
        self._previous = hashlib.sha256(raw).hexdigest()
        self._whole.update(raw)
        self._lines += 1
        return raw


def encode(line: Mapping[str, Any]) -> bytes:
    """The one spelling that a line has: compact, members sorted, ASCII, with its newline."""
    return json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def call_event(entry: PassEvidence, tokeniser: Tokeniser) -> dict[str, Any]:
    """One call as a compact event, for the evidence file or for a log of your own.

    Keys are named by position in the manifest, in request order. The error's message is left out, since it may quote
    the request.
    """
    tokens = [tokeniser.token(key) for key in entry.requested]

    def found(finding: Finding | None) -> dict[str, Any]:
        chosen = [i for i in range(len(tokens)) if finding is None or entry.findings[i : i + 1] == (finding,)]
        return set_event([entry.positions[i] for i in chosen], [tokens[i] for i in chosen])

    return {
        "kind": "call",
        "schema": SCHEMA,
        "call": entry.call,
        "application_pass": entry.application_pass,
        "requested": found(None),
        **{finding.value: found(finding) for finding in READ_FINDINGS},
        "request_hash": entry.request_hash,
        "request_id": entry.request_id,
        "sdk_retry_attempts": entry.sdk_retry_attempts,
        "label": entry.label and entry.label.value,
        "body_check": entry.body_check and entry.body_check.value,
        "response_bytes": entry.response_bytes,
        "leftover_cause": entry.leftover_cause and entry.leftover_cause.value,
        "consumed": entry.consumed,
        "notes": list(entry.notes),
        "duration_ms": round(entry.duration_ms, 3),
        "error": _error_event(entry.error),
        "invariant_broken": entry.error is not None and entry.error.code == LedgerInvariantError.__name__,
    }


def run_event(result: ReadResult, decision: Decision, tokeniser: Tokeniser, *, policy: str) -> dict[str, Any]:
    """One run as a compact event: the three sets by position and hash, the totals, the decision and who acts next."""
    manifest, sets = SetHash(), {disposition: SetHash() for disposition in Disposition}
    for key, standing in zip(result.requested_order, result.dispositions, strict=True):
        token = tokeniser.token(key)
        manifest.add(token)
        sets[standing].add(token)
    folded = 0 if result.input_positions is None else len(result.input_positions) - manifest.count
    return {
        "kind": "summary",
        "schema": SCHEMA,
        "observation": observation_event(result.observation),
        "table": result.table_name,
        "consistent_read": result.settings.consistent_read,
        "manifest": {"count": manifest.count, "sha256": manifest.hexdigest()},
        **{
            disposition.value: _set_event((i for i, d in enumerate(result.dispositions) if d is disposition), members)
            for disposition, members in sets.items()
        },
        "duplicates_folded": folded,
        "earlier": {
            "returned": len(result.earlier.returned),
            "processed_not_returned": len(result.earlier.processed_not_returned),
        },
        "complete": result.complete,
        "stop_reason": result.stop_reason.value,
        "terminal_error": _error_event(result.terminal_error),
        "totals": {
            "calls": result.totals.calls,
            "application_passes": result.totals.application_passes,
            "sdk_retry_attempts": result.totals.sdk_retry_attempts,
            "consumed": result.totals.consumed,
        },
        "abandoned_calls": result.abandoned_calls,
        "request_ids": list(result.request_ids[-REQUEST_IDS:]),
        "request_ids_left_out": max(0, len(result.request_ids) - REQUEST_IDS),
        "deadline": {
            "timeout_s": result.bounds.timeout_s,
            "reached": result.stop_reason is StopReason.DEADLINE,
        },
        "label": result.totals.label and result.totals.label.value,
        "decision": {"name": decision.label, "owner": decision.owner, "next_action": decision.next_action},
        "policy": policy,
    }


def set_event(positions: Iterable[int], tokens: Iterable[str]) -> dict[str, Any]:
    """A membership set: where its keys are in the manifest, how many they are, and the hash of their tokens."""
    members = SetHash()
    for token in tokens:
        members.add(token)
    return _set_event(positions, members)


def observation_event(observation: Observation) -> dict[str, Any]:
    """The observation's name, its place in the chain, and the revisions of what carried it out."""
    return {
        "id": observation.id,
        "number": observation.number,
        "parent_id": observation.parent_id,
        "first_id": observation.first_id,
        "started_at": observation.started_at,
        "revisions": dict(observation.revisions),
    }


def _set_event(positions: Iterable[int], members: SetHash) -> dict[str, Any]:
    return {"positions": to_ranges(positions), "count": members.count, "sha256": members.hexdigest()}


def _key_event(schema: KeySchema) -> list[dict[str, Any]] | None:
    """A list, since members of an object are sorted and the partition key comes first; null while it is not known."""
    if not schema.known:
        return None
    return [{"name": n, "type": t and t.value} for n, t in zip(schema.names, schema.types, strict=True)]


def _projection_event(projection: tuple[Any, ...] | None) -> list[Any] | None:
    return None if projection is None else [list(p) if isinstance(p, tuple) else p for p in projection]


def _error_event(error: TerminalError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {"code": error.code, "request_id": error.request_id, "transient": error.transient}
