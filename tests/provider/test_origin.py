"""Labels read off the answer: stubbed, injected, in-process or local is synthetic, and no name can raise it."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import boto3
import pytest
import urllib3
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.loaders import create_loader
from botocore.stub import Stubber
from moto import mock_aws

import itemledger as il
from itemledger.core.answer import EvidenceLabel, weakest
from itemledger.origin import AWS_SUFFIXES, label_of
from itemledger.testing import Answer, FaultInjector, ScriptedClient, batch_get_response, serve_rows

if TYPE_CHECKING:
    from tests.provider.conftest import MakeClient

AWS_URL = "https://dynamodb.us-east-1.amazonaws.com/"
SYNTHETIC, OBSERVED = EvidenceLabel.SYNTHETIC, EvidenceLabel.OBSERVED
READ: dict[str, Any] = {"table_name": "T", "keys": ["A"], "key": "pk", "concurrency": 1}


@contextmanager
def over_a_socket() -> Iterator[urllib3.HTTPResponse]:
    """A genuine urllib3 response: its bytes come out of a socket, though both ends are in this process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        connection = http.client.HTTPConnection("unused.invalid")
        connection.sock = ours
        connection.request("GET", "/")
        genuine = connection.getresponse()
        response = urllib3.HTTPResponse(
            body=genuine, preload_content=False, original_response=genuine, status=200, headers=dict(genuine.headers)
        )
        yield response
        response.close()
        connection.close()


def answered_from(url: str | None, raw: object) -> Any:
    return AWSResponse(url, 200, {}, raw)  # type: ignore[arg-type]  # whatever somebody puts there


# ---------------------------------------------------------------------------------------------------- at unit level


@pytest.mark.parametrize(
    "url",
    [
        AWS_URL,
        "https://DynamoDB.US-East-1.AmazonAWS.com/",
        "https://dynamodb.us-east-1.amazonaws.com:8443/x",
        "https://123456789012.ddb.us-east-1.amazonaws.com/",
        "https://dynamodb.us-east-1.api.aws/",
        "https://dynamodb.cn-north-1.amazonaws.com.cn/",
        "https://dynamodb.eusc-de-east-1.amazonaws.eu/",
        "https://vpce-1-2.dynamodb.us-east-1.vpce.amazonaws.com/",
    ],
)
def test_observed_needs_an_aws_host_name_and_a_socket(url: str) -> None:
    with over_a_socket() as raw:
        assert OBSERVED is label_of(answered_from(url, raw))


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "http://127.0.0.1:8000/",
        "http://localhost:4566/",
        "http://dynamodb.localhost.localstack.cloud:4566/",
        "https://amazonaws.com.example.org/",
        "https://dynamodb.us-east-1.amazonaws.com.example.org/",
        "https://example.org/dynamodb.us-east-1.amazonaws.com",
        "https://example.org/?host=.amazonaws.com",
        "https://dynamodb.us-east-1.amazonaws.com@example.org/",
        "https://notamazonaws.com/",
        "https://evilapi.aws/",
        "not a url",
    ],
)
def test_a_socket_to_any_other_host_is_synthetic(url: str | None) -> None:
    with over_a_socket() as raw:
        assert SYNTHETIC is label_of(answered_from(url, raw))


class Pretender:
    """Has everything that a real response has, except that it is none."""

    def __init__(self, original: object = None) -> None:
        self._original_response = original
        self.url = AWS_URL


@pytest.mark.parametrize(
    "raw",
    [
        None,
        io.BytesIO(b"{}"),
        Pretender(),
        Pretender(object()),
        urllib3.HTTPResponse(body=io.BytesIO(b"{}"), preload_content=False),
        urllib3.HTTPResponse(body=io.BytesIO(b"{}"), preload_content=False, original_response=Pretender()),  # type: ignore[arg-type]
    ],
    ids=["none", "bytes", "pretender", "pretender-of-one", "urllib3-of-bytes", "urllib3-of-a-pretender"],
)
def test_an_aws_host_name_without_a_socket_is_synthetic(raw: object) -> None:
    assert SYNTHETIC is label_of(answered_from(AWS_URL, raw))


@pytest.mark.parametrize(
    "response", [None, object(), {"url": AWS_URL}, Pretender()], ids=["none", "object", "map", "own"]
)
def test_what_is_not_recognised_is_synthetic(response: object) -> None:
    assert SYNTHETIC is label_of(response)


def test_a_pretender_in_a_genuine_shell_is_synthetic() -> None:
    with over_a_socket() as raw:
        raw._original_response = Pretender(raw)  # type: ignore[assignment]
        assert SYNTHETIC is label_of(answered_from(AWS_URL, raw))
        raw._original_response = None


def test_every_suffix_begins_with_a_dot() -> None:
    """Or a host name that merely ends alike would count as AWS's."""
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in AWS_SUFFIXES)


def test_the_suffixes_are_those_of_the_sdk_s_partitions() -> None:
    partitions = create_loader().load_data("partitions")["partitions"]
    outputs = [partition["outputs"] for partition in partitions]
    names = {output[name] for output in outputs for name in ("dnsSuffix", "dualStackDnsSuffix") if output.get(name)}
    assert {f".{name}" for name in names} - set(AWS_SUFFIXES) == set()


# ------------------------------------------------------------------------------------------------- through a client


def test_a_stubbed_answer_is_synthetic(make_client: MakeClient) -> None:
    client = make_client(endpoint_url=AWS_URL)
    with Stubber(client) as stubber:
        stubber.add_response("batch_get_item", {"Responses": {"T": []}, "UnprocessedKeys": {}})
        result = il.read_batch(client, **READ)
    assert (True, SYNTHETIC) == (result.complete, result.totals.label)


def test_a_stubbed_error_is_synthetic(make_client: MakeClient) -> None:
    client = make_client(endpoint_url=AWS_URL)
    with Stubber(client) as stubber:
        stubber.add_client_error("batch_get_item", "ValidationException")
        result = il.read_batch(client, **READ)
    assert (False, SYNTHETIC) == (result.complete, result.totals.label)


def test_a_scripted_answer_is_synthetic() -> None:
    result = il.read_batch(ScriptedClient([batch_get_response(table="T")]), **READ)
    assert SYNTHETIC is result.totals.label


def test_an_injected_answer_from_aws_s_own_host_name_is_synthetic(make_client: MakeClient) -> None:
    client = make_client(endpoint_url=AWS_URL)
    with FaultInjector(
        client, [None, Answer({"__type": "ValidationException"}, status=400)], upstream=serve_rows({"T": []})
    ):
        read, refused = il.read_batch(client, **READ), il.read_batch(client, **READ)
    assert [(True, SYNTHETIC), (False, SYNTHETIC)] == [(r.complete, r.totals.label) for r in (read, refused)]


def test_an_answer_that_a_hook_of_the_caller_s_own_makes_is_synthetic(make_client: MakeClient) -> None:
    """The way VCR-like replayers do it: an AWSResponse with a urllib3 response around bytes in memory."""
    client = make_client(endpoint_url=AWS_URL)
    body = json.dumps({"Responses": {"T": []}, "UnprocessedKeys": {}}).encode()

    def replay(request: Any, **_: Any) -> AWSResponse:
        raw: Any = urllib3.HTTPResponse(body=io.BytesIO(body), preload_content=False, status=200)
        return AWSResponse(request.url, 200, HTTPHeaders(), raw)

    events: Any = client.meta.events  # the stubs want None of a hook
    events.register("before-send.dynamodb", replay)
    result = il.read_batch(client, **READ)
    assert (True, SYNTHETIC) == (result.complete, result.totals.label)


def test_moto_in_this_process_is_synthetic_though_it_takes_aws_s_host_name() -> None:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(
            TableName="T",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.put_item(TableName="T", Item={"pk": {"S": "A"}})
        assert "amazonaws.com" in client.meta.endpoint_url
        result = il.read_batch(client, **READ)
        client.close()
    assert {"A"} == result.returned
    assert SYNTHETIC is result.totals.label


class Service(BaseHTTPRequestHandler):
    """Answers every request with an empty, intact BatchGetItem answer."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"Responses": {"T": []}, "UnprocessedKeys": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_on_this_machine_is_synthetic_though_it_answers_over_a_socket(make_client: MakeClient) -> None:
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        client = make_client(endpoint_url=f"http://127.0.0.1:{server.server_port}")
        seen: list[Any] = []
        client.meta.events.register_last("after-call.dynamodb", lambda http_response, **_: seen.append(http_response))
        result = il.read_batch(client, **READ)
        server.shutdown()
        thread.join(30)
    assert (True, SYNTHETIC) == (result.complete, result.totals.label)
    (response,) = seen
    response.url = AWS_URL  # the control: the host name alone is what kept it from being observed
    assert OBSERVED is label_of(response)


# ------------------------------------------------------------------------------------------------------ the weakest


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("observed", "observed"),
        ("observed observed", "observed"),
        ("observed synthetic", "synthetic"),
        ("synthetic expected observed", "expected"),
        ("expected documented synthetic", "documented"),
    ],
)
def test_a_result_carries_the_weakest_label_in_any_order(labels: str, expected: str) -> None:
    found = [EvidenceLabel(label) for label in labels.split()]
    assert EvidenceLabel(expected) is weakest(found) is weakest(reversed(found))


def test_nothing_has_no_label() -> None:
    with pytest.raises(ValueError, match=r".+"):
        weakest([])
