"""A small search server after the documented ``_bulk`` and ``_mget``, since no engine comes by pip or npm.

It keeps documents with versions and sequence numbers, refuses what the manuals say is refused, and fails on demand.
Its answers were compared with what the clients ``opensearch-py`` 3.2.0 and ``elasticsearch`` 9.5.1 make of them, by
``python -m tests.apis.search_server`` where those are installed; they are no dependency of this project.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.local_http import Reply, Request

JSON = {"Content-Type": "application/json; charset=UTF-8", "X-Elastic-Product": "Elasticsearch"}


@dataclass
class Document:
    source: bytes  # kept as it was sent: ``_source`` is not normalised
    version: int
    seq_no: int


@dataclass
class SearchServer:
    """``effects`` is the journal of what changed; ``fails`` maps an ``_id`` to the status it gets without an effect."""

    documents: dict[tuple[str, str, str], Document] = field(default_factory=dict)
    effects: list[tuple[str, str]] = field(default_factory=list)
    fails: dict[str, int] = field(default_factory=dict)
    missing_indexes: set[str] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)
    seq_no: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
            parts = [unquote(part) for part in request.path.partition("?")[0].strip("/").split("/")]
            match request.method, parts:
                case "POST" | "PUT", [*index, "_bulk"]:
                    return self._bulk(index[0] if index else None, request)
                case "POST" | "GET", [*index, "_mget"]:
                    return self._mget(index[0] if index else None, json.loads(request.body))
            return _refused(405, "method_not_allowed_exception", "no such endpoint")

    def _bulk(self, index: str | None, request: Request) -> Reply:
        lines = request.body.split(b"\n")
        if lines.pop():
            return _refused(400, "illegal_argument_exception", "The bulk request must be terminated by a newline [\\n]")
        items, actions = [], iter(lines)
        for line in actions:
            try:
                [(op, action)] = json.loads(line).items()
            except ValueError:
                return _refused(400, "illegal_argument_exception", "Malformed action/metadata line")
            source = None if op == "delete" else next(actions)
            items.append({op: self._item(op, index or action["_index"], action, source)})
        failed = any("error" in next(iter(item.values())) for item in items)
        return _answered({"took": 3, "errors": failed, "items": items})

    def _item(self, op: str, index: str, action: dict[str, Any], source: bytes | None) -> dict[str, Any]:
        document_id = action["_id"]
        key = (index, action.get("routing", document_id), document_id)
        named = {"_index": index, "_id": document_id}
        if status := self.fails.get(document_id):
            return {**named, "status": status, "error": _error(_TYPES[status], f"made to fail: {document_id}")}
        if index in self.missing_indexes:
            return {**named, "status": 404, "error": _error("index_not_found_exception", f"no such index [{index}]")}
        if source is not None and not isinstance(json.loads(source), dict):
            return {**named, "status": 400, "error": _error("mapper_parsing_exception", "failed to parse")}
        at = self.documents.get(key)
        if (op == "create" and at) or ("if_seq_no" in action and action["if_seq_no"] != (at.seq_no if at else None)):
            return {**named, "status": 409, "error": _error("version_conflict_engine_exception", "version conflict")}
        self.seq_no += 1
        version = at.version + 1 if at else 1
        if source is None:
            result, status = ("deleted", 200) if self.documents.pop(key, None) else ("not_found", 404)
        else:
            result, status = ("updated", 200) if at else ("created", 201)
            self.documents[key] = Document(source, version, self.seq_no)
        if result != "not_found":
            self.effects.append((op, document_id))
        shards = {"total": 2, "successful": 1, "failed": 0}
        told = {"_version": version, "result": result, "_shards": shards, "_seq_no": self.seq_no, "_primary_term": 1}
        return {**named, **told, "status": status}

    def _mget(self, index: str | None, asked: dict[str, Any]) -> Reply:
        docs = []
        for doc in asked.get("docs") or [{"_id": each} for each in asked["ids"]]:
            where, document_id = doc.get("_index", index), doc["_id"]
            named = json.dumps({"_index": where, "_id": document_id})[:-1]
            at = self.documents.get((where, doc.get("routing", document_id), document_id))
            if where in self.missing_indexes:
                error = json.dumps(_error("index_not_found_exception", f"no such index [{where}]"))
                docs.append(f'{named},"error":{error}}}'.encode())
            elif at is None:
                docs.append(f'{named},"found":false}}'.encode())
            else:
                told = f'"_version":{at.version},"_seq_no":{at.seq_no},"_primary_term":1,"found":true,"_source":'
                docs.append(f"{named},{told}".encode() + at.source + b"}")
        return Reply(200, b'{"docs":[' + b",".join(docs) + b"]}", JSON)


_TYPES = {
    400: "mapper_parsing_exception",
    403: "cluster_block_exception",
    429: "es_rejected_execution_exception",
    500: "exception",
    503: "unavailable_shards_exception",
}


def _error(kind: str, reason: str) -> dict[str, str]:
    return {"type": kind, "reason": reason}


def _answered(body: dict[str, Any]) -> Reply:
    return Reply(200, json.dumps(body).encode(), JSON)


def _refused(status: int, kind: str, reason: str) -> Reply:
    error = {"root_cause": [_error(kind, reason)], **_error(kind, reason)}
    return Reply(status, json.dumps({"error": error, "status": status}).encode(), JSON)


def _compare_with_clients() -> None:
    """What two independent clients make of this server's answers."""
    import elasticsearch  # type: ignore[import-not-found]
    import elasticsearch.helpers  # type: ignore[import-not-found]
    import opensearchpy  # type: ignore[import-not-found]
    import opensearchpy.helpers  # type: ignore[import-not-found]

    from tests.local_http import serving

    for package, make in ((opensearchpy, opensearchpy.OpenSearch), (elasticsearch, elasticsearch.Elasticsearch)):
        server = SearchServer(fails={"busy": 429})
        with serving(server) as url:
            client = make(hosts=[url])
            ops = [
                {"_op_type": "index", "_index": "i", "_id": "1", "n": 1},
                {"_op_type": "create", "_index": "i", "_id": "1", "n": 2},
                {"_op_type": "index", "_index": "i", "_id": "busy", "n": 3},
                {"_op_type": "delete", "_index": "i", "_id": "never"},
                {"_op_type": "index", "_index": "i", "_id": "2", "routing": "r", "n": 4},
            ]
            told = list(package.helpers.streaming_bulk(client, ops, raise_on_error=False))
            print(package.__name__, [(ok, *((op, at["status"]) for op, at in item.items())) for ok, item in told])
            assert [True, False, False, False, True] == [ok for ok, _ in told]  # for them a 404 is a failure
            body = {"docs": [{"_id": "1"}, {"_id": "2", "routing": "r"}, {"_id": "2"}]}
            found = client.mget(index="i", body=body) if package is opensearchpy else client.mget(index="i", **body)
            assert [True, True, False] == [doc["found"] for doc in found["docs"]]
            assert {"n": 1} == found["docs"][0]["_source"]
            client.close()


if __name__ == "__main__":
    _compare_with_clients()
