"""Both drivers at a ledger's work with real clients, on real engines, with faults on the wire; time is not real."""

from __future__ import annotations

import asyncio
import functools
import http.client
import itertools
import json
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError

import itemledger as il
from itemledger import Decision, WorkStop, aio
from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.apis.sqs import SendMessageBatch
from itemledger.ledger import Ledger, Outcome, Policy, Review, open_ledger
from itemledger.testing import (
    Answer,
    CutBody,
    DropMember,
    EmptyBody,
    ExpiredToken,
    FakeClock,
    Fault,
    FaultInjector,
    LeaveUnprocessed,
    NotJson,
    ResetAfter,
    ResetBefore,
    ServerError,
    Throttle,
    WrongCrc,
    instant_retries,
)
from itemledger.testing.wire import Attempt, Forward, Plan
from tests.drivers.both import GIVE_UP_S, every_thread_ends
from tests.drivers.scenarios import highest
from tests.drivers.work_scenarios import OPERATION, attempts, standing, story, value
from tests.engines.launch import REGION
from tests.local_http import Reply, Request, serving

if TYPE_CHECKING:
    from tests.conftest import MakeTable
    from tests.engines.launch import Engine

LETTERS = "ABCDEFGH"
EXPIRED = "ExpiredTokenException"


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with every_thread_ends():
        yield


# ------------------------------------------------------------------------------------------------------------ the cases


@dataclass(frozen=True)
class ServerErrorAfter(Fault):
    """The request is carried out for real, and then the service says that it failed."""

    def play(self, attempt: Attempt) -> Plan:
        yield Forward()
        return (yield from ServerError().play(attempt))


@dataclass(frozen=True)
class Case:
    """One run over eight items. ``faults`` come attempt by attempt, or are chosen by what is asked; ``stored`` is what
    the table holds afterwards."""

    name: str
    faults: Sequence[Fault | None] | Callable[[str], Fault | None]
    asked: Sequence[str]
    rows: str = "S" * 8
    attempts: str = "1" * 8
    decision: Decision = Decision.ACCEPT
    stored: str = LETTERS
    code: str | None = None

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


REFUSED = Answer({"__type": "com.amazon.coral.validate#ValidationException", "message": "one item is bad"}, 400)
PUT, GET = f"put {LETTERS}", f"get {LETTERS}"

CASES = [
    Case("all succeed in one request", [], [PUT]),
    Case(
        "leftovers are sent again alone",
        [LeaveUnprocessed(keep=6), LeaveUnprocessed(keep=0)],
        [PUT, "put GH", "put GH"],
        attempts="11111133",
    ),
    Case("throttled whole", [Throttle(), Throttle("ThrottlingException")], [PUT] * 3),
    Case("refused connection", [ResetBefore()], [PUT] * 2),
    Case("500 before the effect", [ServerError()], [PUT, GET, PUT], attempts="2" * 8),
    Case("500 after the effect", [ServerErrorAfter()], [PUT, GET]),
    Case("connection lost before the effect", [ResetBefore(ConnectionClosedError)], [PUT, GET, PUT], attempts="2" * 8),
    Case("connection lost after the effect", [ResetAfter(ConnectionClosedError)], [PUT, GET]),
    Case("read timeout after the effect", [ResetAfter()], [PUT, GET]),
    Case("answer cut", [CutBody(0.5)], [PUT, GET]),
    Case("answer with a wrong checksum", [WrongCrc()], [PUT, GET]),
    Case("answer without its one member", [DropMember("UnprocessedItems")], [PUT, GET]),
    Case("answer empty and nothing done", [EmptyBody()], [PUT, GET, PUT], attempts="2" * 8),
    Case("answer that is no JSON and nothing done", [NotJson()], [PUT, GET, PUT], attempts="2" * 8),
    Case("the look-up lost too", [ResetAfter(), ServerError(), CutBody(0.5)], [PUT, GET, GET, GET]),
    Case(
        "the look-up leaves some over",
        [ResetAfter(), LeaveUnprocessed(keep=6)],
        [PUT, GET, "get GH"],
    ),
    Case(
        "FC-60 one bad item of eight",
        lambda asked: REFUSED if asked.startswith("put ") and "D" in asked else None,
        [PUT, "put ABCD", "put AB", "put CD", "put C", "put D", "put EFGH"],
        rows="SSSTSSSS",
        decision=Decision.REJECT,
        stored="ABCEFGH",
    ),
    Case(
        "credentials expired once",
        [ExpiredToken()],
        [PUT] * 2,
    ),
    Case(
        "credentials expired for good",
        lambda asked: ExpiredToken(),
        [PUT] * 2,
        rows="R" * 8,
        attempts="0" * 8,
        decision=Decision.HOLD,
        stored="",
        code=EXPIRED,
    ),
]


@dataclass
class Wire:
    """Chooses the fault of each attempt, and keeps what was asked."""

    case: Case
    asked: list[str] = field(default_factory=list)

    def __call__(self, attempt: Attempt) -> Fault | None:
        self.asked.append(_asked(attempt))
        faults = self.case.faults
        if callable(faults):
            return faults(self.asked[-1])
        return faults[len(self.asked) - 1] if len(self.asked) <= len(faults) else None


def _asked(attempt: Attempt) -> str:
    (entries,) = attempt.request["RequestItems"].values()
    if attempt.operation == "batch_get_item":
        return "get " + "".join(key["pk"]["S"] for key in entries["Keys"])
    return "put " + "".join(entry["PutRequest"]["Item"]["pk"]["S"] for entry in entries)


# --------------------------------------------------------------------------------------------------------- both drivers

Work = Callable[..., Coroutine[Any, Any, il.WorkResult]]


class Sync:
    is_async = False

    def __str__(self) -> str:
        return "sync"

    @asynccontextmanager
    async def client(self, engine: Engine, endpoint_url: str | None = None, **config: Any) -> Any:
        if endpoint_url is None:
            yield engine.client(il.client_config().merge(Config(**config)))
            return
        client = boto3.client(
            "dynamodb",
            endpoint_url=endpoint_url,
            region_name=REGION,
            config=il.client_config().merge(Config(**config)),
        )
        yield client
        client.close()

    async def work(self, client: Any, ledger: Ledger, clock: FakeClock, **options: Any) -> il.WorkResult:
        run = {"clock": clock, "sleep": clock.sleep, "jitter": highest, **options}
        return il.work(client, ledger, OPERATION, **run)


class Aio:
    is_async = True

    def __str__(self) -> str:
        return "aio"

    @asynccontextmanager
    async def client(self, engine: Engine, endpoint_url: str | None = None, **config: Any) -> Any:
        async with _aio_session().create_client(
            "dynamodb",
            endpoint_url=endpoint_url or engine.endpoint_url,
            region_name=REGION,
            config=il.client_config().merge(Config(**config)),
        ) as client:
            yield client

    async def work(self, client: Any, ledger: Ledger, clock: FakeClock, **options: Any) -> il.WorkResult:
        run = {"clock": clock, "sleep": clock.asleep, "jitter": highest, **options}
        return await aio.work(client, ledger, OPERATION, **run)


@functools.cache
def _aio_session() -> Any:
    # Reading the service model takes most of the time that a new client costs; a session keeps what it has read.
    return pytest.importorskip("aiobotocore.session").get_session()


both_drivers = pytest.mark.parametrize(
    "driver", [pytest.param(Sync(), id="sync"), pytest.param(Aio(), id="aio", marks=pytest.mark.aio)]
)


def planned(table: str, clock: FakeClock, policy: Policy | None = None) -> Ledger:
    ledger = open_ledger("memory://", clock=clock)
    api = BatchWriteItem(table_name=table, key={"pk": "S"})
    ledger.plan(OPERATION, api, map(value, LETTERS), policy=policy or Policy(), store_payloads=True)
    return ledger


def stored(engine: Engine, table: str) -> str:
    items = engine.client().scan(TableName=table, ConsistentRead=True)["Items"]
    letters = sorted(item["pk"]["S"] for item in items)
    assert [str(ord(letter)) for letter in letters] == [
        item["n"]["N"] for item in sorted(items, key=lambda item: item["pk"]["S"])
    ]
    return "".join(letters)


@pytest.mark.parametrize(
    ("driver", "concurrency"),
    [
        pytest.param(Sync(), 1, id="sync-1"),
        pytest.param(Sync(), 4, id="sync-4"),
        pytest.param(Aio(), 4, id="aio-4", marks=pytest.mark.aio),
    ],
)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_item_is_written_once_or_known_not_to_be(
    engine: Engine, make_table: MakeTable, driver: Sync | Aio, case: Case, concurrency: int
) -> None:
    table, clock, wire = make_table(engine), FakeClock(), Wire(case)
    ledger = planned(table, clock)

    async def body() -> il.WorkResult:
        async with driver.client(engine) as client:
            with FaultInjector(client, wire):
                return await driver.work(client, ledger, clock, concurrency=concurrency)

    result = asyncio.run(body())

    assert case.asked == wire.asked
    assert (case.rows, case.attempts) == (standing(ledger), attempts(ledger))
    assert (case.decision, len(case.asked), 0) == (result.decision, result.calls, result.sdk_retry_attempts)
    assert case.code == (result.terminal_error.code if result.terminal_error else None)
    assert case.stored == stored(engine, table)


@both_drivers
def test_a_missing_table_blocks_and_once_it_is_there_the_same_run_completes(
    engine: Engine, make_table: MakeTable, driver: Sync | Aio
) -> None:
    table, clock = make_table(engine) + "-later", FakeClock()
    ledger = planned(table, clock)

    async def body() -> il.WorkResult:
        async with driver.client(engine) as client:
            return await driver.work(client, ledger, clock)

    first = asyncio.run(body())
    assert (WorkStop.BLOCKED, Decision.HOLD, 1) == (first.stop, first.decision, first.calls)
    assert first.terminal_error is not None
    assert "ResourceNotFoundException" == first.terminal_error.code
    assert ("R" * 8, "0" * 8) == (standing(ledger), attempts(ledger))

    client = engine.client()
    client.create_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    try:
        client.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 1})
        second = asyncio.run(body())
        assert (Decision.ACCEPT, "S" * 8, "1" * 8) == (second.decision, standing(ledger), attempts(ledger))
        assert LETTERS == stored(engine, table)
    finally:
        client.delete_table(TableName=table)


@both_drivers
def test_the_history_keeps_what_each_call_left_behind(
    engine: Engine, make_table: MakeTable, driver: Sync | Aio
) -> None:
    table, clock = make_table(engine), FakeClock()
    ledger = planned(table, clock)

    async def body() -> il.WorkResult:
        async with driver.client(engine) as client:
            with FaultInjector(client, [Throttle(), ResetAfter(), None]):
                return await driver.work(client, ledger, clock)

    asyncio.run(body())

    throttled, lost, found = (entry for entry in ledger.history(1) if entry.event in ("not_processed", "lost", "found"))
    evidence = [entry.evidence for entry in (throttled, lost, found)]
    assert ["ProvisionedThroughputExceededException", "ReadTimeoutError", None] == [e.code for e in evidence if e]
    assert ["synthetic", None, "synthetic"] == [e.label for e in evidence if e]
    assert [None, None, "crc32"] == [e.body_check for e in evidence if e]
    assert [True, False, True] == [e.request_id is not None for e in evidence if e]
    assert [0, 0, 0] == [e.sdk_retry_attempts or 0 for e in evidence if e]


# ------------------------------------------------------------------------------------------------------ a late answer


@contextmanager
def late_for_writes(engine: Engine) -> Iterator[tuple[str, list[str]]]:
    """An endpoint that has a write carried out and answers it only when the client has gone on to its look-up."""
    operations: list[str] = []
    looked_up = threading.Event()

    def answer(request: Request) -> Reply:
        operations.append(request.headers["x-amz-target"].partition(".")[2])
        if operations[-1] == "BatchGetItem":
            looked_up.set()
        reply = _forwarded(request, engine.endpoint_url)
        if operations[-1] == "BatchWriteItem":
            looked_up.wait(GIVE_UP_S)
        return reply

    with serving(answer) as url:
        yield url, operations
        looked_up.set()


def _forwarded(request: Request, engine_url: str) -> Reply:
    address = urlsplit(engine_url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=GIVE_UP_S)
    headers = {name: text for name, text in request.headers.items() if name not in ("host", "content-length")}
    try:
        connection.request(request.method, request.path, request.body, headers)
        answer = connection.getresponse()
        kept = {name: text for name, text in answer.getheaders() if name.lower().startswith(("x-amz", "content-type"))}
        kept["Connection"] = "close"  # an old SDK's pool would keep it open for as long as its client lives
        return Reply(answer.status, answer.read(), kept)
    finally:
        connection.close()


@both_drivers
def test_fc_49_an_answer_after_the_read_timeout_means_one_send_a_look_up_and_no_other_send(
    engine: Engine, make_table: MakeTable, driver: Sync | Aio
) -> None:
    table, clock = make_table(engine), FakeClock()
    ledger = planned(table, clock)

    async def body(url: str) -> il.WorkResult:
        async with driver.client(engine, url, read_timeout=0.5) as client:
            return await driver.work(client, ledger, clock)

    with late_for_writes(engine) as (url, operations):
        result = asyncio.run(body(url))

    assert 1 == operations.count("BatchWriteItem")
    assert (Decision.ACCEPT, "S" * 8) == (result.decision, standing(ledger))
    assert ["dispatched", "lost"] == story(ledger, "A")[:2]
    assert "found" == story(ledger, "A")[-1]
    assert [1] * 8 == [row.dispatches for row in ledger.rows(OPERATION)]
    assert LETTERS == stored(engine, table)


# ------------------------------------------------------------------------------------------- where twice is two effects

_queues = itertools.count(1)


@pytest.fixture
def queue(moto: Engine) -> Iterator[tuple[Any, str]]:
    """A client that sends twice by itself, and an empty queue."""
    client = sqs_of(moto, 2)
    url = client.create_queue(QueueName=f"work-{next(_queues)}")["QueueUrl"]
    yield client, url
    client.delete_queue(QueueUrl=url)


def sqs_of(engine: Engine, total_max_attempts: int) -> Any:
    retries: Any = {"mode": "standard", "total_max_attempts": total_max_attempts}
    config = il.client_config().merge(Config(retries=retries, connect_timeout=2, read_timeout=6))
    return boto3.client("sqs", endpoint_url=engine.endpoint_url, region_name=REGION, config=config)


def messages(url: str, clock: FakeClock) -> Ledger:
    ledger = open_ledger("memory://", clock=clock)
    bodies = [{"MessageBody": "one"}, {"MessageBody": "two"}]
    ledger.plan(OPERATION, SendMessageBatch(queue_url=url), bodies, store_payloads=True)
    return ledger


def waiting_in(client: Any, url: str) -> int:
    told = client.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(told["Attributes"]["ApproximateNumberOfMessages"])


def test_where_twice_is_two_effects_the_sdks_own_resend_is_marked_on_the_rows(queue: tuple[Any, str]) -> None:
    client, url = queue
    clock = FakeClock()
    ledger = messages(url, clock)
    with instant_retries(client), FaultInjector(client, [ResetAfter()], operation="send_message_batch"):
        result = il.work(client, ledger, OPERATION, allow_sdk_retries=True, clock=clock, sleep=clock.sleep)

    assert (Decision.ACCEPT, 1, 1) == (result.decision, result.calls, result.sdk_retry_attempts)
    assert [1, 1] == [row.possible_duplicates for row in ledger.rows(OPERATION)]
    assert 4 == waiting_in(client, url)  # as feared


def test_where_twice_is_two_effects_a_lost_answer_is_one_send_and_waits_for_a_person(
    moto: Engine, queue: tuple[Any, str]
) -> None:
    _, url = queue
    client, clock = sqs_of(moto, 1), FakeClock()
    ledger = messages(url, clock)
    with FaultInjector(client, [ResetAfter()], operation="send_message_batch") as injector:
        result = il.work(client, ledger, OPERATION, clock=clock, sleep=clock.sleep)

    assert (Decision.HOLD, 2, 1) == (result.decision, result.waiting, injector.attempts)
    assert [(Outcome.RECONCILE, Review.NO_LOOK_UP)] * 2 == [(row.outcome, row.review) for row in ledger.rows(OPERATION)]
    assert 2 == waiting_in(client, url)


def test_the_payload_is_sent_as_planned_to_the_last_digit(engine: Engine, make_table: MakeTable) -> None:
    table, clock = make_table(engine), FakeClock()
    ledger = open_ledger("memory://", clock=clock)
    digits = "12345678901234567890123456789012345678"
    api = BatchWriteItem(table_name=table, key={"pk": "S"}, values="typed")
    typed = {"pk": {"S": "A"}, "n": {"N": digits}, "b": {"B": "AAEC"}, "s": {"SS": ["y", "x"]}}
    ledger.plan(OPERATION, api, [json.loads(json.dumps(typed))], store_payloads=True)
    with FaultInjector(client := engine.client(il.client_config()), [ResetAfter()]):
        result = il.work(client, ledger, OPERATION, clock=clock, sleep=clock.sleep)

    (item,) = client.scan(TableName=table)["Items"]
    assert (Decision.ACCEPT, digits, b"\x00\x01\x02") == (result.decision, item["n"]["N"], item["b"]["B"])
    assert ["x", "y"] == sorted(item["s"]["SS"])
    assert ["dispatched", "lost", "found"] == [entry.event for entry in ledger.history(1)][1:]
