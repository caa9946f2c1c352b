"""From a caller's arguments to a Read: bounds checked, tables described, the manifest fixed before the first call."""

from __future__ import annotations

import datetime
import math
import platform
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypedDict

import botocore

from itemledger._version import __version__
from itemledger.apis.dynamodb_get import BatchGetItem
from itemledger.core.answer import Answer, Failure, FailureCause, TerminalError
from itemledger.core.hold import HoldRecord
from itemledger.core.keys import Key, KeySchema
from itemledger.core.manifest import ManifestBuilder, ProjectionPaths, TableRead
from itemledger.core.pending import Jitter
from itemledger.core.read import Read
from itemledger.core.result import StopReason
from itemledger.core.steps import Call
from itemledger.core.terms import Bounds, Observation, Settings
from itemledger.errors import HoldRecordError, ManifestError
from itemledger.provider import TableDescription, described


class ReadOptions(TypedDict, total=False):
    """What every read takes besides its tables; the defaults are those of ``Bounds`` and ``Settings``.

    ``max_passes`` bounds the charged passes of each key, ``timeout_s`` the whole read, time inside calls included.
    Between passes it waits ``jitter(0, min(backoff_cap_s, backoff_base_s * 2**n))`` seconds, and not at all when only
    the answer's size left keys over. ``concurrency`` calls run at a time; with 1 they run in the calling thread,
    where only the SDK's own timeouts can end a call early. ``values="typed"`` gives AttributeValue dicts.
    ``fold_duplicates`` gives equal keys one outcome at each position instead of refusing them.
    ``unprocessed_keys_optional`` is for endpoints known to leave UnprocessedKeys out. ``clock`` (monotonic seconds)
    and ``jitter(low, high)`` can be replaced in tests.
    """

    max_passes: int
    timeout_s: float
    concurrency: int
    backoff_base_s: float
    backoff_cap_s: float
    values: Literal["native", "typed"]
    fold_duplicates: bool
    unprocessed_keys_optional: bool
    clock: Callable[[], float]
    jitter: Jitter


#: The bounds that are whole numbers, and how far they go: a thread or task per call, and every pass costs a request.
MOST = {"concurrency": 256, "max_passes": 1_000_000}


@dataclass(frozen=True, slots=True)
class Plan:
    """One or more tables to read under one deadline, and where the read stands in its chain."""

    reads: Sequence[TableRead]
    bounds: Bounds
    values: Literal["native", "typed"] = "native"
    fold_duplicates: bool = False
    unprocessed_keys_optional: bool = False
    clock: Callable[[], float] = time.monotonic
    jitter: Jitter = random.uniform
    hold: HoldRecord | None = None
    keep: bool = True


def plan(
    reads: Sequence[TableRead], options: ReadOptions, *, hold: HoldRecord | None = None, keep: bool = True
) -> Plan:
    """The options as checked values; raises ManifestError for a bound of zero or less."""
    unknown = options.keys() - ReadOptions.__annotations__.keys()
    if unknown:
        raise TypeError(
            f"unknown option {min(unknown)!r}; the options of a read are {', '.join(ReadOptions.__annotations__)}"
        )
    settled: dict[str, Any] = {**options}
    bounds = Bounds(**{f.name: settled.pop(f.name) for f in fields(Bounds) if f.name in settled})
    _check_bounds(bounds)
    if settled.get("values", "native") not in ("native", "typed"):
        raise ManifestError(f"values must be 'native' or 'typed'; got {settled['values']!r}")
    flags = {name: settled.get(name, False) for name in ("fold_duplicates", "unprocessed_keys_optional")}
    for name, flag in [*flags.items(), *(("consistent_read", read.consistent_read) for read in reads)]:
        if not isinstance(flag, bool):
            raise ManifestError(f"{name} must be True or False; got a {type(flag).__name__}")
    return Plan(reads, bounds, hold=hold, keep=keep, **settled)


def _check_bounds(bounds: Bounds) -> None:
    for field in fields(Bounds):
        value = getattr(bounds, field.name)
        whole = field.name in MOST
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise ManifestError(
                f"{field.name} must be a {'whole ' if whole else ''}number; got a {type(value).__name__}"
            )
        if not 0 < value < math.inf:
            raise ManifestError(f"{field.name} must be more than zero and finite; got {value!r}")
        if whole and value > MOST[field.name]:
            raise ManifestError(f"{field.name} must be at most {MOST[field.name]:,}; got {value!r}")


def plan_resumption(hold: HoldRecord, options: ReadOptions, *, keep: bool = True) -> Plan:
    """A new observation of what a hold record left unresolved, read as the first one was.

    Raises HoldRecordError for the record of a read that met impossible evidence: nothing of it is to be used.
    """
    if hold.stop_reason is StopReason.INVARIANT_BROKEN:
        raise HoldRecordError("this read met impossible evidence, so nothing of it is used further; start a new read")
    settings = hold.settings
    read = TableRead(
        settings.table_name,
        [_spelled(key, settings.key) for key in hold.unresolved],
        {n: t for n, t in zip(settings.key.names, settings.key.types, strict=True) if t}
        if settings.key.known
        else None,
        settings.projection,
        settings.consistent_read,
    )
    options = {"values": settings.values, "unprocessed_keys_optional": settings.unprocessed_keys_optional, **options}
    return plan([read], options, hold=hold, keep=keep)


def tables_to_describe(plan: Plan) -> list[Call]:
    """A DescribeTable call for each table whose key was not given."""
    names = dict.fromkeys(t.table_name for t in plan.reads if t.key is None and not _is_empty(t.keys))
    return [Call(0, "describe_table", {"TableName": name}, (), (), 0, 0.0) for name in names]


def _is_empty(keys: object) -> bool:
    return isinstance(keys, Sized) and len(keys) == 0


def late_description() -> Failure:
    """What stands for a DescribeTable that did not answer before the deadline."""
    return Failure(FailureCause.TRANSIENT, "DeadlineReached", "no answer before the deadline")


def begin(plan: Plan, answers: Mapping[str, Answer | Failure], started_at: float) -> Read:
    """The Read, with every table's key known; a table that could not be described ends it before its first call."""
    builder = ManifestBuilder(fold_duplicates=plan.fold_duplicates)
    refusals: list[TerminalError] = []
    for table in plan.reads:
        description: TableDescription | None = None
        if table.key is not None:
            description = TableDescription(KeySchema.of(table.key), None)
        elif table.table_name in answers:
            description = _description(answers[table.table_name], refusals)
        keys = table.keys
        if description is None:
            keys = keys if isinstance(keys, str | bytes | Mapping) else list(keys)
            mapping = next((key for key in keys if isinstance(key, Mapping)), None)
            description = TableDescription(KeySchema.unknown(mapping or next(iter(keys), "")), None)
        settings = Settings(
            table.table_name,
            description.key,
            table.consistent_read,
            _paths(table.projection),
            plan.values,
            plan.unprocessed_keys_optional,
        )
        builder.add(settings, keys, arn=description.arn)
    manifest = builder.build()
    read = Read(
        BatchGetItem(manifest.tables),
        manifest,
        plan.bounds,
        observations=[_observation(plan.hold) for _ in manifest.parts],
        started_at=started_at,
        jitter=plan.jitter,
        earlier=plan.hold.settled() if plan.hold else None,
        keep=plan.keep,
    )
    if refusals and manifest.keys:
        read.refuse(refusals[0])
    return read


def _paths(projection: ProjectionPaths | None) -> tuple[str | tuple[str | int, ...], ...] | None:
    if isinstance(projection, str):
        raise ManifestError(f"projection={projection!r} is one text; give a list of paths, such as [{projection!r}]")
    return None if projection is None else tuple(projection)


def wants_fresh_credentials(answer: Answer | Failure) -> bool:
    """Whether a DescribeTable is worth asking once more: it is signed anew, maybe with a fresh token (FC-09)."""
    return isinstance(answer, Failure) and answer.cause is FailureCause.CREDENTIALS


def _description(answer: Answer | Failure, refusals: list[TerminalError]) -> TableDescription | None:
    if isinstance(answer, Failure):
        hint = "; give key= to do without DescribeTable"
        refusals.append(replace(answer.error, message=f"DescribeTable: {answer.message}{hint}"))
        return None
    description = described(answer)
    if description is None:
        message = "DescribeTable answered without a key schema; give key= to do without it"
        refusals.append(TerminalError("UnusableDescription", message, answer.request_id, transient=False))
    return description


def _observation(hold: HoldRecord | None) -> Observation:
    fresh = Observation(
        id=uuid.uuid4().hex,
        started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        revisions={
            "itemledger": __version__,
            "botocore": botocore.__version__,
            "python": platform.python_version(),
        },
    )
    return hold.next_observation(fresh) if hold else fresh


def _spelled(key: Key, schema: KeySchema) -> object:
    """A key of a hold record as a caller would give it; a mapping where only the caller's own names are known."""
    return schema.typed(key) if schema.guessed else key
