"""A command that is killed at the worst moment: its first write is carried out, and the answer has not come back."""

from __future__ import annotations

import contextlib
import http.client
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from tests.local_http import Reply, Request, serving

GIVE_UP_S = 60.0
WRITES = (".BatchWriteItem", ".SendMessageBatch")


def kill_after_first_write(command: str, engine_url: str) -> None:
    """Runs ``command`` here and ends it with SIGKILL; every write of it that came so far is in the engine."""
    written, gone = threading.Event(), threading.Event()

    def answer(request: Request) -> Reply:
        reply = _forwarded(request, engine_url)
        if request.headers.get("x-amz-target", "").endswith(WRITES):
            written.set()
            gone.wait(GIVE_UP_S)
        return reply

    program, *words = shlex.split(command)
    with serving(answer) as url:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / program), *words],
            env={**os.environ, "AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_DYNAMODB": url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert written.wait(GIVE_UP_S), f"{command} ended with {process.poll()} and wrote nothing"
        finally:
            process.kill()
            process.wait()
            gone.set()


def _forwarded(request: Request, engine_url: str) -> Reply:
    address = urlsplit(engine_url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=GIVE_UP_S)
    with contextlib.closing(connection):
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        connection.request(request.method, request.path, request.body, headers)
        answer = connection.getresponse()
        kept = {
            name: value for name, value in answer.getheaders() if name.lower().startswith(("x-amz", "content-type"))
        }
        return Reply(answer.status, answer.read(), kept)
