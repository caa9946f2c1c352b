"""What a run of work refuses before anything is claimed or sent, and what its result leads to."""

from __future__ import annotations

import hashlib
from typing import Any

import boto3
import pytest
from botocore.config import Config

import itemledger as il
from itemledger import Decision, ManifestError, WorkResult, WorkStop
from itemledger.apis.sqs import SendMessageBatch
from itemledger.core.rows import Operation
from itemledger.ledger import Ledger, Outcome, OwnApi, Policy, open_ledger
from itemledger.testing import FakeClock
from tests.drivers.both import DRIVERS, Driver
from tests.drivers.scenarios import highest
from tests.drivers.work_scenarios import OPERATION, PUTS, planned, put, standing

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


@pytest.mark.parametrize("timeouts", [{}, {"connect_timeout": 10, "read_timeout": 50}, {"read_timeout": 60}])
def test_a_client_whose_calls_may_outlive_the_lease_is_refused(timeouts: dict[str, Any]) -> None:
    ledger = messages()
    with pytest.raises(ManifestError, match="not shorter than the lease of 60 s"):
        il.work(client_of("sqs", retries=ONCE, **timeouts), ledger, OPERATION)
    assert untouched(ledger)


def test_a_client_of_one_attempt_and_short_timeouts_is_taken_and_nothing_listens_there() -> None:
    clock = FakeClock()
    ledger = messages(open_ledger("memory://", clock=clock), Policy(max_claims=2))
    client = client_of("sqs", retries=ONCE, connect_timeout=10, read_timeout=49.9)
    result = il.work(client, ledger, OPERATION, clock=clock, sleep=clock.sleep, jitter=highest)
    assert "TT" == standing(ledger)
    assert (Decision.REJECT, 2) == (result.decision, result.calls)


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
