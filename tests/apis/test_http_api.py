"""HTTP requests under an Idempotency-Key, against a server that keeps the IETF draft and writes down every effect."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from itemledger import provider
from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.http import HttpRequest
from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.reconcile import Finding, Mention, reconcile
from itemledger.core.write_api import Effect, Entry, ItemError, Proof, Scope
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.http_sender import HttpSender
from tests.local_http import Reply, Request, serving

API = HttpRequest(url="https://api.example.com/orders")


def keyed(entry: Entry, key: str = "key-1") -> Entry:
    """The entry as the ledger sends it, with a key."""
    return Entry(entry.item_id, entry.payload, entry.size_bytes, entry.idempotency_key or key, entry.group_id)


def settled(response: dict[str, Any], api: HttpRequest = API) -> Mention:
    sent = [keyed(api.entry({"Body": {"a": 1}}, 0))]
    [mention] = reconcile(1, api.mentions(sent, response), api.silence())
    return mention


def response(status: int, body: bytes = b"", **headers: str) -> dict[str, Any]:
    return {"Status": status, "Headers": {n.replace("_", "-"): v for n, v in headers.items()}, "Body": body}


# ----------------------------------------------------------------------------------- a server that keeps to the draft


@dataclass
class Orders:
    """Creates an order for each new key; ``effects`` is its journal, one line an order, and the oracle here."""

    effects: list[tuple[str, Any]] = field(default_factory=list)
    stored: dict[str, tuple[str, Reply]] = field(default_factory=dict)
    in_flight: set[str] = field(default_factory=set)
    entered: threading.Event = field(default_factory=threading.Event)
    may_finish: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def __call__(self, request: Request) -> Reply:
        key, fingerprint = request.headers["idempotency-key"], hashlib.sha256(request.body).hexdigest()
        with self.lock:
            if key in self.in_flight:
                return _problem(409, "A request is outstanding for this Idempotency-Key")
            if key in self.stored:
                seen, reply = self.stored[key]
                return reply if seen == fingerprint else _problem(422, "Idempotency-Key is already used")
            self.in_flight.add(key)
        self.entered.set()
        assert self.may_finish.wait(30)
        with self.lock:
            order = json.loads(request.body)
            self.effects.append((request.path, order))
            created = {"id": f"order-{len(self.effects)}", **order}
            reply = Reply(201, json.dumps(created).encode(), {"Content-Type": "application/json"})
            if order.get("amount") == 500:  # the effect is there, and the server falls over
                reply = Reply(500, b"oops")
            self.stored[key] = fingerprint, reply
            self.in_flight.discard(key)
        return reply


def _problem(status: int, title: str) -> Reply:
    body = {"type": "https://developer.example.com/idempotency", "title": title}
    return Reply(status, json.dumps(body).encode(), {"Content-Type": "application/problem+json"})


@pytest.fixture
def orders() -> Iterator[Orders]:
    server = Orders()
    server.may_finish.set()
    with serving(server) as url:
        server.url = f"{url}/orders"
        yield server


@pytest.fixture
def sender() -> Iterator[HttpSender]:
    with HttpSender(timeout_s=30) as sender:
        yield sender


def sent(api: HttpRequest, sender: HttpSender, entry: Entry) -> Mention:
    answer = provider.call(sender, api.operation, api.request([entry]))
    assert isinstance(answer, Answer)
    [mention] = reconcile(1, api.mentions([entry], answer.response), api.silence())
    return mention


def test_a_request_makes_one_order_and_says_which(orders: Orders, sender: HttpSender) -> None:
    api = HttpRequest(url=orders.url)
    entry = keyed(api.entry({"Body": {"amount": Decimal("10.50")}, "Path": "/eu"}, 0))
    assert (Finding.SUCCEEDED, "order-1") == sent(api, sender, entry)[1:3]
    assert [("/orders/eu", {"amount": 10.5})] == orders.effects


def test_sending_again_under_the_same_key_returns_the_first_answer_and_does_nothing(
    orders: Orders, sender: HttpSender
) -> None:
    api = HttpRequest(url=orders.url)
    value = {"Body": {"amount": Decimal("10.50"), "to": "é"}}
    assert "order-1" == sent(api, sender, keyed(api.entry(value, 0)))[2]
    again = {"Body": dict(reversed(value["Body"].items()))}  # a store may bring the members back in another order
    assert "order-1" == sent(api, sender, keyed(api.entry(again, 0)))[2]
    assert 1 == len(orders.effects)


def test_a_key_used_again_with_another_payload_is_rejected_and_does_nothing(orders: Orders, sender: HttpSender) -> None:
    api = HttpRequest(url=orders.url)
    sent(api, sender, keyed(api.entry({"Body": {"amount": 10}}, 0)))
    mention = sent(api, sender, keyed(api.entry({"Body": {"amount": 9_999}}, 0)))
    assert Finding.REJECTED is mention.finding
    assert ItemError("HTTP 422", "Idempotency-Key is already used") == mention.value
    assert [("/orders", {"amount": 10})] == orders.effects


def test_a_request_that_finds_its_own_earlier_one_at_work_is_to_come_again_and_gets_the_first_answer(
    orders: Orders, sender: HttpSender
) -> None:
    """FC-50: "already in use" is evidence of the first send, not a failure."""
    api = HttpRequest(url=orders.url)
    entry = keyed(api.entry({"Body": {"amount": 10}}, 0))
    orders.may_finish.clear()
    first: list[Mention] = []
    slow = threading.Thread(target=lambda: first.append(sent(api, sender, entry)))
    slow.start()
    assert orders.entered.wait(30)
    second = sent(api, sender, entry)
    orders.may_finish.set()
    slow.join()
    assert (Finding.TRANSIENT, "HTTP 409") == (second.finding, second.value.code)
    assert "order-1" == first[0].value == sent(api, sender, entry).value
    assert 1 == len(orders.effects)


def test_a_server_error_leaves_the_outcome_open_since_the_effect_may_be_there(
    orders: Orders, sender: HttpSender
) -> None:
    api = HttpRequest(url=orders.url)
    mention = sent(api, sender, keyed(api.entry({"Body": {"amount": 500}}, 0)))
    assert (Finding.UNKNOWN, ItemError("HTTP 500")) == mention[1:3]
    assert 1 == len(orders.effects)


def test_an_answer_lost_after_the_effect_is_found_again_by_its_key(orders: Orders, sender: HttpSender) -> None:
    api = HttpRequest(url=orders.url)
    entry = keyed(api.entry({"Body": {"amount": 10}}, 0))
    orders.may_finish.clear()
    with HttpSender(timeout_s=0.2) as hasty:
        answer = provider.call(hasty, api.operation, api.request([entry]))
    assert isinstance(answer, Failure)
    assert Proof.NOTHING is api.explain(answer)
    orders.may_finish.set()
    while (mention := sent(api, sender, entry)).finding is Finding.TRANSIENT:
        pass  # 409 until the first request is through; each turn is a whole request
    assert (Finding.SUCCEEDED, "order-1") == mention[1:3]
    assert 1 == len(orders.effects)


def test_a_conflict_of_a_server_that_knows_no_key_is_no_request_that_is_outstanding(sender: HttpSender) -> None:
    with serving(lambda _: Reply(409)) as url:
        keyless, keyed_api = HttpRequest(url=url, key_life_s=0), HttpRequest(url=url)
        told = [sent(api, sender, keyed(api.entry({"Body": 1}, 0))) for api in (keyless, keyed_api)]
    assert [Finding.REJECTED, Finding.TRANSIENT] == [each.finding for each in told]
    assert ["HTTP 409" in api.own_effect_codes for api in (keyless, keyed_api)] == [True, False]


@pytest.mark.parametrize("status", [403, 404])
def test_a_status_that_is_about_who_asks_ends_the_run_where_the_target_says_so(sender: HttpSender, status: int) -> None:
    with serving(lambda _: Reply(status)) as url:
        api, other = HttpRequest(url=url, blocked_statuses=[status, 410]), HttpRequest(url=url)
        answer = provider.call(sender, api.operation, api.request([keyed(api.entry({"Body": 1}, 0))]))
        mention = sent(other, sender, keyed(other.entry({"Body": 1}, 0)))
    assert isinstance(answer, Failure)
    assert (f"HTTP {status}", Proof.BLOCKED) == (answer.code, api.explain(answer))
    assert (Finding.REJECTED, ItemError(f"HTTP {status}")) == mention[1:3]


@pytest.mark.parametrize(
    ("status", "proof"),
    [(401, Proof.BLOCKED), (407, Proof.BLOCKED), (429, Proof.NOT_PROCESSED)],
)
def test_who_may_not_ask_and_who_asks_too_much_hear_it_as_a_failure_of_the_call(
    sender: HttpSender, status: int, proof: Proof
) -> None:
    with serving(lambda _: Reply(status)) as url:
        api = HttpRequest(url=url)
        answer = provider.call(sender, api.operation, api.request([keyed(api.entry({"Body": 1}, 0))]))
    assert isinstance(answer, Failure)
    assert f"HTTP {status}" == answer.code
    assert proof is api.explain(answer)


# ------------------------------------------------------------------------------------- answers, synthetic from here on


@pytest.mark.parametrize(
    ("status", "finding"),
    [
        (200, Finding.SUCCEEDED),
        (201, Finding.SUCCEEDED),
        (202, Finding.SUCCEEDED),
        (204, Finding.SUCCEEDED),
        (207, Finding.UNKNOWN),
        (301, Finding.UNKNOWN),
        (303, Finding.UNKNOWN),
        (307, Finding.UNKNOWN),
        (400, Finding.REJECTED),
        (403, Finding.REJECTED),
        (404, Finding.REJECTED),
        (408, Finding.UNKNOWN),
        (409, Finding.TRANSIENT),
        (412, Finding.REJECTED),
        (422, Finding.REJECTED),
        (425, Finding.TRANSIENT),
        (429, Finding.TRANSIENT),
        (500, Finding.UNKNOWN),
        (502, Finding.UNKNOWN),
        (503, Finding.UNKNOWN),
        (504, Finding.UNKNOWN),
        (599, Finding.UNKNOWN),
        (700, Finding.UNKNOWN),
        (100, Finding.UNKNOWN),
    ],
)
def test_synthetic_every_status_has_its_finding(status: int, finding: Finding) -> None:
    mention = settled(response(status))
    assert finding is mention.finding
    assert (None if finding is Finding.SUCCEEDED else ItemError(f"HTTP {status}")) == mention.value


@pytest.mark.parametrize(
    ("answer", "ref"),
    [
        (response(201, Location="/orders/7"), "/orders/7"),
        (response(201, b'{"id":"x"}', content_type="application/json", location="/orders/7"), "/orders/7"),
        (response(200, b'{"id":"x"}', Content_Type="application/vnd.api+json; charset=utf-8"), "x"),
        (response(200, b'{"id":17}', content_type="application/json"), None),
        (response(200, b'{"id":"' + b"x" * 1_025 + b'"}', content_type="application/json"), None),
        (response(200, b'{"id":"x"}', content_type="text/plain"), None),
        (response(200, b"[1]", content_type="application/json"), None),
        (response(200, b"", content_type="application/json"), None),
    ],
)
def test_synthetic_the_object_ref_is_the_location_or_a_short_id(answer: dict[str, Any], ref: str | None) -> None:
    assert (Finding.SUCCEEDED, ref) == settled(answer)[1:3]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"title":"No such order","detail":"gone"}', "No such order - gone"),
        (b'{"error":{"message":"bad amount","type":"x"}}', "bad amount"),
        (b'{"message":5}', ""),
        (b'["a"]', ""),
    ],
)
def test_synthetic_what_an_error_says_is_kept_for_people(body: bytes, message: str) -> None:
    assert ItemError("HTTP 400", message) == settled(response(400, body, content_type="application/json")).value


@pytest.mark.parametrize(
    "answer",
    [
        {"Headers": {}, "Body": b""},
        {"Status": "200", "Headers": {}, "Body": b""},
        {"Status": True, "Headers": {}, "Body": b""},
        {"Status": 200, "Body": b""},
        {"Status": 200, "Headers": {}},
        {"Status": 200, "Headers": {}, "Body": "{}"},
        response(200, b'{"id":"x"', content_type="application/json"),
        response(200, b'{"id":"x","id":"y"}', content_type="application/json"),
        response(200, b'{"id":"x"} {}', content_type="application/json"),
        response(200, b'{"id":NaN}', content_type="application/json"),
        response(200, b"\xff\xfe", content_type="application/json"),
        response(404, b"<html>", content_type="application/json"),
    ],
)
def test_synthetic_a_malformed_or_damaged_answer_is_refused_and_settles_nothing(answer: dict[str, Any]) -> None:
    with pytest.raises(LedgerInvariantError):
        settled(answer)


@pytest.mark.parametrize(
    ("failure", "proof"),
    [
        (Failure(FailureCause.TRANSIENT, "ReadTimeoutError", ""), Proof.NOTHING),
        (Failure(FailureCause.TRANSIENT, "ConnectionClosedError", ""), Proof.NOTHING),
        (Failure(FailureCause.TRANSIENT, "ResponseStreamingError", ""), Proof.NOTHING),
        (Failure(FailureCause.TRANSIENT, "EndpointConnectionError", ""), Proof.NOT_PROCESSED),
        (Failure(FailureCause.THROTTLED, "HTTP 429", ""), Proof.NOT_PROCESSED),
        (Failure(FailureCause.THROTTLED, "HTTP 429", "", sdk_retry_attempts=1), Proof.NOTHING),
        (Failure(FailureCause.TRANSIENT, "HTTP 503", ""), Proof.NOTHING),
        (Failure(FailureCause.UNKNOWN, "RuntimeError", ""), Proof.NOTHING),
    ],
)
def test_synthetic_a_failed_call_proves_only_what_its_code_proves(failure: Failure, proof: Proof) -> None:
    assert proof is API.explain(failure)


# --------------------------------------------------------------------------------------------------- items and requests


def test_the_request_carries_the_key_the_path_and_exact_numbers() -> None:
    api = HttpRequest(url="https://api.example.com/v1/?dry=1", method="PATCH", headers={"X-Tenant": "7"})
    line = b'{"Body":{"n":12345678901234567890.10,"e":1E+2,"i":7,"t":true,"z":null,"s":"\\u00e9"},"Path":"/orders/17"}'
    request = api.request([keyed(api.entry(json_loads_exact(line), 0), "k")])
    assert ("PATCH", "https://api.example.com/v1/orders/17?dry=1") == (request["Method"], request["Url"])
    assert {"Content-Type": "application/json", "X-Tenant": "7", "Idempotency-Key": "k"} == request["Headers"]
    expected = '{"e":1E+2,"i":7,"n":12345678901234567890.10,"s":"é","t":true,"z":null}'
    assert expected.encode() == request["Body"]


def test_a_target_may_name_another_content_type() -> None:
    api = HttpRequest(url="http://127.0.0.1/", headers={"content-type": "application/cloudevents+json"})
    headers = api.request([keyed(api.entry({"Body": 1}, 0), "k")])["Headers"]
    assert {"content-type": "application/cloudevents+json", "Idempotency-Key": "k"} == headers


def test_size_is_that_of_the_body_in_bytes() -> None:
    assert len('{"a":"é"}'.encode()) == API.entry({"Body": {"a": "é"}}, 0).size_bytes


def test_an_item_is_named_by_its_own_id_or_its_number_and_may_bring_its_key() -> None:
    assert "5" == API.entry({"Body": 1}, 4).item_id
    entry = API.entry({"Body": 1, "Id": "order-9", "IdempotencyKey": "mine"}, 4)
    assert ("order-9", "mine", {"Body": 1}) == (entry.item_id, entry.idempotency_key, entry.payload)
    assert "mine" == API.request([entry])["Headers"]["Idempotency-Key"]


def test_only_a_delete_may_go_without_a_body_and_null_is_one() -> None:
    api = HttpRequest(url="http://127.0.0.1/orders", method="DELETE")
    assert b"" == api.request([keyed(api.entry({"Path": "/1"}, 0))])["Body"]
    assert b"null" == API.request([keyed(API.entry({"Body": None}, 0))])["Body"]
    with pytest.raises(ManifestError, match="no Body"):
        API.entry({"Path": "/1"}, 0)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "text",
        {},
        {"Body": 1, "body": 2},
        {"Body": 1.5},
        {"Body": {"a": [Decimal("NaN")]}},
        {"Body": {"a": b"bytes"}},
        {"Body": {1: "a"}},
        {"Body": 10**5_000},
        {"Body": 1, "Id": 5},
        {"Body": 1, "Id": ""},
        {"Body": 1, "IdempotencyKey": ""},
        {"Body": 1, "IdempotencyKey": "two words"},
        {"Body": 1, "IdempotencyKey": "x" * 256},
        {"Body": 1, "IdempotencyKey": "a\r\nX-B: c"},
        {"Body": 1, "Path": 5},
        {"Body": 1, "Path": "orders"},
        {"Body": 1, "Path": "/a/../../admin"},
        {"Body": 1, "Path": "/a/%2E%2e/b"},
        {"Body": 1, "Path": "/a b"},
        {"Body": 1, "Path": "/a?b=c"},
        {"Body": 1, "Path": "/é"},
    ],
)
def test_what_could_never_be_sent_is_refused_with_its_position_and_without_its_values(value: object) -> None:
    with pytest.raises(ManifestError) as raised:
        API.entry(value, 3)
    assert (3,) == raised.value.positions
    assert "item 3 of the input" in str(raised.value)
    assert not any(text in str(raised.value) for text in ("admin", "two words", "bytes'"))


def test_a_body_nested_beyond_all_bounds_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ManifestError, match="nested too deeply"):
        API.entry({"Body": deep}, 0)


# -------------------------------------------------------------------------------------------------------------- targets


def test_a_target_makes_the_same_api_again() -> None:
    target = {
        "url": "https://api.example.com/orders",
        "method": "PUT",
        "headers": {"X-Tenant": "7"},
        "key_life_s": 3_600,
        "blocked_statuses": [403, 404],
    }
    assert target == HttpRequest.of(target).target
    assert json.loads(json.dumps(target)) == HttpRequest.of(target).target
    assert API.target == HttpRequest.of({"url": "https://api.example.com/orders"}).target


@pytest.mark.parametrize(
    ("target", "member"),
    [
        ({}, "url="),
        ({"url": "https://h", "verb": "POST"}, "verb="),
        ({"url": 5}, "url="),
        ({"url": "api.example.com"}, "url="),
        ({"url": "ftp://h/"}, "url="),
        ({"url": "https://"}, "url="),
        ({"url": "https://h:port/"}, "url="),
        ({"url": "https://me:pa55@h/"}, "url="),
        ({"url": "https://h/#a"}, "url="),
        ({"url": "https://h/a b"}, "url="),
        ({"url": "https://h/a/../b"}, "url="),
        ({"url": "https://h/?api_key=pa55"}, "url="),
        ({"url": "https://h/?x=1&sig=pa55"}, "url="),
        ({"url": "https://h", "method": "GET"}, "method="),
        ({"url": "https://h", "headers": []}, "headers="),
        ({"url": "https://h", "headers": {"Authorization": "pa55"}}, "headers="),
        ({"url": "https://h", "headers": {"x-api-key": "pa55"}}, "headers="),
        ({"url": "https://h", "headers": {"Cookie": "pa55"}}, "headers="),
        ({"url": "https://h", "headers": {"X-Vault-Token": "pa55"}}, "headers="),
        ({"url": "https://h", "headers": {"Idempotency-Key": "pa55"}}, "headers="),
        ({"url": "https://h", "headers": {"Host": "pa55"}}, "headers="),
        ({"url": "https://h", "headers": {"X-A": 5}}, "headers="),
        ({"url": "https://h", "headers": {"X-A": "pa55\r\nX-B: 1"}}, "headers="),
        ({"url": "https://h", "headers": {"X-A": "1", "x-a": "2"}}, "headers="),
        ({"url": "https://h", "key_life_s": -1}, "key_life_s="),
        ({"url": "https://h", "key_life_s": 1.5}, "key_life_s="),
        ({"url": "https://h", "blocked_statuses": 403}, "blocked_statuses="),
        *(
            ({"url": "https://h", "blocked_statuses": [each]}, "blocked_statuses=")
            for each in (200, 409, 429, 500, "403")
        ),
    ],
)
def test_a_target_that_is_wrong_or_holds_a_secret_is_refused_by_the_members_name(
    target: dict[str, Any], member: str
) -> None:
    with pytest.raises(ManifestError) as raised:
        HttpRequest.of(target)
    assert member in str(raised.value)
    assert "pa55" not in str(raised.value)


def test_within_its_life_the_key_protects_the_item_and_after_it_only_the_method_does() -> None:
    assert API.replay is not None
    assert (Scope.ITEM, 86_400) == (API.replay.scope, API.replay.life_s)
    assert Effect.APPEND is API.effect
    assert HttpRequest(url="https://h", key_life_s=0).replay is None
    effects = {method: HttpRequest(url="https://h", method=method).effect for method in ("PATCH", "PUT", "DELETE")}
    assert {"PATCH": Effect.APPEND, "PUT": Effect.REPEATABLE, "DELETE": Effect.REPEATABLE} == effects


def test_nothing_left_to_delete_is_evidence_of_an_earlier_delete() -> None:
    delete = HttpRequest(url="https://h", method="DELETE")
    error = settled_delete(delete, 404)
    assert error.code in delete.own_effect_codes
    assert error.code not in API.own_effect_codes


def settled_delete(api: HttpRequest, status: int) -> ItemError:
    [mention] = api.mentions([keyed(api.entry({"Path": "/1"}, 0))], response(status))
    assert isinstance(mention.value, ItemError)
    return mention.value
