"""Runs ``itemledger`` as a process in a directory of its own, and what the tests need to look at what it left."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli import proxy as proxies
from tests.cli.proxy import Proxy
from tests.engines.launch import Engine
from tests.engines.tables import create_table, delete_table

Json = dict[str, Any]
GIVE_UP_S = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended and what it printed."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def rows(self) -> list[Json]:
        return [json.loads(line) for line in self.stdout.splitlines()]


@dataclass(slots=True)
class Itemledger:
    """The command in one directory; ``endpoint_url`` is the engine's unless a test says otherwise."""

    directory: Path
    endpoint_url: str
    environment: dict[str, str | None] = field(default_factory=dict)
    """On top of the test's own; ``None`` takes a variable away."""
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __call__(self, *arguments: str | Path, stdin: str | bytes = b"") -> Ended:
        process = self.start(*arguments)
        return self.end(process, stdin.encode() if isinstance(stdin, str) else stdin)

    def start(self, *arguments: str | Path, **popen: Any) -> subprocess.Popen[bytes]:
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment = {**os.environ, "AWS_ENDPOINT_URL_DYNAMODB": self.endpoint_url, **self.environment}
        process = subprocess.Popen(
            [sys.executable, "-m", "itemledger", *map(str, arguments)],
            env={name: value for name, value in environment.items() if value is not None},
            **{**streams, "cwd": self.directory, **popen},
        )
        self._started.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes], stdin: bytes = b"") -> Ended:
        stdout, stderr = process.communicate(stdin, timeout=GIVE_UP_S)
        return Ended(process.returncode, (stdout or b"").decode(), (stderr or b"").decode())

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.directory / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def keys(self, keys: Iterable[object], name: str = "keys.jsonl") -> Path:
        return self.write(name, "".join(f"{json.dumps(key)}\n" for key in keys))

    def rows(self, name: str) -> list[Json]:
        return [json.loads(line) for line in (self.directory / name).read_text().splitlines()]

    def files(self) -> set[str]:
        return {path.name for path in self.directory.iterdir()}

    def hold(self) -> Path:
        """The one hold record that was written under a name of its own."""
        (path,) = self.directory.glob("hold-*.json")
        return path

    def close(self) -> None:
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()


def command(directory: Path, endpoint_url: str) -> Iterator[Itemledger]:
    itemledger = Itemledger(directory, endpoint_url)
    yield itemledger
    itemledger.close()


@pytest.fixture
def il(tmp_path: Path, moto: Engine) -> Iterator[Itemledger]:
    """``itemledger`` against moto."""
    yield from command(tmp_path, moto.endpoint_url)


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Itemledger]:
    """``itemledger`` where no engine is needed: nobody listens at its endpoint."""
    yield from command(tmp_path, "http://127.0.0.1:9")


@pytest.fixture
def proxy(moto: Engine, il: Itemledger) -> Iterator[Proxy]:
    """A proxy in front of moto; ``il`` goes through it."""
    with proxies.running(moto.endpoint_url) as running:
        il.endpoint_url = running.endpoint_url
        yield running


@pytest.fixture(scope="session")
def orders(moto: Engine) -> Iterator[str]:
    """A table that nobody writes to, with the string keys k0 … k249, each item with its number."""
    client = moto.client()
    table = create_table(client, (("pk", "S"),))
    put(moto, table, ({"pk": {"S": f"k{n}"}, "n": {"N": str(n)}} for n in range(250)))
    yield table
    delete_table(client, table)


def put(engine: Engine, table: str, items: Iterable[Mapping[str, Any]]) -> None:
    client = engine.client()
    requests: list[Any] = [{"PutRequest": {"Item": item}} for item in items]
    for start in range(0, len(requests), 25):
        left = client.batch_write_item(RequestItems={table: requests[start : start + 25]})
        assert not left["UnprocessedItems"]


@dataclass(frozen=True, slots=True)
class InProcess:
    """The command in this process, where what it makes of options and files needs no process of its own."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str | Path) -> Ended:
        main = importlib.import_module("itemledger.cli.main")
        self.capture.readouterr()
        with pytest.raises(SystemExit) as end:
            main.app([str(argument) for argument in arguments], prog_name="itemledger")
        told = self.capture.readouterr()
        code = end.value.code
        assert code is None or isinstance(code, int)
        return Ended(code or 0, told.out, told.err)


@pytest.fixture
def cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], sealed_environment: None
) -> InProcess:
    """``itemledger`` in this process, in a directory of the test."""
    monkeypatch.chdir(tmp_path)
    return InProcess(capfd)
