"""The known-answer cases carried out on the SDK's Stubber, and the control that must fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.stub import Stubber

from itemledger import known_answer
from itemledger.core.passes import PassEvidence
from itemledger.core.result import KeyOutcome, ReadResult
from itemledger.errors import LedgerInvariantError, ManifestError
from itemledger.known_answer import Case, Expected, Refusal, Reply
from itemledger.sync import read_batch
from itemledger.testing import FakeClock


@dataclass(frozen=True, slots=True)
class CaseReport:
    """What one case should have given, and what it gave, in the same words."""

    case: Case
    got: Expected

    @property
    def as_expected(self) -> bool:
        return self.case.expected == self.got

    def to_json(self) -> dict[str, Any]:
        return {
            "case": self.case.name,
            "claim": self.case.claim,
            "expected": dict(self.case.expected),
            "got": dict(self.got),
            "as_expected": self.as_expected,
        }


@dataclass(frozen=True, slots=True)
class ControlReport:
    """What the one-call reader calls missing. It has failed as it must only with exactly the known wrong answer."""

    missing: list[str]

    @property
    def failed_as_it_must(self) -> bool:
        return self.missing == known_answer.ONE_CALL_SAYS_MISSING


def lab_client() -> Any:
    """A client that could send nothing even without a stub: its credentials are made up and its host is invalid."""
    return boto3.client(
        "dynamodb",
        region_name="us-east-1",
        endpoint_url="http://stubbed.invalid",
        aws_access_key_id="synthetic",
        aws_secret_access_key="synthetic",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )


def run_case(client: Any, case: Case) -> CaseReport:
    """Reads one case's keys; the stub checks every call's parameters, and that each of its answers was asked for."""
    clock = FakeClock()
    result: ReadResult | None = None
    raised: str | None = None
    try:
        with stubbed(client, case.replies, clock):
            result = read_batch(
                client,
                known_answer.TABLE,
                case.keys,
                known_answer.KEY,
                consistent_read=True,
                max_passes=case.max_passes,
                timeout_s=case.timeout_s,
                concurrency=1,
                clock=clock,
                sleep=clock.sleep,
                jitter=lambda _, high: high,
            )
    except ManifestError as error:
        raised = f"ManifestError at positions {', '.join(map(str, error.positions))}"
    except LedgerInvariantError as error:
        raised, result = "LedgerInvariantError", error.result if isinstance(error.result, ReadResult) else None
    except Exception as error:  # a reader that fails in a way no case names is a wrong answer, not the lab's end
        raised = f"{type(error).__name__}: {error}"
    return CaseReport(case, _told(result, raised, clock))


def run_control(client: Any) -> ControlReport:
    """The one-call reader on the first of the lab's three answers."""
    with stubbed(client, [Reply(known_answer.ASK_ALL, known_answer.C_AND_A)], FakeClock()):
        return ControlReport(one_call_reader(client))


def one_call_reader(client: Any) -> list[str]:
    """The mistake this project is about, kept to be shown: what the first answer lacks is called missing."""
    response = client.batch_get_item(**known_answer.ASK_ALL)
    found = {row["pk"]["S"] for row in response["Responses"][known_answer.TABLE]}
    return [key for key in known_answer.ASKED if key not in found]


@contextmanager
def stubbed(client: Any, replies: Sequence[Reply], clock: FakeClock) -> Iterator[None]:
    """The client with scripted answers; raises AssertionError at the end when one of them was never asked for."""
    durations = iter([reply.takes_s for reply in replies])
    event, name = "provide-client-params.dynamodb.BatchGetItem", "itemledger-lab-clock"
    client.meta.events.register(event, lambda **_: clock.advance(next(durations, 0.0)), unique_id=name)
    with Stubber(client) as stubber:
        for reply in replies:
            if isinstance(reply.answer, Refusal):
                stubber.add_client_error(
                    "batch_get_item",
                    reply.answer.code,
                    reply.answer.message,
                    reply.answer.status,
                    expected_params=dict(reply.request),
                    response_meta={"RequestId": reply.answer.request_id, "RetryAttempts": 0},
                )
            else:
                stubber.add_response("batch_get_item", dict(reply.answer), dict(reply.request))
        try:
            yield
            stubber.assert_no_pending_responses()
        finally:
            client.meta.events.unregister(event, unique_id=name)


def _told(result: ReadResult | None, raised: str | None, clock: FakeClock) -> Expected:
    """A read's end in the words of ``known_answer``."""
    return {
        "raised": raised,
        "outcomes": [_outcome(outcome) for outcome in result.outcomes] if result else [],
        "ledger": [_pass(entry) for entry in result.ledger] if result else [],
        "stopped_by": str(result.stop_reason) if result else None,
        "terminal_error": str(result.terminal_error) if result and result.terminal_error else None,
        "decisions": {
            "requiring A-D": str(result.decide(required=known_answer.REQUIRED)),
            "requiring all five": str(result.decide()),
        }
        if result
        else {},
        "pauses_s": [round(pause, 3) for pause in clock.sleeps],
        "evidence_label": str(result.totals.label) if result else None,
    }


def _outcome(outcome: KeyOutcome) -> str:
    value = f" {outcome.item.get('value')}" if outcome.item is not None else ""
    return f"{outcome.key} {outcome.disposition}{value}"


def _pass(entry: PassEvidence) -> str:
    asked = f"pass {entry.application_pass} asked {_names(entry.requested)}"
    if entry.error is not None:
        return f"{asked}: no usable response, {entry.error}"
    return (
        f"{asked}: returned {_names(entry.returned)}, left over {_names(entry.unprocessed)}, "
        f"not returned {_names(entry.processed_not_returned)}"
    )


def _names(keys: Iterable[object]) -> str:
    return " ".join(map(str, keys)) or "-"
