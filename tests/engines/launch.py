"""Starts real DynamoDB engines as processes of their own and ends them again, whatever happens."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import boto3.session
from botocore.config import Config
from botocore.exceptions import HTTPClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
NODE_MODULES = HERE / "node" / "node_modules"
REGION = "us-east-1"
START_BUDGET_S = 60.0
STOP_BUDGET_S = 5.0

# One attempt, so that a test sees every answer; time enough to read for 16 MB from moto on a busy machine.
CLIENT_CONFIG = Config(
    connect_timeout=2,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 1},
)


class EngineError(Exception):
    """An engine did not start; the text ends with what it printed."""


class DynaliteMissingError(EngineError):
    """dynalite is not installed, or no Node is left to run it; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine; it listens on loopback only, and is empty when a run of the suite starts."""

    name: str
    endpoint_url: str
    process_group: int
    _clients: list[DynamoDBClient] = field(default_factory=list, repr=False)

    def client(self, config: Config | None = None) -> DynamoDBClient:
        """A new client of the newest or oldest SDK, whichever is installed; it is closed when the engine ends."""
        client = _session().client(
            "dynamodb",
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id="engine",
            aws_secret_access_key="engine",
            config=CLIENT_CONFIG.merge(config) if config else CLIENT_CONFIG,
        )
        self._clients.append(client)
        return client


@functools.cache
def _session() -> boto3.session.Session:
    # Reading the service model takes most of the time that a new client costs; a session keeps what it has read.
    return boto3.session.Session()


@contextlib.contextmanager
def moto() -> Iterator[Engine]:
    """moto's server: the real 16 MB leftovers; capacity figures and malformed input are not to be trusted."""
    # -P keeps this directory off the child's path, where its file names would hide packages.
    with _running("moto", [sys.executable, "-P", str(HERE / "serve_moto.py")]) as engine:
        yield engine


@contextlib.contextmanager
def dynalite() -> Iterator[Engine]:
    """dynalite: capacity, validation, shuffled answers and leftovers from about 1.4 MB."""
    with _running("dynalite", [dynalite_node(), str(HERE / "node" / "serve.js")]) as engine:
        yield engine


def dynalite_node() -> str:
    """The Node that `make engines` chose; DynaliteMissingError where there is none."""
    try:
        node = str(ROOT / (NODE_MODULES / ".node").read_text().strip())
    except FileNotFoundError:
        raise DynaliteMissingError(
            "dynalite is not installed; run `make engines`, which also says why it failed"
        ) from None
    if not os.access(node, os.X_OK):
        raise DynaliteMissingError(
            f"dynalite was installed with {node}, which is gone; remove {NODE_MODULES} and run `make engines`"
        )
    return node


@contextlib.contextmanager
def _running(name: str, command: Sequence[str]) -> Iterator[Engine]:
    # The child picks its own free port and prints it: a port chosen here could be taken before the child binds it.
    # It also watches its standard input, so it ends even when this process is killed and no cleanup runs.
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=ROOT, start_new_session=True
        )
        engine: Engine | None = None
        try:
            engine = _wait_until_it_answers(name, process, output)
            yield engine
        finally:
            if engine is not None:
                for client in engine._clients:
                    client.close()
            _end(process)


def _wait_until_it_answers(name: str, process: subprocess.Popen[bytes], output: IO[bytes]) -> Engine:
    give_up_at = time.monotonic() + START_BUDGET_S
    engine: Engine | None = None
    while time.monotonic() < give_up_at:
        text = _printed(output)
        if process.poll() is not None:
            raise EngineError(f"{name} ended with {process.returncode} before it answered; it printed:\n{text[-4000:]}")
        if engine is None and (port := re.search(r"^listening (\d+)$", text, re.MULTILINE)):
            engine = Engine(name, f"http://127.0.0.1:{port[1]}", process.pid)
        if engine is not None and _answers(engine):
            return engine
        time.sleep(0.02)
    raise EngineError(
        f"{name} did not answer ListTables within {START_BUDGET_S:.0f} s; it printed:\n{_printed(output)[-4000:]}"
    )


def _answers(engine: Engine) -> bool:
    client = engine.client(Config(read_timeout=5))
    with contextlib.suppress(HTTPClientError):
        client.list_tables(Limit=1)
        return True
    return False


def _printed(output: IO[bytes]) -> str:
    # pread leaves alone the offset that the child appends at; both sides share one open file.
    return os.pread(output.fileno(), 1_000_000, 0).decode("utf-8", errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_BUDGET_S)
    # Whatever the engine may have started goes too; the group is empty where it left nothing.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_BUDGET_S)
