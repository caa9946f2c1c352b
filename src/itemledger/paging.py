"""From a caller's arguments to a PageRun: a request in boto3's shapes, plain or typed values, bounds checked."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

from itemledger.apis.attribute_values import AttributeValueError, item_from_native, item_to_native
from itemledger.core.answer import Answer, Failure
from itemledger.core.pending import Jitter
from itemledger.core.result import Item
from itemledger.errors import IncompletePagesError, ManifestError
from itemledger.tables.budget import Budget
from itemledger.tables.page import LastKey, Row
from itemledger.tables.page_result import ASKED_FOR, PagesResult
from itemledger.tables.page_run import PageBounds, PageRun
from itemledger.tables.segment import has_filter

#: Service model 2012-08-10, Scan: TotalSegments.
MOST_SEGMENTS = 1_000_000
MOST_CONCURRENCY = 256


class PageOptions(TypedDict, total=False):
    """What pages take besides the request's own members, which are boto3's: ``TableName=``, ``IndexName=``, ...

    With ``values="native"``, the default, values go in and items come out as the boto3 resource's plain ones;
    ``"typed"`` takes and gives AttributeValue dicts. Conditions may be text, or boto3's ``Key(...)`` and ``Attr(...)``.
    ``max_items`` ends after so many matching items, ``max_examined`` after so many that the service has read. For an
    end within a page the key's attributes must be known: ``key`` names them, else DescribeTable is asked. ``timeout_s``
    bounds the whole, time of the caller's included; without it only the table's end does. A page that fails in a
    passing way is asked for again, ``max_attempts`` times in all, after ``jitter(0, min(backoff_cap_s,
    backoff_base_s * 2**n))`` seconds. ``clock`` (monotonic seconds) and ``jitter(low, high)`` can be replaced in tests.
    """

    values: Literal["native", "typed"]
    max_items: int | None
    max_examined: int | None
    key: Sequence[str]
    timeout_s: float | None
    max_attempts: int
    backoff_base_s: float
    backoff_cap_s: float
    clock: Callable[[], float]
    jitter: Jitter


class ScanOptions(PageOptions, total=False):
    """``segments`` scans in parallel, ``concurrency`` pages at a time (one per segment, if not given).

    ``starts`` takes only some segments, each from its beginning (``None``) or after a key: ``result.starts`` goes on
    where a scan ended. ``units_per_s`` is a budget of read capacity units.
    """

    segments: int
    concurrency: int
    starts: Mapping[int, LastKey | None]
    units_per_s: float


@dataclass(frozen=True, slots=True)
class PagesPlan:
    """A checked request with its bounds; ``describe`` says that the key's attributes are to be looked up first."""

    operation: Literal["query", "scan"]
    request: Mapping[str, Any]
    bounds: PageBounds
    starts: Mapping[int, LastKey | None]
    total_segments: int | None
    units_per_s: float | None
    key: tuple[str, ...]
    typed: bool
    clock: Callable[[], float]
    jitter: Jitter

    @property
    def describe(self) -> dict[str, Any] | None:
        wanted = self.bounds.max_items is not None and has_filter(self.request) and not self.key
        return {"TableName": self.request["TableName"]} if wanted else None

    def begin(self, described: Answer | Failure | None, started_at: float) -> PageRun:
        """The run; a DescribeTable that failed ends it before its first page."""
        budget = None
        if self.units_per_s is not None:
            budget = Budget(self.units_per_s, consistent_read=bool(self.request.get("ConsistentRead")))
        key = _key_of(described.response, self.request.get("IndexName")) if isinstance(described, Answer) else self.key
        run = PageRun(
            self.operation,
            self.request,
            self.starts,
            self.bounds,
            decode=_typed if self.typed else item_to_native,
            started_at=started_at,
            jitter=self.jitter,
            total_segments=self.total_segments,
            budget=budget,
            key=key,
        )
        if isinstance(described, Failure):
            run.refuse(described.error)
        return run


def plan_query(arguments: Mapping[str, Any]) -> PagesPlan:
    """Raises ManifestError for a request that cannot be carried out, and TypeError for an unknown option."""
    return _plan("query", arguments, PageOptions)


def plan_scan(arguments: Mapping[str, Any]) -> PagesPlan:
    """As ``plan_query``."""
    return _plan("scan", arguments, ScanOptions)


def raise_unless_asked_for(operation: str, result: PagesResult) -> None:
    """A run that just ended, without a word, would be taken for the whole."""
    if result.stop_reason in ASKED_FOR:
        return
    why = f": {result.terminal_error}" if result.terminal_error else ""
    raise IncompletePagesError(
        f"the {operation} of {result.table_name} ended with {result.stop_reason} after {result.totals.pages:,} pages"
        f"{why}; what came is whole, and result.starts says where to go on",
        result=result,
    )


def _plan(operation: Literal["query", "scan"], arguments: Mapping[str, Any], options: type) -> PagesPlan:
    known = options.__annotations__ | PageOptions.__annotations__
    request = {name: value for name, value in arguments.items() if name[:1].isupper()}
    given = {name: value for name, value in arguments.items() if name not in request}
    unknown = given.keys() - known.keys()
    if unknown:
        raise TypeError(f"unknown option {min(unknown)!r}; the options are {', '.join(known)}")
    if given.get("values", "native") not in ("native", "typed"):
        raise ManifestError(f"values must be 'native' or 'typed'; got {given['values']!r}")
    typed = given.get("values") == "typed"
    request = _request(operation, request, typed)
    total, starts = _segments(given, request, typed)
    concurrency = _whole("concurrency", given.get("concurrency", min(len(starts), MOST_CONCURRENCY)), MOST_CONCURRENCY)
    taken = {field.name: given[field.name] for field in fields(PageBounds) if field.name in given}
    bounds = PageBounds(**{**taken, "concurrency": concurrency})
    _check_bounds(bounds)
    key = given.get("key", ())
    if isinstance(key, str) or not all(isinstance(name, str) for name in key):
        raise ManifestError("key= must name attributes, as ('pk', 'sk')")
    return PagesPlan(
        operation,
        request,
        bounds,
        starts,
        total,
        _seconds("units_per_s", given.get("units_per_s")),
        tuple(key),
        typed,
        given.get("clock", time.monotonic),
        given.get("jitter", random.uniform),
    )


def _request(operation: str, request: dict[str, Any], typed: bool) -> dict[str, Any]:
    table = request.get("TableName")
    if not isinstance(table, str) or not table:
        raise ManifestError("TableName= is missing; give the table's name or ARN")
    for name in ("Segment", "TotalSegments"):
        if name in request:
            raise ManifestError(f"{name}= is set for each call; give segments=, and starts= for only some of them")
    if "ReturnConsumedCapacity" in request:
        raise ManifestError("ReturnConsumedCapacity= is always INDEXES here; leave it out")
    limit = request.get("Limit")
    if limit is not None:
        _whole("Limit", limit, 2**31 - 1)
    request = {name: value for name, value in request.items() if value is not None}
    values = request.get("ExpressionAttributeValues", {})
    if not typed and values:
        request["ExpressionAttributeValues"] = _natives("ExpressionAttributeValues", values)
    for name in ("KeyConditionExpression", "FilterExpression"):
        condition = request.get(name)
        if condition is not None and not isinstance(condition, str):
            _spell_out(request, name, condition)
    if operation == "query" and not (request.get("KeyConditionExpression") or request.get("KeyConditions")):
        raise ManifestError("KeyConditionExpression= is missing; a query reads one partition (or use scan_pages)")
    return request


def _spell_out(request: dict[str, Any], name: str, condition: object) -> None:
    """One of boto3's condition objects as text, with names and values of its own."""
    from boto3.dynamodb.conditions import ConditionBase, ConditionExpressionBuilder  # only for who has one already

    if not isinstance(condition, ConditionBase):
        raise ManifestError(f"{name}= is a {type(condition).__name__}; give text, or a condition of boto3's")
    built = ConditionExpressionBuilder().build_expression(condition, is_key_condition=name.startswith("Key"))
    mark = name[0].lower()  # both conditions number theirs from 0
    names = {f"#{mark}{alias[1:]}": attribute for alias, attribute in built.attribute_name_placeholders.items()}
    values = {f":{mark}{alias[1:]}": value for alias, value in built.attribute_value_placeholders.items()}
    text = built.condition_expression.replace("#n", f"#{mark}n").replace(":v", f":{mark}v")
    taken = (names.keys() & request.get("ExpressionAttributeNames", {}).keys()) | (
        values.keys() & request.get("ExpressionAttributeValues", {}).keys()
    )
    if taken:
        raise ManifestError(f"the alias {min(taken)} is also one of {name}'s; give yours another name")
    request[name] = text
    request["ExpressionAttributeNames"] = {**request.get("ExpressionAttributeNames", {}), **names}
    if values:
        typed = _natives(name, values)
        request["ExpressionAttributeValues"] = {**request.get("ExpressionAttributeValues", {}), **typed}


def _natives(where: str, values: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    try:
        return item_from_native(values)
    except AttributeValueError as problem:
        raise ManifestError(f"{where}: {str(problem).removeprefix('attribute ')}") from None


def _segments(
    given: Mapping[str, Any], request: dict[str, Any], typed: bool
) -> tuple[int | None, Mapping[int, LastKey | None]]:
    total = _whole("segments", given.get("segments", 1), MOST_SEGMENTS)
    starts = given.get("starts")
    start_key = request.pop("ExclusiveStartKey", None)
    if start_key is not None and (starts is not None or total > 1):
        raise ManifestError("ExclusiveStartKey= is of one segment; give starts={segment: key}")
    if starts is None:
        starts = dict.fromkeys(range(total)) if start_key is None else {0: start_key}
    for number in starts:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < total:
            raise ManifestError(f"starts= names segment {number!r}; with segments={total} they are 0 to {total - 1}")
    return (total if total > 1 else None), {n: key and _typed_key(key, typed) for n, key in starts.items()}


def _typed_key(key: Mapping[str, Any], typed: bool) -> LastKey:
    """A key's attributes are texts, numbers or binaries, so what is a mapping already is typed."""
    if not isinstance(key, Mapping):
        raise ManifestError(f"a start key must be a mapping of the key's attributes; got a {type(key).__name__}")
    plain = {name: value for name, value in key.items() if not (typed or isinstance(value, Mapping))}
    return {**key, **_natives("a start key", plain)}


def _key_of(described: Mapping[str, Any], index_name: str | None) -> tuple[str, ...]:
    """The attributes of the index's key and the table's out of a DescribeTable answer; none where it tells none."""
    table = described.get("Table") or {}
    indexes = [*(table.get("GlobalSecondaryIndexes") or ()), *(table.get("LocalSecondaryIndexes") or ())]
    schemas = [each.get("KeySchema") for each in indexes if each.get("IndexName") == index_name]
    schemas.append(table.get("KeySchema"))
    return tuple(dict.fromkeys(part["AttributeName"] for schema in schemas for part in schema or ()))


def _check_bounds(bounds: PageBounds) -> None:
    for name in ("max_items", "max_examined"):
        if getattr(bounds, name) is not None:
            _whole(name, getattr(bounds, name))
    _whole("max_attempts", bounds.max_attempts)
    for name in ("timeout_s", "backoff_base_s", "backoff_cap_s"):
        _seconds(name, getattr(bounds, name))


def _whole(name: str, value: object, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ManifestError(f"{name} must be a whole number; got a {type(value).__name__}")
    if value < 1 or (most is not None and value > most):
        raise ManifestError(f"{name} must be at least 1{'' if most is None else f' and at most {most:,}'}; got {value}")
    return value


def _seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ManifestError(f"{name} must be a number; got a {type(value).__name__}")
    if not 0 < value < math.inf:
        raise ManifestError(f"{name} must be more than zero and finite; got {value!r}")
    return value


def _typed(row: Row) -> Item:
    return row
