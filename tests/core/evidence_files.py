"""Evidence files to look at: of reads driven by hand, of random reads, and rewritten as a forger would."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.decision import ALL, NONE, Decision
from itemledger.core.evidence import EvidenceLog, encode
from itemledger.core.read import Read
from itemledger.core.result import ReadResult, StopReason
from itemledger.core.steps import Call, WaitUntil
from itemledger.core.terms import Earlier, Observation
from itemledger.core.tokens import Tokeniser
from itemledger.errors import LedgerInvariantError
from tests.core.support import answer, failure, read_of, response, settings

TOKEN_KEY = bytes(range(32))
HASHED = Tokeniser(TOKEN_KEY)
PLAIN = Tokeniser(None)
ENVIRONMENT = {"python": "CPython 3.11.7", "itemledger": "0.1.0"}
POLICIES = {"all": ALL, "none": NONE}
#: One row of this size, and the answer's size explains what it left over.
FULL = "x" * 1_000_000

Line = dict[str, Any]  # a parsed line: JSON of every kind


def file_of(
    result: ReadResult,
    *,
    policy: str = "all",
    tokeniser: Tokeniser = HASHED,
    decision: Decision | None = None,
    tables: int = 1,
) -> list[bytes]:
    """The evidence file of a read that kept its ledger."""
    log = EvidenceLog(tokeniser)
    lines = [
        log.header(
            observation=result.observation,
            settings=result.settings,
            bounds=result.bounds,
            manifest_size=len(result.requested_order),
            environment=ENVIRONMENT,
            policy=policy,
            tables=tables,
        )
    ]
    lines += log.manifest(result.requested_order)
    lines += [log.call(entry) for entry in result.ledger]
    lines.append(log.summary(result, decision or result.decide(POLICIES[policy])))
    lines.append(log.trailer())
    return lines


def full_answer(call: Call, *, left: Iterable[object]) -> Answer:
    """An answer so large that its size explains the leftovers."""
    told = response(call, left=set(left))  # type: ignore[arg-type]  # keys, whatever their type
    for rows in told["Responses"].values():
        for row in rows[:1]:
            row["data"] = {"S": FULL}
    return Answer(told, request_id=f"r-{call.number}", sdk_retry_attempts=0)


def random_result(chance: random.Random) -> ReadResult:
    """Where a read of up to 12 keys ends, under answers, failures and stops of every kind, in any legal order."""
    (result,) = _random_results(chance, tables=1)
    return result


def random_results(chance: random.Random) -> tuple[ReadResult, ...]:
    """The same for two tables that share their calls."""
    return _random_results(chance, tables=2)


def _random_results(chance: random.Random, *, tables: int) -> tuple[ReadResult, ...]:
    number = chance.choice([1, 1, 1, 2, 4, 5])
    observation = Observation(f"o-{number}", started_at="2026-01-01T00:00:00.000+00:00", revisions={"itemledger": "0"})
    if number > 1:
        observation = replace(observation, number=number, parent_id="o-1" if number == 2 else "o-p", first_id="o-1")
    consistent = chance.random() < 0.5
    read = read_of(
        *(
            (settings(f"T{table}", consistent_read=consistent), [f"k{i}" for i in range(chance.randrange(13))])
            for table in range(tables)
        ),
        call_items=chance.randint(1, 5),
        observation=observation,
        earlier=Earlier(frozenset({"e1"}), frozenset(chance.choice([(), ("e2",)]))) if number > 1 else None,
        max_passes=chance.randint(1, 3),
        concurrency=chance.randint(1, 3),
    )
    mood = chance.choice(["healthy", "healthy", "credentials", "any"])
    in_flight: list[Call] = []
    now = 0.0
    while not read.done:
        steps = read.due(now)
        in_flight += [step for step in steps if isinstance(step, Call)]
        if not in_flight:
            now = max([now, *(step.at for step in steps if isinstance(step, WaitUntil))])
            continue
        if mood == "any" and chance.random() < 0.1:
            read.stop(chance.choice([StopReason.DEADLINE, StopReason.INTERRUPTED]))
            break
        call = in_flight.pop(chance.randrange(len(in_flight)))
        try:
            read.answered(call, _end(chance, mood, call), now)
        except LedgerInvariantError:
            break
    return read.results()


def _end(chance: random.Random, mood: str, call: Call) -> Answer | Failure:
    keys = [key for _, key in call.sent]
    left = {key for key in keys if chance.random() < 0.4}
    absent = {key for key in keys if chance.random() < 0.2}
    fate = chance.random()
    told_off: tuple[FailureCause, str] | None = None
    if mood == "credentials" and fate < 0.4:
        told_off = (FailureCause.CREDENTIALS, "ExpiredTokenException")
    elif mood == "any" and fate < 0.1:
        told_off = chance.choice([(FailureCause.THROTTLED, "T"), (FailureCause.REFUSED, "V")])
    if told_off is not None:
        return replace(failure(*told_off), request_id=f"r-{call.number}")
    if mood == "any" and fate < 0.15:
        return Answer({"Responses": {}}, request_id="r-bad")
    if fate < 0.35:
        return full_answer(call, left=left)
    told = answer(call, left=left, absent=absent, throttled=fate < 0.45)
    if fate < 0.7:
        capacity = [
            {"TableName": name, "CapacityUnits": chance.choice([0.5, 1.5])} for name in told.response["Responses"]
        ]
        told = replace(told, response={**told.response, "ConsumedCapacity": capacity})
    return replace(told, sdk_retry_attempts=None) if fate > 0.95 else told


def stepped(*ends: Callable[[Call], Any], keys: Iterable[object] = "ABCDZ", **options: Any) -> Read:
    """A read whose calls, in the order in which they start, end one at a time in these ways."""
    read = read_of((options.pop("table", None) or settings(), list(keys)), **options)
    now = 0.0
    for end in ends:
        steps = read.due(now)
        if isinstance(steps[0], WaitUntil):
            now = steps[0].at
            steps = read.due(now)
        (call,) = (step for step in steps if isinstance(step, Call))
        now += 1.0
        read.answered(call, end(call), now)
    return read


def parsed(lines: Iterable[bytes]) -> list[Line]:
    return [json.loads(line) for line in lines]


def rechained(lines: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """These lines as a file whose chain, trailer and spelling are right again: the work of a careful forger."""
    raw: list[bytes] = []
    previous = ""
    for line in lines:
        told = {**line, "prev": previous}
        if line["kind"] == "trailer":
            told |= {"lines": len(raw) + 1, "sha256": hashlib.sha256(b"".join(raw)).hexdigest()}
        raw.append(encode(told))
        previous = hashlib.sha256(raw[-1]).hexdigest()
    return raw


def published(name: str) -> dict[str, Any]:
    """A JSON Schema as it is shipped in the package."""
    schema: dict[str, Any] = json.loads((files("itemledger") / "schemas" / name).read_text())
    return schema


LINES = Draft202012Validator(published("evidence-1.json"))


def schema_faults(line: Mapping[str, Any]) -> list[str]:
    """What the published schema has against a line."""
    return [error.message for error in LINES.iter_errors(line)]
