"""What a run of work refuses before anything is claimed or sent, and what its result leads to."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.config import Config

import itemledger as il
from itemledger import Decision, ManifestError, WorkResult, WorkStop
from itemledger.apis.http import HttpRequest
from itemledger.apis.sqs import SendMessageBatch
from itemledger.core.rows import Operation
from itemledger.crew.opening import open_work
from itemledger.http_sender import HttpSender
from itemledger.ledger import Ledger, Outcome, OwnApi, Policy, open_ledger
from itemledger.testing import Call, FakeClock
from tests.drivers.both import DRIVERS, Driver
from tests.drivers.scenarios import highest
from tests.drivers.work_scenarios import OPERATION, PUTS, failed, planned, put, standing

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)
QUEUE = SendMessageBatch(queue_url="http://127.0.0.1:1/queue")


def untouched(ledger: Ledger) -> bool:
    return all((row.claims, row.epoch, row.outcome) == (0, None, Outcome.PENDING) for row in ledger.rows())


@both_drivers
@pytest.mark.parametrize(
    "bad",
    [
        *({"concurrency": value} for value in (0, -1, 1.5, True, "4", None, 10**6)),
        *({"timeout_s": value} for value in (0, -1.0, float("inf"), float("nan"), True, "60", None)),
    ],
    ids=str,
)
def test_bounds_out_of_range_are_refused_before_anything(driver: Driver, bad: dict[str, Any]) -> None:
    ledger = planned("ABC", Policy(), FakeClock())
    client = driver.client([])
    with pytest.raises(ManifestError, match=next(iter(bad))):
        driver.run(driver.work(client, ledger, OPERATION, **bad))
    assert [] == client.calls
    assert untouched(ledger)


@both_drivers
def test_an_operation_that_is_not_there_is_named(driver: Driver) -> None:
    ledger = planned("ABC", Policy(), FakeClock())
    with pytest.raises(il.LedgerError, match="no operation 'refunds'; plan it first"):
        driver.run(driver.work(driver.client([]), ledger, "refunds"))
    assert untouched(ledger)


@both_drivers
def test_nothing_of_an_operation_whose_planning_was_interrupted_is_sent(driver: Driver) -> None:
    ledger = open_ledger("memory://")
    ledger.store.open_operation(Operation(OPERATION, PUTS.name, PUTS.target, Policy()))
    client = driver.client([])
    with pytest.raises(il.LedgerError, match="plan it again"):
        driver.run(driver.work(client, ledger, OPERATION))
    assert [] == client.calls


@both_drivers
def test_the_rows_of_a_provider_of_ones_own_are_left_to_ones_own_claims(driver: Driver) -> None:
    ledger = open_ledger("memory://")
    ledger.plan(OPERATION, OwnApi("refunds", "id"), [{"id": "1"}])
    with pytest.raises(il.LedgerError, match=r"no built-in API .* claims of your own"):
        driver.run(driver.work(driver.client([]), ledger, OPERATION))
    assert untouched(ledger)


@both_drivers
def test_what_is_no_client_of_the_service_is_refused(driver: Driver) -> None:
    ledger = planned("ABC", Policy(), FakeClock())
    with pytest.raises(ManifestError, match=r'boto3\.client\("dynamodb"\)'):
        driver.run(driver.work(object(), ledger, OPERATION))
    assert untouched(ledger)


# ------------------------------------------------------------------------------------------------------------- clients


def client_of(service: str, **config: Any) -> Any:
    """A client of boto3 that nothing is sent with."""
    return boto3.client(
        service,  # type: ignore[call-overload]  # any service
        endpoint_url="http://127.0.0.1:1",
        config=Config(**config),
    )


def messages(ledger: Ledger | None = None, policy: Policy | None = None) -> Ledger:
    ledger = ledger or open_ledger("memory://")
    bodies = [{"MessageBody": "one"}, {"MessageBody": "two"}]
    ledger.plan(OPERATION, QUEUE, bodies, policy=policy or Policy(), store_payloads=True)
    return ledger


ONCE = {"total_max_attempts": 1}


@pytest.mark.parametrize("config", [{}, {"retries": {"total_max_attempts": 3}}, {"retries": {"mode": "adaptive"}}])
def test_a_client_that_sends_again_by_itself_is_refused_where_that_is_a_second_effect(config: dict[str, Any]) -> None:
    ledger = messages()
    with pytest.raises(ManifestError, match="allow_sdk_retries=True"):
        il.work(client_of("sqs", connect_timeout=1, read_timeout=1, **config), ledger, OPERATION)
    assert untouched(ledger)


def puts(policy: Policy | None = None) -> Ledger:
    return planned("AB", policy or Policy(), FakeClock())


#: Service, configuration, and how the refusal tells of it under a ``call_timeout_s`` of 20 seconds.
TOO_LONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "dynamodb",
        {},
        "may take 1,711 s (up to 10 attempts, since retries are not set, of 60 s to connect and 60 s to read)",
    ),
    ("dynamodb", {"retries": {"max_attempts": 2}}, "may take 363 s (3 attempts of 60 s to connect and 60 s to read)"),
    ("dynamodb", {"retries": ONCE}, "may take 120 s (one attempt of 60 s to connect and 60 s to read)"),
    ("dynamodb", {"retries": ONCE, "connect_timeout": 5, "read_timeout": 15.5}, "may take 20.5 s (one attempt"),
    (
        "dynamodb",
        {"retries": {"total_max_attempts": 2}, "connect_timeout": 5, "read_timeout": 5},
        "may take 21 s (2 attempts of 5 s to connect and 5 s to read)",  # with the SDK's pause between them
    ),
    ("sqs", {"retries": ONCE}, "may take 120 s (one attempt of 60 s to connect and 60 s to read)"),
    ("sqs", {"retries": ONCE, "connect_timeout": 10, "read_timeout": 50}, "may take 60 s (one attempt"),
    ("sqs", {"retries": ONCE, "read_timeout": None}, "may take for ever (one attempt of 60 s to connect and for ever"),
]


@pytest.mark.parametrize(("service", "config", "told"), TOO_LONG)
def test_a_client_whose_calls_may_take_longer_than_the_policy_says_is_refused(
    service: str, config: dict[str, Any], told: str
) -> None:
    """Whatever a second send does: it would go on sending after its rows were looked up and sent again."""
    ledger = messages() if service == "sqs" else puts()
    with pytest.raises(ManifestError) as refused:
        il.work(client_of(service, **config), ledger, OPERATION)
    assert told in str(refused.value)
    assert "call_timeout_s is 20 s; make the client with config=itemledger.client_config(policy)" in str(refused.value)
    assert untouched(ledger)


POLICIES = [
    Policy(),
    Policy(call_timeout_s=0.3),
    Policy(call_timeout_s=1 / 3),
    Policy(call_timeout_s=7.7),
    Policy(call_timeout_s=900.0, lease_s=1000.0),
]


@pytest.mark.parametrize("service", ["sqs", "dynamodb"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: str(policy.call_timeout_s))
def test_a_client_made_for_the_policy_is_taken_with_settings_of_ones_own(policy: Policy, service: str) -> None:
    ledger = messages(policy=policy) if service == "sqs" else puts(policy)
    config = il.client_config(policy).merge(Config(max_pool_connections=50, user_agent_extra="ours"))
    client = boto3.client(service, config=config)  # type: ignore[call-overload]  # any service
    assert 50 == client.meta.config.max_pool_connections
    assert open_work(client, ledger.store, OPERATION, {}) is not None
    assert policy.call_timeout_s == pytest.approx(config.connect_timeout + config.read_timeout)  # type: ignore[attr-defined]


def test_one_policys_client_is_too_slow_for_a_hastier_one() -> None:
    ledger = puts(Policy(call_timeout_s=5.0))
    with pytest.raises(ManifestError, match=r"may take 20 s \(one attempt of 5 s to connect and 15 s to read\)"):
        il.work(boto3.client("dynamodb", config=il.client_config()), ledger, OPERATION)


def test_attempts_that_are_set_in_the_environment_count(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"connect_timeout": 2, "read_timeout": 5}
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    assert open_work(client_of("dynamodb", **times), puts().store, OPERATION, {}) is not None
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "3")
    with pytest.raises(ManifestError, match="3 attempts of 2 s to connect and 5 s to read"):
        il.work(client_of("dynamodb", **times), puts(), OPERATION)


def test_a_client_of_one_attempt_and_short_timeouts_is_taken_and_nothing_listens_there() -> None:
    clock = FakeClock()
    ledger = messages(open_ledger("memory://", clock=clock))
    client = client_of("sqs", retries=ONCE, connect_timeout=10, read_timeout=10)
    result = il.work(client, ledger, OPERATION, clock=clock, sleep=clock.sleep, jitter=highest, timeout_s=60.0)
    assert "RR" == standing(ledger)
    assert (Decision.RETRY, WorkStop.DEADLINE) == (result.decision, result.stop)
    assert [0, 0] == [row.attempts for row in ledger.rows(OPERATION)]


def calls_to(url: str, policy: Policy | None = None) -> Ledger:
    ledger = open_ledger("memory://")
    api = HttpRequest(url=url)
    ledger.plan(OPERATION, api, [{"Body": {"n": 1}}], policy=policy or Policy(), store_payloads=True)
    return ledger


def test_a_sender_that_waits_longer_than_the_policy_says_is_refused() -> None:
    ledger = calls_to("http://127.0.0.1:1/hook")
    with pytest.raises(ManifestError, match=r"HttpSender\(timeout_s=20\.5\) .* call_timeout_s=20; give a shorter"):
        il.work(HttpSender(timeout_s=20.5), ledger, OPERATION)
    assert untouched(ledger)
    assert open_work(HttpSender(), ledger.store, OPERATION, {}) is not None, "the defaults fit each other"


def test_a_sender_is_refused_by_the_driver_for_asyncio_before_it_sends() -> None:
    (driver,) = [each for each in DRIVERS if each.is_async]
    ledger = calls_to("http://127.0.0.1:1/hook")
    with pytest.raises(ManifestError, match=r"HttpSender, which blocks; use itemledger\.work"):
        driver.run(driver.work(HttpSender(), ledger, OPERATION))
    assert untouched(ledger)


def test_a_blocking_client_is_refused_by_the_driver_for_asyncio_before_it_sends() -> None:
    (driver,) = [each for each in DRIVERS if each.is_async]
    ledger = messages()
    with pytest.raises(ManifestError, match=r"itemledger\.work"):
        driver.run(driver.work(client_of("sqs", retries=ONCE, connect_timeout=1, read_timeout=1), ledger, OPERATION))
    assert untouched(ledger)


@both_drivers
def test_a_client_of_the_other_driver_ends_the_run_and_what_it_may_have_sent_is_in_doubt(driver: Driver) -> None:
    (other,) = [each for each in DRIVERS if each is not driver]
    clock = FakeClock()
    ledger = planned("ABC", Policy(), clock)
    client = other.client([put()])
    run = {"clock": clock, "sleep": driver.pause(clock), "jitter": highest}
    result = driver.run(driver.work(client, ledger, OPERATION, **run))
    # A coroutine that nobody awaits has sent nothing; a client that blocked has.
    code, rows, calls = ("BlockingClient", "QQQ", 1) if driver.is_async else ("AsyncClient", "RRR", 0)
    assert result.terminal_error is not None
    assert (WorkStop.BLOCKED, code) == (result.stop, result.terminal_error.code)
    assert (rows, calls) == (standing(ledger), len(client.calls))


@both_drivers
@pytest.mark.parametrize("resent", [0, 2])
def test_a_success_that_the_sdk_may_have_sent_more_than_once_is_marked(driver: Driver, resent: int) -> None:
    clock = FakeClock()
    ledger = messages(open_ledger("memory://", clock=clock))
    successful = [
        {"Id": str(n), "MessageId": f"m{n}", "MD5OfMessageBody": hashlib.md5(body, usedforsecurity=False).hexdigest()}
        for n, body in enumerate([b"one", b"two"])
    ]
    answer = {"Successful": successful, "Failed": [], "ResponseMetadata": {"RetryAttempts": resent}}
    run = {"clock": clock, "sleep": driver.pause(clock), "allow_sdk_retries": True}
    result = driver.run(driver.work(driver.client([answer]), ledger, OPERATION, **run))
    assert (Decision.ACCEPT, resent) == (result.decision, result.sdk_retry_attempts)
    assert [("m0", resent), ("m1", resent)] == [
        (row.object_ref, row.possible_duplicates) for row in ledger.rows(OPERATION)
    ]


# ----------------------------------------------------------------------------------------------------------- the place

PLACES = [
    # region, endpoint, what the ledger keeps
    ("eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com", "eu-west-1"),
    ("eu-west-1", "https://dynamodb.eu-west-1.api.aws", "eu-west-1"),
    ("eu-west-1", "https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com:443/", "eu-west-1"),
    ("cn-north-1", "https://dynamodb.cn-north-1.amazonaws.com.cn", "cn-north-1"),
    ("us-east-1", "http://localhost:8000", "us-east-1 http://localhost:8000"),
    ("us-east-1", "http://user:secret@LocalHost:8000/db/?token=secret#secret", "us-east-1 http://localhost:8000/db"),
    ("us-east-1", "http://[::1]:8000", "us-east-1 http://[::1]:8000"),
    ("us-east-1", "https://dynamodb.amazonaws.com.example.org", "us-east-1 https://dynamodb.amazonaws.com.example.org"),
    ("us-east-1", "https://notamazonaws.com", "us-east-1 https://notamazonaws.com"),
]


def client_at(driver: Driver, region: str, endpoint_url: str, answers: list[Any]) -> Any:
    client = driver.client(answers)
    client.meta = replace(client.meta, region_name=region, endpoint_url=endpoint_url)
    return client


@both_drivers
@pytest.mark.parametrize(("region", "endpoint_url", "kept"), PLACES)
def test_where_an_operation_writes_is_written_down_before_its_first_call(
    driver: Driver, region: str, endpoint_url: str, kept: str
) -> None:
    ledger = puts()
    seen: list[str | None] = []

    def answer(call: Call) -> Any:
        seen.append(ledger.operation(OPERATION).endpoint)
        return put()

    client = client_at(driver, region, endpoint_url, [answer])
    assert Decision.ACCEPT is driver.run(driver.work(client, ledger, OPERATION)).decision
    assert [kept] == seen


@both_drivers
def test_an_operation_does_not_go_on_in_another_place_until_it_is_said_to_have_moved(driver: Driver) -> None:
    ledger = puts()
    here = ("us-east-1", "https://dynamodb.us-east-1.amazonaws.com")
    there = ("us-east-1", "http://localhost:8000")
    refused = driver.client([failed("AccessDeniedException")])
    refused.meta = replace(refused.meta, region_name=here[0], endpoint_url=here[1])
    assert WorkStop.BLOCKED is driver.run(driver.work(refused, ledger, OPERATION)).stop
    before = list(ledger.rows(OPERATION))

    elsewhere = client_at(driver, *there, [put()])
    told = r"went to us-east-1 and would now go to us-east-1 http://localhost:8000; .*moved=True, --moved"
    with pytest.raises(il.LedgerError, match=told):
        driver.run(driver.work(elsewhere, ledger, OPERATION))
    assert ([], before) == (elsewhere.calls, list(ledger.rows(OPERATION)))

    assert Decision.ACCEPT is driver.run(driver.work(elsewhere, ledger, OPERATION, moved=True)).decision
    assert "us-east-1 http://localhost:8000" == ledger.operation(OPERATION).endpoint
    with pytest.raises(il.LedgerError, match="would now go to us-east-1;"):
        driver.run(driver.work(client_at(driver, *here, []), ledger, OPERATION))


def test_nothing_is_written_down_of_a_client_that_is_refused() -> None:
    ledger = messages()
    with pytest.raises(ManifestError):
        il.work(client_of("sqs"), ledger, OPERATION)
    assert ledger.operation(OPERATION).endpoint is None


def test_an_http_operation_has_its_place_in_its_target() -> None:
    ledger = calls_to("http://127.0.0.1:1/hook")
    open_work(HttpSender(), ledger.store, OPERATION, {})
    assert ledger.operation(OPERATION).endpoint is None


# -------------------------------------------------------------------------------------------------------- the decision

TRUTH = [
    # succeeded, terminal, reconcile or retryable; why it ended; what next
    (3, 0, 0, WorkStop.DONE, Decision.ACCEPT),
    (0, 0, 0, WorkStop.DONE, Decision.ACCEPT),
    (3, 0, 0, WorkStop.DEADLINE, Decision.ACCEPT),
    (3, 0, 0, WorkStop.BLOCKED, Decision.ACCEPT),
    (3, 0, 0, WorkStop.INTERRUPTED, Decision.ACCEPT),
    (2, 1, 0, WorkStop.DONE, Decision.REJECT),
    (0, 3, 0, WorkStop.DEADLINE, Decision.REJECT),
    (0, 3, 0, WorkStop.INTERRUPTED, Decision.REJECT),
    (2, 0, 1, WorkStop.DONE, Decision.HOLD),
    (1, 1, 1, WorkStop.DONE, Decision.HOLD),
    (2, 0, 1, WorkStop.DEADLINE, Decision.RETRY),
    (1, 1, 1, WorkStop.DEADLINE, Decision.RETRY),
    (2, 0, 1, WorkStop.BLOCKED, Decision.HOLD),
    (2, 0, 1, WorkStop.INTERRUPTED, Decision.HOLD),
]


@pytest.mark.parametrize(("succeeded", "terminal", "unsettled", "stop", "decision"), TRUTH)
@pytest.mark.parametrize("kind", [Outcome.PENDING, Outcome.IN_FLIGHT, Outcome.RETRYABLE, Outcome.RECONCILE])
def test_the_decision_follows_from_where_the_rows_stand_and_why_the_run_ended(
    succeeded: int, terminal: int, unsettled: int, stop: WorkStop, decision: Decision, kind: Outcome
) -> None:
    counts = dict.fromkeys(Outcome, 0)
    counts |= {Outcome.SUCCEEDED: succeeded, Outcome.TERMINAL: terminal, kind: unsettled}
    result = WorkResult("orders", counts, 0, stop)
    assert (decision, succeeded + terminal + unsettled) == (result.decision, result.planned)
    assert (unsettled == 0) is result.complete
