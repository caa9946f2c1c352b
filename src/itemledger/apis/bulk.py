"""OpenSearch's and Elasticsearch's ``_bulk``: documents under ids of the caller's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

from itemledger.apis.bulk_look_up import BulkLookUp
from itemledger.apis.http_target import check_url, join_path
from itemledger.apis.item_ids import qualified_id
from itemledger.apis.json_body import json_body, read_member, read_object
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Finding, Limits, Mention, Silence, shape_of
from itemledger.core.write_api import Effect, Entry, ItemError, LookUp, Proof, Replay
from itemledger.errors import LedgerInvariantError, ManifestError

#: ``http.max_content_length`` as it comes; a target may lower it (Amazon's smaller instances take 10 MiB).
MAX_REQUEST_BYTES = 100 * 2**20
#: No limit of the API, which counts bytes only; a choice that keeps answers small.
MAX_ITEMS = 1_000
_MAX_ID_BYTES = 512  # document ids, by both manuals

_OPS = ("index", "create", "delete")
_RESULTS = {"index": ("created", "updated"), "create": ("created",), "delete": ("deleted", "not_found")}
#: What a bare name of an index or alias cannot hold; <date math> would go elsewhere when it is sent again tomorrow.
_NOT_IN_NAMES = frozenset(' ,"*+/\\|?#<>:')

#: Statuses of one item. 429: the node had no room and refused; 503: the primary shard was not there to act.
_TRANSIENT = frozenset({429, 503})
#: 400: the document does not fit the mapping; 403: blocked or not allowed; 404: no such index; 409: version conflict.
_REJECTED = frozenset({400, 403, 404, 409})

#: Statuses by which the call as a whole is refused; our sender makes failures of them.
_THROTTLED = (429,)  # a circuit breaker or the indexing pressure of the node that took the call, before any item
_REFUSED = (400, 413)  # a line that is no action; a body over http.max_content_length
_BLOCKED = (401, 403, 404, 405, 407)
_NOTHING = (408, 500, 502, 503, 504)


class Bulk:
    """``_bulk`` with the index in the path.

    Every document needs an ``_id`` of the caller's own: one that the engine makes cannot be looked for after a lost
    answer, and sending again would make a second document. ``update`` is left out: a part of a document cannot be
    compared with the whole that a look-up shows.
    """

    name = "opensearch.Bulk"
    service = "http"
    operation = "request"
    effect = Effect.REPEATABLE
    replay: Replay | None = None
    own_effect_codes = frozenset({"version_conflict_engine_exception", "HTTP 409"})

    def __init__(self, *, url: str, index: str, request_bytes: int = MAX_REQUEST_BYTES) -> None:
        check_url(self.name, url, query=False)
        if index[0] in "_-+" or index in (".", "..") or _NOT_IN_NAMES & set(index) or len(index.encode()) > 255:
            raise ManifestError(f"{self.name}: index= is no name of one index; give its name or that of an alias")
        if not 0 < request_bytes <= MAX_REQUEST_BYTES:
            raise ManifestError(f"{self.name}: request_bytes= is not between 1 and {MAX_REQUEST_BYTES}; give bytes")
        self._url, self._index = url, index
        self.limits = Limits(items=MAX_ITEMS, request_bytes=request_bytes, item_bytes=request_bytes)
        self.look_up: LookUp | None = BulkLookUp(join_path(url, f"/{quote(index, safe='')}/_mget"))

    @property
    def target(self) -> dict[str, Any]:
        return {"url": self._url, "index": self._index, "request_bytes": self.limits.request_bytes}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {"url": str, "index": str}, {"request_bytes": int}))

    def entry(self, value: object, position: int) -> Entry:
        problem = _problem(value)
        if problem or not isinstance(value, Mapping):
            raise ManifestError(f"item {position} of the input {problem}", positions=(position,))
        payload = dict(value)
        size = len(_lines(payload, position))
        return Entry(qualified_id(payload["_id"], "?routing=", payload.get("routing")), payload, size)

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {
            "Method": "POST",
            "Url": join_path(self._url, f"/{quote(self._index, safe='')}/_bulk"),
            "Headers": {"Content-Type": "application/x-ndjson"},
            "Body": b"".join(_lines(item.payload, None) for item in items),
            "FailOn": [*_THROTTLED, *_REFUSED, *_BLOCKED, *_NOTHING],
        }

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> list[Mention]:
        status: int = read_member(response, "Status", int)
        if status != 200:
            raise LedgerInvariantError(f"_bulk answered with HTTP {status}; keep the answer and check what served it")
        answer = read_object(response.get("Body"), "the answer of _bulk")
        items: list[Any] = read_member(answer, "items", list)
        errors: bool = read_member(answer, "errors", bool)
        if len(items) != len(sent):
            raise LedgerInvariantError(
                f"_bulk answered for {len(items)} items where {len(sent)} were sent", structure=shape_of(answer)
            )
        mentions = [_mention(position, entry, item) for position, (entry, item) in enumerate(zip(sent, items))]  # noqa: B905 - checked above
        if errors is not any("error" in (mention.structure or {}) for mention in mentions):
            raise LedgerInvariantError(
                f"_bulk says errors: {str(errors).lower()}, and its items say otherwise", structure=shape_of(answer)
            )
        return mentions

    def explain(self, failure: Failure) -> Proof:
        return explain_by_code(
            failure, not_processed=_codes(_THROTTLED), refused=_codes(_REFUSED), blocked=_codes(_BLOCKED)
        )


def _problem(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return 'is no JSON object; give {"Op": "index", "_id": "...", "_source": {...}}'
    op = value.get("Op")
    if op not in _OPS:
        return f"has no Op that is one of {', '.join(_OPS)}; name what to do"
    takes = {"Op", "_id", "routing", "if_seq_no", "if_primary_term"} | ({"_source"} if op != "delete" else set())
    if unknown := [name for name in value if name not in takes]:
        return f"has {len(unknown)} unknown members; {op} takes {', '.join(sorted(takes))}"
    document_id = value.get("_id")
    if not isinstance(document_id, str) or not document_id:
        return "has no _id; give one: a document whose id the engine makes cannot be found again after a lost answer"
    if len(document_id.encode("utf-8", "replace")) > _MAX_ID_BYTES:
        return f"has an _id of more than {_MAX_ID_BYTES} bytes; give a shorter one"
    if op != "delete" and not isinstance(value.get("_source"), Mapping):
        return "has no _source that is a JSON object; give the document"
    routing = value.get("routing", "-")
    if not isinstance(routing, str) or not routing or "?routing=" in routing:
        return "has a routing that is no text; give text, or leave it out"
    condition = [value[name] for name in ("if_seq_no", "if_primary_term") if name in value]
    if condition and (op == "create" or len(condition) != 2 or any(type(n) is not int or n < 0 for n in condition)):
        return "has if_seq_no or if_primary_term where both must be there, as whole numbers, for index or delete only"
    return None


def _lines(payload: Mapping[str, Any], position: int | None) -> bytes:
    where = "the item" if position is None else f"item {position} of the input"
    action = {name: value for name, value in payload.items() if name not in ("Op", "_source")}
    lines = [json_body({payload["Op"]: action}, where, position)]
    if "_source" in payload:
        lines.append(json_body(payload["_source"], where, position))
    return b"".join(line + b"\n" for line in lines)


def _mention(position: int, entry: Entry, item: object) -> Mention:
    op = entry.payload["Op"]
    if not isinstance(item, Mapping) or list(item) != [op] or not isinstance(told := item[op], Mapping):
        raise LedgerInvariantError(
            f"_bulk answers item {position} of this call with another action than {op}", position=position
        )
    if told.get("_id") != entry.payload["_id"]:
        raise LedgerInvariantError(
            f"_bulk answers item {position} of this call with the _id of another document",
            position=position,
            structure=shape_of(told),
        )
    status: int = read_member(told, "status", int)
    error = told.get("error")
    # A document that was not there is the one status without an error that is not in the 200s.
    done = 200 <= status <= 299 or (op == "delete" and status == 404 and told.get("result") == "not_found")
    if done is (error is not None) or (done and told.get("result") not in _RESULTS[op]):
        raise LedgerInvariantError(
            f"_bulk contradicts itself on item {position} of this call: status {status}",
            position=position,
            structure=shape_of(told),
        )
    if done:
        return Mention(position, Finding.SUCCEEDED, _object_ref(told), told)
    return Mention(position, _finding(status), _item_error(status, error), told)


def _finding(status: int) -> Finding:
    if status in _TRANSIENT:
        return Finding.TRANSIENT
    return Finding.REJECTED if status in _REJECTED else Finding.UNKNOWN


def _object_ref(told: Mapping[str, Any]) -> str | None:
    """The place of this write in the index's history, by which a later condition or a look-up may know it."""
    numbers = told.get("_seq_no"), told.get("_primary_term")
    return "seq_no={} primary_term={}".format(*numbers) if all(type(number) is int for number in numbers) else None


def _item_error(status: int, error: object) -> ItemError:
    if isinstance(error, Mapping) and isinstance(kind := error.get("type"), str) and kind:
        reason = error.get("reason")
        return ItemError(kind, reason if isinstance(reason, str) else "")
    return ItemError(f"HTTP {status}")


def _codes(statuses: Sequence[int]) -> frozenset[str]:
    return frozenset(f"HTTP {status}" for status in statuses)
