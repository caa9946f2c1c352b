"""``_bulk`` and its look-up: on a small server after the documented API (see ``search_server``), and by fixtures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from itemledger import provider
from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.bulk import Bulk
from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.reconcile import Finding, Mention, reconcile
from itemledger.core.write_api import Effect, Entry, ItemError, Proof, Verdict
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.http_sender import HttpSender
from tests.apis.search_server import SearchServer
from tests.local_http import Reply, serving

API = Bulk(url="https://search.example.com", index="orders")


def put(document_id: str, n: object = 1, op: str = "index", **members: object) -> dict[str, Any]:
    return {"Op": op, "_id": document_id, "_source": {"n": n}, **members}


def delete(document_id: str, **members: object) -> dict[str, Any]:
    return {"Op": "delete", "_id": document_id, **members}


def entries(*values: object, api: Bulk = API) -> list[Entry]:
    return [api.entry(value, position) for position, value in enumerate(values)]


def settled(sent: list[Entry], response: dict[str, Any]) -> list[Mention]:
    return reconcile(len(sent), API.mentions(sent, response), API.silence())


# ------------------------------------------------------------------------------------------- on the server of the tests


class Search:
    """The server, an API made for it, and a sender."""

    def __init__(self, server: SearchServer, url: str, sender: HttpSender) -> None:
        self.server, self.sender = server, sender
        self.api = Bulk(url=url, index="orders")

    def send(self, *values: object) -> list[Mention]:
        items = entries(*values, api=self.api)
        answer = provider.call(self.sender, self.api.operation, self.api.request(items))
        assert isinstance(answer, Answer)
        return reconcile(len(items), self.api.mentions(items, answer.response), self.api.silence())

    def look_up(self, *values: object) -> list[Verdict]:
        items = entries(*values, api=self.api)
        assert self.api.look_up is not None
        answer = provider.call(self.sender, self.api.look_up.operation, self.api.look_up.request(items))
        return self.api.look_up.verdicts(items, answer if isinstance(answer, Failure) else answer.response)


@pytest.fixture
def search() -> Iterator[Search]:
    server = SearchServer()
    with HttpSender(timeout_s=30) as sender, serving(server) as url:
        yield Search(server, url, sender)


def test_each_item_of_a_mixed_batch_ends_by_its_own_status(search: Search) -> None:
    search.send(put("there"))
    search.server.fails = {"busy": 429, "gone": 503, "broken": 500, "bad": 400, "locked": 403}
    told = search.send(
        put("new"),
        put("there", 2),
        put("there", 3, "create"),
        delete("there"),
        delete("never"),
        *(put(name) for name in ("busy", "gone", "broken", "bad", "locked")),
    )
    assert [
        Finding.SUCCEEDED,
        Finding.SUCCEEDED,
        Finding.REJECTED,
        Finding.SUCCEEDED,
        Finding.SUCCEEDED,
        Finding.TRANSIENT,
        Finding.TRANSIENT,
        Finding.UNKNOWN,
        Finding.REJECTED,
        Finding.REJECTED,
    ] == [mention.finding for mention in told]
    codes = [mention.value.code for mention in told if isinstance(mention.value, ItemError)]
    assert ["version_conflict_engine_exception", "es_rejected_execution_exception"] == codes[:2]
    assert [("index", "new"), ("index", "there"), ("delete", "there")] == search.server.effects[1:]


def test_a_document_is_stored_as_it_was_given_with_every_digit(search: Search) -> None:
    line = '{"Op":"index","_id":"é/1","_source":{"big":12345678901234567890.10,"s":"a\\nb\\u2028","whole":1.0}}'
    search.send(json_loads_exact(line))
    [document] = search.server.documents.values()
    assert b'{"big":12345678901234567890.10,"s":"a\\nb\xe2\x80\xa8","whole":1.0}' == document.source
    assert "/orders/_bulk" == search.server.requests[-1].path
    assert "application/x-ndjson" == search.server.requests[-1].headers["content-type"]


def test_sending_documents_again_under_their_ids_leaves_things_as_they_were(search: Search) -> None:
    search.send(put("a"), put("b", 2))
    before = {key: document.source for key, document in search.server.documents.items()}
    search.send(put("a"), put("b", 2))
    assert before == {key: document.source for key, document in search.server.documents.items()}
    assert Effect.REPEATABLE is search.api.effect


def test_a_create_that_was_done_before_its_answer_was_lost_shows_as_evidence(search: Search) -> None:
    """FC-50."""
    search.send(put("a", op="create"))
    [again] = search.send(put("a", op="create"))
    assert again.value.code in search.api.own_effect_codes
    assert [Verdict.SAME] == search.look_up(put("a", op="create"))


def test_a_condition_on_the_sequence_number_keeps_a_newer_document(search: Search) -> None:
    [first] = search.send(put("a", 1))
    search.send(put("a", 2))
    assert "seq_no=0 primary_term=1" == first.value
    [stale] = search.send(delete("a", if_seq_no=0, if_primary_term=1))
    assert Finding.REJECTED is stale.finding
    [fresh] = search.send(delete("a", if_seq_no=1, if_primary_term=1))
    assert Finding.SUCCEEDED is fresh.finding


def test_the_look_up_tells_same_different_and_absent_and_turns_around_for_deletes(search: Search) -> None:
    search.send(put("a", Decimal("1.50")), put("b", 2), put("r", 3, routing="x"))
    assert [
        Verdict.SAME,
        Verdict.DIFFERENT,
        Verdict.ABSENT_CONCLUSIVE,
        Verdict.SAME,
        Verdict.ABSENT_CONCLUSIVE,
        Verdict.SAME,
        Verdict.DIFFERENT,
        Verdict.ABSENT_CONCLUSIVE,
        Verdict.SUPERSEDED,
    ] == search.look_up(
        put("a", Decimal("1.5")),
        put("b", Decimal("2.0000000000000000000000000000000000000001")),
        put("c"),
        put("r", 3, routing="x"),
        put("r", 3),
        delete("never"),
        delete("a"),
        delete("b", if_seq_no=1, if_primary_term=1),
        delete("b", if_seq_no=0, if_primary_term=1),
    )


def test_an_index_that_is_not_there_rejects_items_and_makes_the_look_up_unreadable(search: Search) -> None:
    search.server.missing_indexes = {"orders"}
    told = search.send(put("a"), delete("a"))
    assert ["index_not_found_exception"] * 2 == [mention.value.code for mention in told]
    assert [Finding.REJECTED] * 2 == [mention.finding for mention in told]
    assert [Verdict.UNREADABLE] * 2 == search.look_up(put("a"), delete("a"))


@pytest.mark.parametrize(
    ("status", "proof"),
    [
        (400, Proof.REFUSED),
        (413, Proof.REFUSED),
        (429, Proof.NOT_PROCESSED),
        (401, Proof.BLOCKED),
        (403, Proof.BLOCKED),
        (404, Proof.BLOCKED),
        (408, Proof.NOTHING),
        (500, Proof.NOTHING),
        (502, Proof.NOTHING),
        (503, Proof.NOTHING),
        (504, Proof.NOTHING),
    ],
)
def test_a_whole_call_that_is_refused_proves_what_its_status_proves(search: Search, status: int, proof: Proof) -> None:
    with serving(lambda _: Reply(status, b'{"error":{}}')) as url:
        api = Bulk(url=url, index="orders")
        answer = provider.call(search.sender, api.operation, api.request(entries(put("a"), put("b"))))
        assert isinstance(answer, Failure)
        assert (f"HTTP {status}", proof) == (answer.code, api.explain(answer))
        assert api.look_up is not None
        there = provider.call(search.sender, "request", api.look_up.request(entries(put("a"))))
        assert isinstance(there, Answer)
        assert [Verdict.UNREADABLE] == api.look_up.verdicts(entries(put("a")), there.response)


# -------------------------------------------------------------------------------------- answers, synthetic from here on


def told(op: str, document_id: str, status: int, **members: object) -> dict[str, Any]:
    return {op: {"_index": "orders", "_id": document_id, "status": status, **members}}


def done(op: str, document_id: str, status: int, result: str) -> dict[str, Any]:
    return told(op, document_id, status, result=result, _version=1, _seq_no=4, _primary_term=2)


def answered(*items: object, errors: object = False, **members: object) -> dict[str, Any]:
    body = {"took": 1, "errors": errors, "items": list(items), **members}
    return {"Status": 200, "Headers": {}, "Body": json.dumps(body).encode()}


ERROR = {"type": "mapper_parsing_exception", "reason": "failed to parse"}
A_CREATED = done("index", "a", 201, "created")
B_DELETED = done("delete", "b", 200, "deleted")


def test_synthetic_the_documented_shapes_settle_their_items_by_position() -> None:
    sent = entries(put("a"), delete("b"), put("c"))
    mentions = settled(sent, answered(A_CREATED, B_DELETED, told("index", "c", 400, error=ERROR), errors=True))
    assert [Finding.SUCCEEDED, Finding.SUCCEEDED, Finding.REJECTED] == [mention.finding for mention in mentions]
    assert [
        "seq_no=4 primary_term=2",
        "seq_no=4 primary_term=2",
        ItemError("mapper_parsing_exception", "failed to parse"),
    ] == [mention.value for mention in mentions]


def test_synthetic_a_delete_of_what_is_not_there_is_done_and_no_error() -> None:
    [mention] = settled(entries(delete("b")), answered(done("delete", "b", 404, "not_found")))
    assert Finding.SUCCEEDED is mention.finding


@pytest.mark.parametrize("error", ["text from an old release", {"type": ""}, {"type": 5}, {}])
def test_synthetic_an_error_without_a_type_goes_by_its_status(error: object) -> None:
    [mention] = settled(entries(put("a")), answered(told("index", "a", 409, error=error), errors=True))
    assert (Finding.REJECTED, ItemError("HTTP 409")) == mention[1:3]
    assert "HTTP 409" in API.own_effect_codes


@pytest.mark.parametrize("status", [302, 401, 412, 418, 500, 504, 600])
def test_synthetic_a_status_in_no_table_leaves_the_item_open(status: int) -> None:
    [mention] = settled(entries(put("a")), answered(told("index", "a", status, error=ERROR), errors=True))
    assert Finding.UNKNOWN is mention.finding


@pytest.mark.parametrize(
    "response",
    [
        answered(A_CREATED),
        answered(A_CREATED, B_DELETED, B_DELETED),
        answered(B_DELETED, A_CREATED),
        answered(done("index", "z", 201, "created"), B_DELETED),
        answered(done("create", "a", 201, "created"), B_DELETED),
        answered({**A_CREATED, **B_DELETED}, B_DELETED),
        answered(A_CREATED, B_DELETED, errors=True),
        answered(told("index", "a", 400, error=ERROR), B_DELETED, errors=False),
        answered(A_CREATED, B_DELETED, errors="false"),
        answered(A_CREATED, B_DELETED, errors=None),
        answered(A_CREATED, B_DELETED, items={}),
        answered(A_CREATED, None),
        answered(A_CREATED, {"delete": None}),
        answered(told("index", "a", 201), B_DELETED),
        answered(done("index", "a", 201, "noop"), B_DELETED),
        answered(done("index", "a", 201, "deleted"), B_DELETED),
        answered(done("index", "a", 404, "not_found"), B_DELETED),
        answered(told("index", "a", 201, result="created", error=ERROR), B_DELETED, errors=True),
        answered(told("index", "a", 400), B_DELETED, errors=True),
        answered(told("index", "a", 429), B_DELETED),
        answered({"index": {"_id": "a", "status": "201", "result": "created"}}, B_DELETED),
        answered({"index": {"_id": "a", "result": "created"}}, B_DELETED),
        {"Status": 200, "Headers": {}, "Body": answered(A_CREATED, B_DELETED)["Body"][:-1]},
        {"Status": 200, "Headers": {}, "Body": answered(A_CREATED, B_DELETED)["Body"][:-1] + b',"took":2}'},
        {"Status": 200, "Headers": {}, "Body": b""},
        {"Status": 200, "Headers": {}, "Body": b"[]"},
        {"Status": 200, "Headers": {}, "Body": None},
        {"Status": 202, "Headers": {}, "Body": answered(A_CREATED, B_DELETED)["Body"]},
        {"Headers": {}, "Body": answered(A_CREATED, B_DELETED)["Body"]},
    ],
)
def test_synthetic_an_answer_that_does_not_add_up_is_refused(response: dict[str, Any]) -> None:
    with pytest.raises(LedgerInvariantError) as raised:
        settled(entries(put("a"), delete("b")), response)
    assert "mapper" not in str(raised.value)


def test_synthetic_a_failed_call_after_sdk_retries_proves_nothing() -> None:
    assert Proof.NOTHING is API.explain(Failure(FailureCause.THROTTLED, "HTTP 429", "", sdk_retry_attempts=1))


def found(document_id: str, source: bytes = b'{"n":1}', found: str = "true", more: bytes = b"") -> bytes:
    return f'{{"_index":"orders","_id":"{document_id}","found":{found},"_source":'.encode() + source + more + b"}"


@pytest.mark.parametrize(
    ("docs", "verdict"),
    [
        (found("a"), Verdict.SAME),
        (found("a", b'{ "n" : 1.0e0 }'), Verdict.SAME),
        (found("a", b'{"n":1.0000000000000000000000000000000001}'), Verdict.DIFFERENT),
        (found("a", b'{"n":true}'), Verdict.DIFFERENT),
        (found("a", b'{"n":"1"}'), Verdict.DIFFERENT),
        (found("a", b'{"n":1,"m":null}'), Verdict.DIFFERENT),
        (found("a", b"{}"), Verdict.DIFFERENT),
        (found("a", b"null"), Verdict.UNREADABLE),
        (b'{"_index":"orders","_id":"a","found":true}', Verdict.UNREADABLE),
        (b'{"_index":"orders","_id":"a","found":false}', Verdict.ABSENT_CONCLUSIVE),
        (b'{"_index":"orders","_id":"a","error":{"type":"x"}}', Verdict.UNREADABLE),
    ],
)
def test_synthetic_documents_are_compared_by_value_and_exactly(docs: bytes, verdict: Verdict) -> None:
    assert API.look_up is not None
    answer = {"Status": 200, "Headers": {}, "Body": b'{"docs":[' + docs + b"]}"}
    assert [verdict] == API.look_up.verdicts(entries(put("a")), answer)


@pytest.mark.parametrize(
    "body",
    [
        b'{"docs":[]}',
        b'{"docs":[' + found("a") + b"," + found("a") + b"]}",
        b'{"docs":[' + found("b") + b"]}",
        b'{"docs":[null]}',
        b'{"docs":[{"_id":"a"}]}',
        b'{"docs":[' + found("a", found='"true"') + b"]}",
        b'{"docs":[' + found("a", found="false") + b"]}",
        b'{"docs":[' + found("a", b'{"n":1,"n":1}') + b"]}",
        b'{"docs":[' + found("a"),
        b'{"docs":{}}',
        b"",
    ],
)
def test_synthetic_a_look_up_that_does_not_add_up_is_refused(body: bytes) -> None:
    assert API.look_up is not None
    with pytest.raises(LedgerInvariantError):
        API.look_up.verdicts(entries(put("a")), {"Status": 200, "Headers": {}, "Body": body})


def test_synthetic_a_look_up_that_failed_is_unreadable_for_all() -> None:
    assert API.look_up is not None
    failure = Failure(FailureCause.TRANSIENT, "ReadTimeoutError", "")
    assert [Verdict.UNREADABLE] * 2 == API.look_up.verdicts(entries(put("a"), delete("b")), failure)


# --------------------------------------------------------------------------------------------------- items and requests


def test_the_request_is_one_line_an_action_and_one_a_document() -> None:
    request = API.request(entries(put("a", if_seq_no=3, if_primary_term=1), delete("b", routing="x"), put("c")))
    assert ("POST", "https://search.example.com/orders/_bulk") == (request["Method"], request["Url"])
    assert (
        b'{"index":{"_id":"a","if_primary_term":1,"if_seq_no":3}}\n{"n":1}\n'
        b'{"delete":{"_id":"b","routing":"x"}}\n'
        b'{"index":{"_id":"c"}}\n{"n":1}\n'
    ) == request["Body"]


def test_sizes_add_up_to_the_body_and_a_target_may_lower_their_limit() -> None:
    items = entries(put("é", "ü\n"), delete("b"), put("c", [1, {"a": None}]))
    assert len(API.request(items)["Body"]) == sum(item.size_bytes for item in items)
    assert (1_000, 104_857_600, 104_857_600) == (API.limits.items, API.limits.request_bytes, API.limits.item_bytes)
    small = Bulk(url="https://h", index="i", request_bytes=10_485_760)
    assert (10_485_760, 10_485_760) == (small.limits.request_bytes, small.limits.item_bytes)


def test_no_two_pairs_of_id_and_routing_share_an_item_id() -> None:
    ids = [entry.item_id for entry in entries(put("a"), put("a", routing="r"), put("a?routing=r"), delete("b"))]
    assert ["a", "a?routing=r"] == ids[:2]
    assert 4 == len(set(ids))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"_id": "secret-id", "_source": {}},
        put("secret-id", op="update"),
        put("secret-id", op="INDEX"),
        {"Op": "index", "_source": {"n": 1}},
        put(""),
        {**put("x"), "_id": 5},
        put("secret-id" + "x" * 504),
        put("é" * 257),
        {"Op": "index", "_id": "secret-id"},
        {"Op": "index", "_id": "secret-id", "_source": [1]},
        {"Op": "index", "_id": "secret-id", "_source": '{"n":1}'},
        put("secret-id", 1.5),
        put("secret-id", b"bytes"),
        put("secret-id", Id="1"),
        put("secret-id", version=5),
        put("secret-id", routing=5),
        put("secret-id", routing=""),
        put("secret-id", routing="a?routing=b"),
        put("secret-id", if_seq_no=5),
        put("secret-id", if_seq_no=5, if_primary_term="1"),
        put("secret-id", if_seq_no=True, if_primary_term=1),
        put("secret-id", if_seq_no=-1, if_primary_term=1),
        put("secret-id", op="create", if_seq_no=5, if_primary_term=1),
        {**delete("secret-id"), "_source": {}},
    ],
)
def test_what_could_never_be_sent_is_refused_with_its_position_and_without_its_values(value: object) -> None:
    with pytest.raises(ManifestError) as raised:
        API.entry(value, 7)
    assert (7,) == raised.value.positions
    assert "item 7 of the input" in str(raised.value)
    assert "secret-id" not in str(raised.value)


def test_an_id_of_512_bytes_is_taken() -> None:
    assert 512 == len(API.entry(put("x" * 512), 0).item_id)


def test_a_target_makes_the_same_api_again() -> None:
    target = {"url": "http://127.0.0.1:9200/prefix/", "index": "orders-2025.01", "request_bytes": 1_000}
    assert target == Bulk.of(json.loads(json.dumps(target))).target
    assert "http://127.0.0.1:9200/prefix/orders-2025.01/_bulk" == Bulk.of(target).request([])["Url"]
    assert API.target == Bulk.of({"url": "https://search.example.com", "index": "orders"}).target


@pytest.mark.parametrize(
    ("target", "member"),
    [
        ({"index": "i"}, "url="),
        ({"url": "https://h"}, "index="),
        ({"url": "https://me:pa55@h", "index": "i"}, "url="),
        ({"url": "https://h?pipeline=p", "index": "i"}, "url="),
        ({"url": "h:9200", "index": "i"}, "url="),
        ({"url": "https://h", "index": "_all"}, "index="),
        ({"url": "https://h", "index": "-i"}, "index="),
        ({"url": "https://h", "index": ".."}, "index="),
        ({"url": "https://h", "index": "a,b"}, "index="),
        ({"url": "https://h", "index": "a*"}, "index="),
        ({"url": "https://h", "index": "<i-{now/d}>"}, "index="),
        ({"url": "https://h", "index": "x" * 256}, "index="),
        ({"url": "https://h", "index": "i", "request_bytes": 0}, "request_bytes="),
        ({"url": "https://h", "index": "i", "request_bytes": 104_857_601}, "request_bytes="),
        ({"url": "https://h", "index": "i", "pipeline": "p"}, "pipeline="),
    ],
)
def test_a_wrong_target_is_refused_by_the_members_name(target: dict[str, Any], member: str) -> None:
    with pytest.raises(ManifestError) as raised:
        Bulk.of(target)
    assert member in str(raised.value)
    assert "pa55" not in str(raised.value)
