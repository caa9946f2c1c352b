"""Reads driven by hand: a Read over one table of string keys, and answers to its calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal

from itemledger.apis.dynamodb_get import BatchGetItem
from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.keys import Key, KeySchema
from itemledger.core.manifest import KeyNames, ManifestBuilder
from itemledger.core.read import Read
from itemledger.core.reconcile import Limits
from itemledger.core.result import ReadResult
from itemledger.core.steps import Call, Step
from itemledger.core.terms import Bounds, Earlier, Observation, Settings

TABLE = "T"


def longest(_: float, high: float) -> float:
    """The jitter that always waits as long as it may."""
    return high


def settings(
    table_name: str = TABLE,
    key: KeyNames = "pk",
    *,
    consistent_read: bool = False,
    projection: tuple[Any, ...] | None = None,
    values: Literal["native", "typed"] = "native",
    unprocessed_keys_optional: bool = False,
) -> Settings:
    schema = KeySchema.of(key)
    return Settings(table_name, schema, consistent_read, projection, values, unprocessed_keys_optional)


def read_of(
    *tables: tuple[Settings, Iterable[object]],
    call_items: int = 100,
    fold: bool = False,
    keep: bool = True,
    jitter: Callable[[float, float], float] = longest,
    observation: Observation | None = None,
    earlier: Earlier | None = None,
    **bounds: float,
) -> Read:
    """A Read of these tables that starts at second 0; ``call_items`` stands in for the API's limit of 100."""
    builder = ManifestBuilder(fold_duplicates=fold)
    for table, keys in tables:
        builder.add(table, list(keys))
    manifest = builder.build()
    api = BatchGetItem(manifest.tables)
    api.limits = Limits(items=call_items)
    return Read(
        api,
        manifest,
        Bounds(**bounds),  # type: ignore[arg-type]  # whole numbers are among the floats
        observations=[observation or Observation("o-1")] * len(manifest.parts),
        started_at=0.0,
        jitter=jitter,
        earlier=earlier,
        keep=keep,
    )


def calls(steps: Iterable[Step]) -> list[Call]:
    """Steps that are all calls."""
    found = list(steps)
    assert all(isinstance(step, Call) for step in found), found
    return [step for step in found if isinstance(step, Call)]


def one_call(steps: Iterable[Step]) -> Call:
    (call,) = calls(steps)
    return call


def response(call: Call, *, left: Collection[Key] = (), absent: Collection[Key] = ()) -> dict[str, Any]:
    """What an honest service answers: rows for all keys but these, in the form the SDK hands out."""
    rows: dict[str, list[Any]] = {}
    leftovers: dict[str, Any] = {}
    for (table, entry), keys in zip(call.request["RequestItems"].items(), _sent_by_table(call), strict=True):
        rows[table] = []
        for typed, key in zip(entry["Keys"], keys, strict=True):
            if key in left:
                leftovers.setdefault(table, {**entry, "Keys": []})["Keys"].append(typed)
            elif key not in absent:
                rows[table].append({**typed, "data": {"S": f"of {table}"}})
    return {"Responses": rows, "UnprocessedKeys": leftovers}


def answer(call: Call, *, left: Collection[Key] = (), absent: Collection[Key] = (), throttled: bool = False) -> Answer:
    return Answer(
        response(call, left=left, absent=absent),
        request_id=f"r-{call.number}",
        sdk_retry_attempts=0,
        sdk_throttled=throttled,
    )


def failure(cause: FailureCause = FailureCause.THROTTLED, code: str = "ThrottlingException") -> Failure:
    return Failure(cause, code, "told by the service", request_id="r-failed", sdk_retry_attempts=3)


def result_of(read: Read) -> ReadResult:
    (result,) = read.results()
    return result


def _sent_by_table(call: Call) -> list[list[Key]]:
    by_table: dict[int, list[Key]] = {}
    for table, key in call.sent:
        by_table.setdefault(table, []).append(key)
    return list(by_table.values())
