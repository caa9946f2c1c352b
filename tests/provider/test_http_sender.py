"""The HTTP sender against real sockets: what arrives, what comes back, and what each way of breaking proves."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3.response
from botocore import exceptions as sdk

from itemledger import http_sender, provider
from itemledger.apis.http import HttpRequest
from itemledger.core.answer import Answer, Failure
from itemledger.core.write_api import Proof
from itemledger.errors import ManifestError
from itemledger.http_sender import HttpSender
from tests.local_http import Reply, Request, raw_server, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def request_to(url: str, **members: Any) -> dict[str, Any]:
    return {"Method": "POST", "Url": f"{url}/orders", "Headers": {"X-One": "1"}, "Body": b'{"a":1}', **members}


def proof_of(url: str, sender: HttpSender) -> tuple[str, Proof]:
    """Code and proof of a call as the ledger's worker sees them."""
    answer = provider.call(sender, "request", request_to(url))
    assert isinstance(answer, Failure)
    return answer.code, HttpRequest(url=url).explain(answer)


@pytest.fixture
def sender() -> Iterator[HttpSender]:
    with HttpSender(headers={"Authorization": "Bearer s3cr3t"}, timeout_s=30) as sender:
        yield sender


@pytest.fixture
def hasty() -> Iterator[HttpSender]:
    """For servers that never answer."""
    with HttpSender(timeout_s=0.2) as sender:
        yield sender


def test_a_request_arrives_as_it_was_given_with_the_senders_headers(sender: HttpSender) -> None:
    seen: list[Request] = []

    def answer(request: Request) -> Reply:
        seen.append(request)
        return Reply(201, b'{"id":"x"}', {"X-Request-Id": "req-1", "Location": "/orders/x"})

    with serving(answer) as url:
        response = sender.request(**request_to(url))
    [arrived] = seen
    assert ("POST", "/orders", b'{"a":1}') == (arrived.method, arrived.path, arrived.body)
    assert ("1", "Bearer s3cr3t") == (arrived.headers["x-one"], arrived.headers["authorization"])
    assert "identity" == arrived.headers["accept-encoding"]
    assert (201, b'{"id":"x"}') == (response["Status"], response["Body"])
    assert "/orders/x" == response["Headers"]["location"]


def test_a_header_of_the_sender_stands_in_place_of_the_requests_own(sender: HttpSender) -> None:
    with raw_server(OK) as server:
        sender.request(**request_to(server.url, Headers={"authorization": "none"}))
    lines = [line for line in server.requests[0].split(b"\r\n") if line.lower().startswith(b"authorization:")]
    assert [b"Authorization: Bearer s3cr3t"] == lines


def test_the_provider_sees_status_headers_body_request_id_and_no_resend(sender: HttpSender) -> None:
    with serving(lambda _: Reply(200, b"{}", {"Request-Id": "req-7"})) as url:
        answer = provider.call(sender, "request", request_to(url))
    assert isinstance(answer, Answer)
    assert {"Status", "Headers", "Body"} == set(answer.response)
    assert ("req-7", 0) == (answer.request_id, answer.sdk_retry_attempts)


@pytest.mark.parametrize("status", [200, 204, 302, 400, 409, 429, 500, 503])
def test_every_status_is_an_answer_unless_the_request_says_otherwise(sender: HttpSender, status: int) -> None:
    sent: list[Request] = []

    def answer(request: Request) -> Reply:
        sent.append(request)
        return Reply(status, headers={"Location": "/elsewhere", "Retry-After": "0"})

    with serving(answer) as url:
        assert status == sender.request(**request_to(url))["Status"]
    assert 1 == len(sent)  # neither a retry nor a redirect


def test_a_status_that_refuses_the_call_as_a_whole_is_a_failure_with_its_code(sender: HttpSender) -> None:
    with serving(lambda _: Reply(429, b"slow down", {"X-Request-Id": "req-3"})) as url:
        answer = provider.call(sender, "request", request_to(url, FailOn=[429]))
    assert isinstance(answer, Failure)
    assert ("HTTP 429", "slow down", "req-3", 0) == (
        answer.code,
        answer.message,
        answer.request_id,
        answer.sdk_retry_attempts,
    )
    assert Proof.NOT_PROCESSED is HttpRequest(url=url).explain(answer)


def test_connections_are_kept_between_requests(sender: HttpSender) -> None:
    with serving(lambda _: Reply(200, b"{}")) as url:
        for _ in range(3):
            sender.request(**request_to(url))
        [pool] = [sender._pool.pools[key] for key in sender._pool.pools.keys()]  # noqa: SIM118 - no mapping
        assert 1 == pool.num_connections


def test_a_refused_connection_proves_that_nothing_was_sent(sender: HttpSender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert ("EndpointConnectionError", Proof.NOT_PROCESSED) == proof_of(f"http://127.0.0.1:{port}", sender)


def test_a_host_that_no_name_server_knows_proves_that_nothing_was_sent(
    sender: HttpSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert ("EndpointConnectionError", Proof.NOT_PROCESSED) == proof_of("http://nowhere.invalid", sender)


def test_a_connect_timeout_proves_that_nothing_was_sent(hasty: HttpSender) -> None:
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for waiting in (first, second):  # they fill the queue, so that the kernel drops what comes next
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert ("ConnectTimeoutError", Proof.NOT_PROCESSED) == proof_of(url, hasty)


@pytest.mark.parametrize("begun", [None, b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"])
def test_a_read_timeout_proves_nothing_wherever_the_answer_stopped(hasty: HttpSender, begun: bytes | None) -> None:
    with raw_server(begun, hold_open=True) as server:
        assert ("ReadTimeoutError", Proof.NOTHING) == proof_of(server.url, hasty)
    assert 1 == len(server.requests)


@pytest.mark.parametrize("reset", [True, False])
def test_a_connection_that_ends_after_the_request_proves_nothing_and_is_not_tried_again(
    sender: HttpSender, reset: bool
) -> None:
    with raw_server(None, reset=reset) as server:
        assert ("ConnectionClosedError", Proof.NOTHING) == proof_of(server.url, sender)
    assert 1 == len(server.requests)


@pytest.mark.parametrize(
    "cut",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n\r\n{}",
    ],
    ids=["short body", "no last chunk", "short chunk", "bad chunk", "encoded"],
)
def test_a_cut_or_unreadable_body_is_no_answer(sender: HttpSender, cut: bytes) -> None:
    with raw_server(cut) as server:
        assert ("ResponseStreamingError", Proof.NOTHING) == proof_of(server.url, sender)


def test_a_reset_within_the_body_is_no_answer(sender: HttpSender) -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", reset=True) as server:
        code, proof = proof_of(server.url, sender)
    # Whether the kernel still hands out the status line before the reset is its own matter.
    assert code in ("ResponseStreamingError", "ConnectionClosedError")
    assert Proof.NOTHING is proof


def test_a_short_body_is_noticed_where_urllib3_does_not(sender: HttpSender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib3.response.HTTPResponse, "stream", lambda self, *_, **__: iter([b"{}"]))
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}       ") as server:
        assert ("ResponseStreamingError", Proof.NOTHING) == proof_of(server.url, sender)


def test_what_is_no_http_is_no_answer(sender: HttpSender) -> None:
    with raw_server(b"SSH-2.0-OpenSSH_9.2\r\n") as server:
        assert ("ConnectionClosedError", Proof.NOTHING) == proof_of(server.url, sender)


def test_a_body_over_the_bound_is_not_read_to_its_end(sender: HttpSender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_sender, "MAX_BODY_BYTES", 50_000)
    with serving(lambda _: Reply(200, b"x" * 50_000)) as url:
        assert 50_000 == len(sender.request(**request_to(url))["Body"])
    with serving(lambda _: Reply(200, b"x" * 50_001)) as url:
        assert ("ResponseStreamingError", Proof.NOTHING) == proof_of(url, sender)


def test_an_answer_that_drips_past_the_deadline_ends_as_a_read_timeout(
    sender: HttpSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter([0.0, 29.0, 31.0])  # when it starts, after the first part, after the second
    monkeypatch.setattr(http_sender, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    with serving(lambda _: Reply(200, b"x" * 20_000)) as url:
        assert ("ReadTimeoutError", Proof.NOTHING) == proof_of(url, sender)


def test_secrets_and_paths_are_in_no_text_of_the_sender_or_of_what_it_raises(sender: HttpSender) -> None:
    assert "s3cr3t" not in repr(sender)
    with raw_server(None) as server, pytest.raises(sdk.ConnectionClosedError) as raised:
        sender.request(**request_to(server.url))
    assert server.url in str(raised.value)
    assert "orders" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Idempotency-Key": "one for all"},
        {"Content-Length": "5"},
        {"Content-Type": "text/plain"},
        {"Authorization": "Bearer a\r\nX-Other: b"},
        {"Bad Name": "x"},
        {"Authorization": "Bearer é"},
    ],
)
def test_headers_that_cannot_or_must_not_be_the_same_for_all_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ManifestError) as raised:
        HttpSender(headers=headers)
    assert not any(value in str(raised.value) for value in headers.values() if len(value) > 1)


def test_a_timeout_is_above_zero() -> None:
    with pytest.raises(ManifestError, match="timeout_s="):
        HttpSender(timeout_s=0)
