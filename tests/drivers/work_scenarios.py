"""What both drivers must do with the same answers to writes: one table, with every expectation written by hand.

An item is one letter, so that a call reads as ``"put ABC"`` or ``"get ABC"`` and the end of a run as ``"SSQ"``: a
letter for each row, P pending, F in flight, S succeeded, R retryable, Q reconcile, T terminal. Every answer here is
made up (synthetic); nothing is computed by the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from itemledger import WorkResult
from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.ledger import Alert, Ledger, OnUnknown, Outcome, Policy, open_ledger
from itemledger.testing import Call, FakeClock, Step, batch_get_response, error
from tests.drivers.both import Driver
from tests.drivers.scenarios import highest

TABLE = "T"
OPERATION = "orders"
PUTS = BatchWriteItem(table_name=TABLE, key={"pk": "S"})
DELETES = BatchWriteItem(table_name=TABLE, key={"pk": "S"}, action="delete")

_LETTER = {
    Outcome.PENDING: "P",
    Outcome.IN_FLIGHT: "F",
    Outcome.SUCCEEDED: "S",
    Outcome.RETRYABLE: "R",
    Outcome.RECONCILE: "Q",
    Outcome.TERMINAL: "T",
}
Answers = Sequence[Any]


# ---------------------------------------------------------------------------------------------------- words for a test


def item(letter: str) -> dict[str, Any]:
    """A row as the service has it."""
    return {"pk": {"S": letter}, "n": {"N": str(ord(letter[0]))}}


def value(letter: str) -> dict[str, Any]:
    """The same as a caller gives it."""
    return {"pk": letter, "n": ord(letter[0])}


def put(left: Iterable[str] = "", retries: int = 0) -> dict[str, Any]:
    """An answer to BatchWriteItem that leaves some letters over; the others are written."""
    leftovers = [{"PutRequest": {"Item": item(letter)}} for letter in left]
    return {
        "UnprocessedItems": {TABLE: leftovers} if leftovers else {},
        "ResponseMetadata": {"RequestId": "w1", "HTTPStatusCode": 200, "RetryAttempts": retries},
    }


def got(found: Iterable[str] = "", left: Iterable[str] = "") -> dict[str, Any]:
    """An answer to the look-up that finds some letters and leaves others over; the rest is not there."""
    return batch_get_response(
        [item(letter) for letter in found], table=TABLE, unprocessed=[{"pk": {"S": letter}} for letter in left]
    )


def failed(code: str, status: int = 400, *, retries: int = 0, operation: str = "BatchWriteItem") -> Exception:
    return error(code, "made up", status, "e1", retry_attempts=retries, operation=operation)


def asked(call: Call) -> str:
    """A call in short: what it does, and to which letters, in order."""
    entries = call.request["RequestItems"][TABLE]
    if call.operation == "batch_get_item":
        assert entries["ConsistentRead"] is True
        return "get " + "".join(key["pk"]["S"] for key in entries["Keys"])
    return "put " + "".join(entry["PutRequest"]["Item"]["pk"]["S"] for entry in entries)


def planned(letters: Iterable[str], policy: Policy, clock: Callable[[], float]) -> Ledger:
    """A new ledger in memory that holds the letters, payloads included."""
    ledger = open_ledger("memory://", clock=clock)
    ledger.plan(OPERATION, PUTS, [value(letter) for letter in letters], policy=policy, store_payloads=True)
    return ledger


def standing(ledger: Ledger) -> str:
    """A letter for each row, in the order of planning."""
    return "".join(_LETTER[row.outcome] for row in ledger.rows(OPERATION))


def attempts(ledger: Ledger) -> str:
    return "".join(str(row.attempts) for row in ledger.rows(OPERATION))


def story(ledger: Ledger, letter: str) -> list[str]:
    """The events of one row, without its planning."""
    (number,) = [row.number for row in ledger.rows(OPERATION) if row.item_id == f'{{"S":"{letter}"}}']
    return [entry.event for entry in ledger.history(number)][1:]


# ------------------------------------------------------------------------------------------------------- the scenarios


@dataclass(frozen=True)
class End:
    """How a run of work ended. ``attempts`` has a digit for each row, ``alerts`` reason and row of each alert."""

    rows: str
    asked: Sequence[str]
    attempts: str
    stop: str = "done"
    decision: str = "accept"
    waiting: int = 0
    error: str | None = None
    alerts: Sequence[str] = ()


@dataclass(frozen=True)
class Scenario:
    """One run, and what must come of it."""

    name: str
    answers: Callable[[], Answers]
    end: End
    letters: str = "ABC"
    policy: Mapping[str, Any] = field(default_factory=dict)
    stories: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


async def carry_out(driver: Driver, scenario: Scenario, concurrency: int) -> tuple[End, dict[str, list[str]]]:
    """Runs it, and tells how it ended and the story of each row that the table speaks of."""
    clock = FakeClock()
    ledger = planned(scenario.letters, Policy(**scenario.policy), clock)
    client = driver.client(scenario.answers(), clock=clock)
    alerts: list[Alert] = []
    result: WorkResult = await driver.work(
        client,
        ledger,
        OPERATION,
        concurrency=concurrency,
        clock=clock,
        sleep=driver.pause(clock),
        jitter=highest,
        on_alert=alerts.append,
    )
    client.check()
    assert len(client.calls) == result.calls
    assert len(scenario.letters) == result.planned
    end = End(
        standing(ledger),
        [asked(call) for call in client.calls],
        attempts(ledger),
        str(result.stop),
        str(result.decision),
        result.waiting,
        None if result.terminal_error is None else str(result.terminal_error),
        tuple(f"{alert.reason} {alert.row}" for alert in alerts),
    )
    return end, {letter: story(ledger, letter) for letter in scenario.stories}


LOST = ["dispatched", "lost"]
TWICE = ["dispatched", "confirmed"]

#: Failures after which the items may have been written.
UNKNOWN_ENDS: Mapping[str, Callable[[], Any]] = {
    "a 500": lambda: failed("InternalServerError", 500),
    "a 503": lambda: failed("ServiceUnavailable", 503),
    "a read timeout": lambda: ReadTimeoutError(endpoint_url="http://127.0.0.1"),
    "a closed connection": lambda: ConnectionClosedError(endpoint_url="http://127.0.0.1"),
    "a code that no document names": lambda: failed("Surprise"),
    "an exception that the SDK never documents": lambda: ZeroDivisionError("surprise"),
    "an answer without UnprocessedItems": lambda: {"ResponseMetadata": {"RequestId": "w1", "RetryAttempts": 0}},
    "an answer that names a foreign item": lambda: put(left="AZ"),
    "an answer that names an item twice": lambda: put(left="AA"),
    "a throttle after the SDK has sent it before": lambda: failed("ThrottlingException", retries=1),
    "a refused connection after the SDK has sent it before": lambda: failed("ValidationException", retries=2),
}

#: Failures that say that nothing was processed, and that pass.
NOT_PROCESSED: Mapping[str, Callable[[], Any]] = {
    "throughput": lambda: failed("ProvisionedThroughputExceededException"),
    "throttling": lambda: failed("ThrottlingException"),
    "a request limit": lambda: failed("RequestLimitExceeded"),
    "a refused connection": lambda: EndpointConnectionError(endpoint_url="http://127.0.0.1"),
    "a connect timeout": lambda: ConnectTimeoutError(endpoint_url="http://127.0.0.1"),
}

#: Failures that no further call of the same run would escape; after how many calls it ends, and how they are told.
BLOCKING: Mapping[str, tuple[Callable[[], Any], int, str]] = {
    "expired credentials": (
        lambda: failed("ExpiredTokenException"),
        2,  # the SDK may have fetched new ones in between
        "ExpiredTokenException; request_id=e1",
    ),
    "unknown credentials": (
        lambda: failed("UnrecognizedClientException"),
        1,
        "UnrecognizedClientException; request_id=e1",
    ),
    "no credentials": (NoCredentialsError, 1, "NoCredentialsError; request_id=none"),
    "access denied": (lambda: failed("AccessDeniedException"), 1, "AccessDeniedException; request_id=e1"),
    "a missing table": (lambda: failed("ResourceNotFoundException"), 1, "ResourceNotFoundException; request_id=e1"),
}

SCENARIOS = [
    Scenario(
        "all succeed in one request",
        lambda: [put()],
        End("SSS", ["put ABC"], "111"),
        stories={"A": ["dispatched", "confirmed"]},
    ),
    Scenario(
        "more than fit into one request go in as few as there can be",
        lambda: [put(), put()],
        End("S" * 26, ["put ABCDEFGHIJKLMNOPQRSTUVWXY", "put Z"], "1" * 26),
        letters="ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ),
    Scenario(
        "leftovers are sent again alone",
        lambda: [put(left="BD"), put(left="D"), put()],
        End("SSSSS", ["put ABCDE", "put BD", "put D"], "12131"),
        letters="ABCDE",
        stories={"B": ["dispatched", "left_unprocessed", "dispatched", "confirmed"]},
    ),
    Scenario(
        "what is left over too often is terminal with an alert",
        lambda: [put(left="B"), put(left="B")],
        End("STS", ["put ABC", "put B"], "121", decision="reject", waiting=1, alerts=("exhausted 2",)),
        policy={"max_attempts": 2},
        stories={"B": ["dispatched", "left_unprocessed", "dispatched", "left_unprocessed", "exhausted"]},
    ),
    *(
        Scenario(
            f"{name} charges no attempt",
            lambda fail=fail: [fail(), fail(), put()],  # type: ignore[misc]
            End("SSS", ["put ABC"] * 3, "111"),
            policy={"max_attempts": 1},
            stories={"A": ["dispatched", "not_processed"] * 2 + ["dispatched", "confirmed"]},
        )
        for name, fail in NOT_PROCESSED.items()
    ),
    Scenario(
        "throttled calls end no item however many they are",
        lambda: [*(failed("ThrottlingException") for _ in range(30)), put()],
        End("SSS", ["put ABC"] * 31, "111"),
        policy={"max_attempts": 1, "max_lapses": 1},
    ),
    *(
        Scenario(
            f"after {name} what is there is found and not sent again",
            lambda fail=fail: [fail(), got("ABC")],  # type: ignore[misc]
            End("SSS", ["put ABC", "get ABC"], "111"),
            stories={"A": [*LOST, "found"]},
        )
        for name, fail in UNKNOWN_ENDS.items()
    ),
    *(
        Scenario(
            f"after {name} only what is proven absent is sent again",
            lambda fail=fail: [fail(), got("AC"), put()],  # type: ignore[misc]
            End("SSS", ["put ABC", "get ABC", "put B"], "121"),
            stories={"A": [*LOST, "found"], "B": [*LOST, "proven_absent", *TWICE]},
        )
        for name, fail in UNKNOWN_ENDS.items()
    ),
    Scenario(
        "what a look-up leaves over is looked up again alone",
        lambda: [failed("InternalServerError", 500), got("A", left="C"), got("C"), put()],
        End("SSS", ["put ABC", "get ABC", "get C", "put B"], "121"),
        stories={"C": [*LOST, "inconclusive", "found"]},
    ),
    Scenario(
        "what a look-up leaves over too often waits for a person",
        lambda: [failed("InternalServerError", 500), got("AB", left="C"), got(left="C")],
        End("SSQ", ["put ABC", "get ABC", "get C"], "111", decision="hold", waiting=1),
        policy={"max_look_ups": 2},
    ),
    Scenario(
        "a look-up that does not add up settles nothing",
        lambda: [failed("InternalServerError", 500), got("ABCZ"), got("ABC")],
        End("SSS", ["put ABC", "get ABC", "get ABC"], "111"),
        stories={"A": [*LOST, "inconclusive", "found"]},
    ),
    Scenario(
        "other content in an item's place waits for a person",
        lambda: [
            failed("InternalServerError", 500),
            batch_get_response([item("A"), {"pk": {"S": "B"}, "n": {"N": "0"}}, item("C")], table=TABLE),
        ],
        End("SQS", ["put ABC", "get ABC"], "111", decision="hold", waiting=1),
        stories={"B": [*LOST, "inconclusive"]},
    ),
    Scenario(
        "a run that may repeat nothing leaves what is absent to a person",
        lambda: [failed("InternalServerError", 500), got("AC")],
        End("SQS", ["put ABC", "get ABC"], "111", decision="hold", waiting=1),
        policy={"on_unknown": OnUnknown.IRREVERSIBLE},
    ),
    Scenario(
        "one item that is refused alone is terminal at once",
        lambda: [failed("ValidationException")],
        End("T", ["put A"], "1", decision="reject", waiting=1, alerts=("refused 1",)),
        letters="A",
    ),
    Scenario(
        "FC-60: the one bad item of a refused batch is found by halves",  # D is bad
        lambda: [
            failed("ValidationException"),
            failed("ValidationException"),
            put(),
            failed("ValidationException"),
            put(),
            failed("ValidationException"),
            put(),
        ],
        End(
            "SSSTSSSS",
            ["put ABCDEFGH", "put ABCD", "put AB", "put CD", "put C", "put D", "put EFGH"],
            "11111111",
            decision="reject",
            waiting=1,
            alerts=("refused 4",),
        ),
        letters="ABCDEFGH",
    ),
    *(
        Scenario(
            f"{name} ends the run with nothing charged",
            lambda fail=fail, calls=calls: [fail() for _ in range(calls)],  # type: ignore[misc]
            End("RRR", ["put ABC"] * calls, "000", stop="blocked", decision="hold", error=told),
        )
        for name, (fail, calls, told) in BLOCKING.items()
    ),
    Scenario(
        "credentials that are fetched again in time end nothing",
        lambda: [failed("ExpiredTokenException"), put(left="A"), failed("ExpiredTokenException"), put()],
        End("SSS", ["put ABC", "put ABC", "put A", "put A"], "211"),
    ),
    Scenario(
        "a look-up without access ends the run with everything open",
        lambda: [failed("InternalServerError", 500), failed("AccessDeniedException", operation="BatchGetItem")],
        End(
            "QQQ",
            ["put ABC", "get ABC"],
            "111",
            stop="blocked",
            decision="hold",
            error="AccessDeniedException; request_id=e1",
        ),
    ),
    Scenario(
        "a look-up that fails for a while is made again",
        lambda: [failed("InternalServerError", 500), failed("InternalServerError", 500), got("ABC")],
        End("SSS", ["put ABC", "get ABC", "get ABC"], "111"),
    ),
    Scenario(
        "a call that takes long is recorded all the same",
        lambda: [Step(put(), takes_s=15.0)],
        End("SSS", ["put ABC"], "111"),
    ),
]

RUNS = [(scenario, concurrency) for scenario in SCENARIOS for concurrency in (1, 4)]
