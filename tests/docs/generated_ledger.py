"""What ``docs/outcomes.md`` and ``docs/apis.md`` take from the code: the law, the decisions, the writing APIs."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

from itemledger import WorkResult, WorkStop
from itemledger.apis import WRITE_APIS, write_api
from itemledger.core.outcome import TRANSITIONS, Event, Outcome
from itemledger.core.policy import OnUnknown
from itemledger.core.rows import Decided, Review
from itemledger.core.write_api import Effect, Proof, Verdict, WriteApi

Row = Sequence[str]

#: A target for each API, and a second one where limits, replay or effect depend on it.
TARGETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "dynamodb.BatchWriteItem": {"": {"table_name": "T", "key": {"pk": "S"}}},
    "dynamodb.BatchExecuteStatement": {"": {}},
    "sagemaker-featurestore-runtime.BatchWriteRecord": {
        "": {"feature_group_name": "g", "record_identifier": "id", "event_time": "at"}
    },
    "sqs.SendMessageBatch": {
        "standard": {"queue_url": "https://sqs.example/1/q"},
        "FIFO": {"queue_url": "https://sqs.example/1/q.fifo"},
    },
    "sqs.DeleteMessageBatch": {"": {"queue_url": "https://sqs.example/1/q"}},
    "sqs.ChangeMessageVisibilityBatch": {"": {"queue_url": "https://sqs.example/1/q"}},
    "sns.PublishBatch": {
        "standard": {"topic_arn": "arn:aws:sns:us-east-1:1:t"},
        "FIFO": {"topic_arn": "arn:aws:sns:us-east-1:1:t.fifo"},
    },
    "kinesis.PutRecords": {"": {"stream_name": "s"}},
    "firehose.PutRecordBatch": {"": {"delivery_stream_name": "s"}},
    "events.PutEvents": {"": {"event_bus_name": "b"}},
    "s3.DeleteObjects": {"": {"bucket": "b"}},
    "http.Request": {
        "POST, PATCH": {"url": "https://api.example/x"},
        "PUT": {"url": "https://api.example/x", "method": "PUT"},
        "DELETE": {"url": "https://api.example/x", "method": "DELETE"},
        "key unknown to the server": {"url": "https://api.example/x", "key_life_s": 0},
    },
    "opensearch.Bulk": {"": {"url": "https://search.example", "index": "i"}},
}
#: Ends of a run that a reader should know, as counts of its rows.
_ENDS: Mapping[str, tuple[Mapping[Outcome, int], WorkStop]] = {
    "all rows succeeded": ({Outcome.SUCCEEDED: 2}, WorkStop.DONE),
    "all have an end, some are terminal": ({Outcome.SUCCEEDED: 1, Outcome.TERMINAL: 1}, WorkStop.DONE),
    "rows in reconcile that only a person moves": ({Outcome.SUCCEEDED: 1, Outcome.RECONCILE: 1}, WorkStop.DONE),
    "rows without an end, time is over": ({Outcome.SUCCEEDED: 1, Outcome.RETRYABLE: 1}, WorkStop.DEADLINE),
    "rows without an end, every further call would fail": ({Outcome.PENDING: 2}, WorkStop.BLOCKED),
    "rows without an end, somebody stopped it": ({Outcome.PENDING: 2}, WorkStop.INTERRUPTED),
}


def outcomes() -> Iterator[Row]:
    yield "outcome", "means", "goes on to"
    for outcome in Outcome:
        targets = dict.fromkeys(target for moves in TRANSITIONS[outcome].values() for target in moves)
        yield f"`{outcome}`", sentences(Outcome)[outcome.name], ", ".join(f"`{t}`" for t in targets) or "nowhere"


def events() -> Iterator[Row]:
    yield "event", "from", "to", "what happened"
    for event in Event:
        sources = [outcome for outcome in Outcome if event in TRANSITIONS[outcome]]
        targets = dict.fromkeys(target for source in sources for target in TRANSITIONS[source][event])
        yield (
            f"`{event}`",
            ", ".join(f"`{source}`" for source in sources),
            ", ".join(f"`{target}`" for target in targets),
            sentences(Event)[event.name],
        )


def diagram() -> str:
    """The law as a state diagram; an arrow carries every event that leads along it."""
    arrows: dict[tuple[Outcome, Outcome], list[str]] = {}
    for source, moves in TRANSITIONS.items():
        for event, targets in moves.items():
            for target in targets:
                arrows.setdefault((source, target), []).append(event.value)
    lines = ["stateDiagram-v2", "    [*] --> pending: planned"]
    lines += [f"    {source} --> {target}: {', '.join(names)}" for (source, target), names in arrows.items()]
    return "\n".join(["```mermaid", *lines, "```"])


def arrows() -> str:
    """The same for readers of plain text."""
    lines = []
    for source, moves in TRANSITIONS.items():
        to: dict[Outcome, list[str]] = {}
        for event, targets in moves.items():
            for target in targets:
                to.setdefault(target, []).append(event.value)
        for target, names in to.items():
            lines += textwrap.wrap(f"{source:<10} → {target:<10} {', '.join(names)}", 110, subsequent_indent=" " * 24)
    return "\n".join(["```text", *lines, "```"])


def work_decisions() -> Iterator[Row]:
    from itemledger.cli.problems import EXIT_CODES

    yield "the run ended with", "stop", "decision", "exit code"
    for words, (counts, stop) in _ENDS.items():
        result = WorkResult("o", {outcome: counts.get(outcome, 0) for outcome in Outcome}, 0, stop)
        yield words, f"`{stop}`", f"`{result.decision}`", str(EXIT_CODES[result.decision])


def table_of(kind: type[Enum], *head: str) -> Callable[[], Iterator[Row]]:
    """An enum as its members and their sentences."""

    def rows() -> Iterator[Row]:
        yield head
        for member in kind:
            yield f"`{member.value}`", sentences(kind).get(member.name, "")

    return rows


def limits() -> Iterator[Row]:
    yield "API", "items a request", "bytes a request", "bytes an item"
    for api, name in _apis():
        of = api.limits
        yield name, f"{of.items:,}", _bytes(of.request_bytes), _bytes(of.item_bytes)


def settling() -> Iterator[Row]:
    yield "API", "a second send", "recognised again", "look-up", "after", "codes that tell of an earlier send"
    for api, name in _apis():
        look_up, replay = api.look_up, api.replay
        yield (
            name,
            "changes nothing" if api.effect is Effect.REPEATABLE else "is a second effect",
            f"each {replay.scope.value}, {_duration(replay.life_s)}" if replay else "no",
            f"`{look_up.operation}`, {look_up.limits.items:,} a call" if look_up else "none",
            _duration(look_up.settle_s) if look_up else "–",
            ", ".join(f"`{code}`" for code in sorted(api.own_effect_codes)) or "–",
        )


TABLES: Mapping[str, Callable[[], Iterator[Row]]] = {
    "outcomes": outcomes,
    "events": events,
    "work decisions": work_decisions,
    "verdicts": table_of(Verdict, "verdict", "what the look-up saw"),
    "proofs": table_of(Proof, "a failed call proves", "which means"),
    "unknown": table_of(OnUnknown, "`on_unknown`", "an item whose end nothing can settle"),
    "reviews": table_of(Review, "review", "why the row waits for a person"),
    "decided": table_of(Decided, "decision", "means"),
    "limits": limits,
    "settling": settling,
}
TEXTS: Mapping[str, Callable[[], str]] = {"diagram": diagram, "arrows": arrows}


@cache
def sentences(kind: type[Enum]) -> Mapping[str, str]:
    """The docstring of each member, on one line; Python itself does not keep them."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for member, text in zip(tree.body, tree.body[1:], strict=False):
        match member, text:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(sentence))):
                found[name] = " ".join(sentence.split())
    return found


def _apis() -> Iterator[tuple[WriteApi, str]]:
    for name in WRITE_APIS:
        for variant, target in TARGETS[name].items():
            yield write_api(name).of(target), f"`{name}`{f', {variant}' if variant else ''}"


def _bytes(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"
