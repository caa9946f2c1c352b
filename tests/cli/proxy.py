"""Stands between the command line and an engine, so that a test can hold, replace or change single answers."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
GIVE_UP_S = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back to the command: a status and a JSON object."""

    body: Mapping[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class Broken:
    """The connection ends after so many bytes of the answer's body; ``None``: before a byte of the answer."""

    body: Mapping[str, Any] = field(default_factory=dict)
    after_bytes: int | None = None


@dataclass(slots=True)
class Asked:
    """One call of the watched operation on its way: which one, what it asks, and how to let the engine answer it."""

    number: int
    request: Json
    forward: Callable[[], Json]


Answering = Callable[[Asked], Reply | Broken | None]


@dataclass(slots=True)
class Proxy:
    """``answering`` is asked at each call of the watched operation, in the thread of its connection; ``None`` lets the
    engine answer. All other calls go through."""

    endpoint_url: str
    engine_url: str
    answering: Answering = lambda asked: None
    watched: str = "BatchGetItem"
    description: bytes | None = None
    """What DescribeTable is answered in the engine's place."""
    requests: list[Json] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def hold_from(self, number: int) -> threading.Event:
        """Lets nothing from this call on through; the event says that it has come."""
        arrived = threading.Event()

        def answering(asked: Asked) -> None:
            if asked.number >= number:
                arrived.set()
                self.released.wait(GIVE_UP_S)

        self.answering = answering
        return arrived

    def fail_from(self, number: int, code: str, message: str = "made up by the test", status: int = 400) -> None:
        """An error of the service from this call on."""
        error = Reply({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}, status)
        self.answering = lambda asked: error if asked.number >= number else None

    def asked_keys(self) -> list[Json]:
        """Every key that was asked for, in order, call by call."""
        return [key for request in self.requests for table in request["RequestItems"].values() for key in table["Keys"]]


@contextlib.contextmanager
def running(engine_url: str) -> Iterator[Proxy]:
    """A proxy on a free loopback port, with nothing left of it afterwards."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    proxy = Proxy(f"http://127.0.0.1:{server.server_address[1]}", engine_url)
    server.proxy = proxy  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        proxy: Proxy = self.server.proxy  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        if operation != proxy.watched:
            described = operation == "DescribeTable" and proxy.description
            self._send(*((200, described) if described else self._forwarded(proxy, body)))
            return
        request = json.loads(body)
        with proxy.lock:
            proxy.requests.append(request)
            number = len(proxy.requests)
        reply = proxy.answering(Asked(number, request, lambda: dict(json.loads(self._forwarded(proxy, body)[1]))))
        if reply is None:
            self._send(*self._forwarded(proxy, body))
        elif isinstance(reply, Broken):
            self._break_off(json.dumps(reply.body).encode(), reply.after_bytes)
        else:
            self._send(reply.status, json.dumps(reply.body).encode())

    def _forwarded(self, proxy: Proxy, body: bytes) -> tuple[int, bytes]:
        address = urlsplit(proxy.engine_url)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=GIVE_UP_S)
        with contextlib.closing(connection):
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request("POST", "/", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def _send(self, status: int, body: bytes) -> None:
        with contextlib.suppress(OSError):  # whoever asked may be gone
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("x-amz-crc32", str(zlib.crc32(body)))
            self.send_header("x-amzn-RequestId", "PROXY")
            self.end_headers()
            self.wfile.write(body)

    def _break_off(self, body: bytes, after_bytes: int | None) -> None:
        self.close_connection = True
        if after_bytes is not None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.wfile.write(body[:after_bytes])

    def log_message(self, format: str, *args: object) -> None:
        pass
