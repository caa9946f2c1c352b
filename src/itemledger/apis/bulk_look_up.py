"""The look-up of ``_bulk``'s documents: ``_mget`` by id, which is realtime and needs no refresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from itemledger.apis.json_body import json_body, read_member, read_object, same_json
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Limits, shape_of
from itemledger.core.write_api import Entry, Verdict
from itemledger.errors import LedgerInvariantError


class BulkLookUp:
    """Compares whole documents. The verdict on a document that is still there after a delete was sent is in ``_kept``.

    An ingest pipeline, or a mapping that leaves parts out of ``_source``, changes what is stored: such documents
    come out as different and go to a person.
    """

    service = "http"
    operation = "request"
    limits = Limits(items=100, request_bytes=64 * 2**20)  # of the items looked for: the answer holds whole documents
    # A bulk call waits up to a minute for a shard before it acts (its own default ``timeout``).
    settle_s = 60.0

    def __init__(self, url: str) -> None:
        self._url = url

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        docs = [{name: item.payload[name] for name in ("_id", "routing") if name in item.payload} for item in items]
        return {
            "Method": "POST",
            "Url": self._url,
            "Headers": {"Content-Type": "application/json"},
            "Body": json_body({"docs": docs}, "the look-up"),
            "FailOn": [],
        }

    def verdicts(self, items: Sequence[Entry], answer: Mapping[str, Any] | Failure) -> list[Verdict]:
        if isinstance(answer, Failure) or read_member(answer, "Status", int) != 200:
            return [Verdict.UNREADABLE] * len(items)
        docs: list[Any] = read_member(read_object(answer.get("Body"), "the answer of _mget"), "docs", list)
        if len(docs) != len(items):
            raise LedgerInvariantError(f"_mget answered for {len(docs)} documents where {len(items)} were asked for")
        return [_verdict(position, entry, doc) for position, (entry, doc) in enumerate(zip(items, docs))]  # noqa: B905 - checked above


def _verdict(position: int, entry: Entry, doc: object) -> Verdict:
    if not isinstance(doc, Mapping) or doc.get("_id") != entry.payload["_id"]:
        raise LedgerInvariantError(f"_mget answers document {position} with another one", position=position)
    if doc.get("error") is not None:
        return Verdict.UNREADABLE  # no such index among them: it may be the wrong cluster
    found: bool = read_member(doc, "found", bool)
    deleting = entry.payload["Op"] == "delete"
    if not found:
        if "_source" in doc:
            raise LedgerInvariantError(
                f"_mget says of document {position} that it is not found, and shows it",
                position=position,
                structure=shape_of(doc),
            )
        return Verdict.SAME if deleting else Verdict.ABSENT_CONCLUSIVE
    if deleting:
        return _kept(entry, doc)
    source = doc.get("_source")
    if not isinstance(source, Mapping):
        return Verdict.UNREADABLE  # the index keeps no _source
    return Verdict.SAME if same_json(source, entry.payload["_source"]) else Verdict.DIFFERENT


def _kept(entry: Entry, doc: Mapping[str, Any]) -> Verdict:
    """A document is there though a delete of it was sent: never deleted, or written again since.

    Only an unchanged sequence number tells the two apart; without that condition another delete might take what
    somebody else has written, so a person decides.
    """
    condition = entry.payload.get("if_seq_no"), entry.payload.get("if_primary_term")
    if condition == (None, None):
        return Verdict.DIFFERENT
    here = doc.get("_seq_no"), doc.get("_primary_term")
    return Verdict.ABSENT_CONCLUSIVE if here == condition else Verdict.SUPERSEDED
