"""A nursery of worker processes, a wire to an engine, and benches on which one operation is worked on."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import boto3
import pytest

from tests.cli.conftest import Itemledger, command
from tests.conftest import MakeTable
from tests.engines.launch import Engine
from tests.processes.bench import Bench, Json
from tests.processes.lives import Nursery, nursery
from tests.processes.wire import Wire, wire_to

_numbers = itertools.count(1)


class PutOnBench(Protocol):
    """Makes a bench for these items; ``policy`` goes on top of the benches' own."""

    def __call__(self, api: str, target: Json, wire: Wire, items: dict[str, Json], **policy: Any) -> Bench: ...


class MakeBench(Protocol):
    """Makes a bench for items of a table of its own on an engine."""

    def __call__(self, engine: Engine, wire: Wire, items: dict[str, Json], **policy: Any) -> Bench: ...


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of its own on moto."""

    url: str
    client: Any
    _put: PutOnBench

    def bench(self, wire: Wire, items: dict[str, Json], **policy: Any) -> Bench:
        return self._put("sqs.SendMessageBatch", {"queue_url": self.url}, wire, items, **policy)

    def messages(self) -> Counter[str]:
        """How often each message is there."""
        found: Counter[str] = Counter()
        while got := self.client.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, VisibilityTimeout=3600, WaitTimeSeconds=0
        ).get("Messages"):
            found.update(message["Body"] for message in got)
        return found


MakeQueue: TypeAlias = Callable[[], Queue]


@pytest.fixture(scope="session")
def workers(sealed_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("workers")) as running:
        yield running


@pytest.fixture
def wire(moto: Engine) -> Iterator[Wire]:
    """A wire to moto."""
    with wire_to(moto.endpoint_url) as running:
        yield running


@pytest.fixture
def itemledger(tmp_path: Path, wire: Wire) -> Iterator[Itemledger]:
    """The command; its calls go over ``wire``."""
    yield from command(tmp_path, wire.endpoint_url)


@pytest.fixture
def put_on_bench(workers: Nursery, tmp_path: Path) -> Iterator[PutOnBench]:
    with contextlib.ExitStack() as benches:

        def put(api: str, target: Json, wire: Wire, items: dict[str, Json], **policy: Any) -> Bench:
            bench = Bench(workers, wire, tmp_path / f"bench-{next(_numbers)}", api, target, items)
            bench.policy.update(policy)
            benches.callback(bench.close)
            return bench

        yield put


@pytest.fixture
def make_bench(put_on_bench: PutOnBench, make_table: MakeTable) -> MakeBench:
    def make(engine: Engine, wire: Wire, items: dict[str, Json], **policy: Any) -> Bench:
        target = {"table_name": make_table(engine), "key": {"pk": "S"}}
        return put_on_bench("dynamodb.BatchWriteItem", target, wire, items, **policy)

    return make


@pytest.fixture
def make_queue(moto: Engine, put_on_bench: PutOnBench) -> Iterator[MakeQueue]:
    with closing(_sqs(moto)) as client, contextlib.ExitStack() as queues:

        def make() -> Queue:
            url = client.create_queue(QueueName=f"queue-{next(_numbers)}")["QueueUrl"]
            queues.callback(client.delete_queue, QueueUrl=url)
            return Queue(url, client, put_on_bench)

        yield make


def _sqs(moto: Engine) -> Any:
    return boto3.client("sqs", endpoint_url=moto.endpoint_url)
