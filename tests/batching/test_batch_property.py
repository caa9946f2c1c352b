"""Laws over random puts, deletes and faults: the report adds up, and what it says of an item was so; all synthetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ReadTimeoutError
from hypothesis import example, given
from hypothesis import strategies as st

from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.batch_report import BatchReport
from itemledger.batch_writing import batch_writer
from itemledger.batching import with_backoff
from itemledger.ledger import Policy
from itemledger.testing import Call, FakeClock, ScriptedClient, batch_get_response, error, seeded_jitter

LOST = ReadTimeoutError(endpoint_url="http://127.0.0.1")
TOO_LARGE = 200
DELETED = -1

faults = st.sampled_from(
    ["", "", "", "", "left", "left", "lost before", "lost after", "throttled", "refused", "blocked", "interrupted"]
)
#: A key, and whether it is put, deleted, over its limit, or the buffer is sent.
steps = st.tuples(st.integers(0, 30), st.sampled_from(["put"] * 5 + ["delete", "delete", "large", "flush"]))


@dataclass
class World:
    """A table, and the journal of what was done to it: by key, the numbers of the puts."""

    faults: list[str]
    left: Callable[[int], bool]
    items: dict[str, Any] = field(default_factory=dict)
    done: Counter[int] = field(default_factory=Counter)
    calls: list[int] = field(default_factory=list)

    def __call__(self, call: Call) -> Any:
        (entries,) = call.request["RequestItems"].values()
        fault = self.faults.pop() if self.faults else ""
        match fault:
            case "throttled":
                return error("ThrottlingException")
            case "blocked":
                return error("AccessDeniedException")
            case "interrupted":
                raise KeyboardInterrupt
            case "lost before":
                return LOST
        if call.operation == "batch_get_item":
            return self._look_up(entries, leaving=fault == "left")
        assert len(entries) <= 25
        assert len({str(_key(entry)) for entry in entries}) == len(entries), "the service takes each key once a call"
        if fault == "refused" and any(_key(entry) == "3" for entry in entries):
            return error("ValidationException")
        left = [entry for n, entry in enumerate(entries) if fault == "left" and self.left(n)]
        for entry in entries:
            if entry not in left:
                self._do(entry)
        if fault == "lost after":
            return LOST
        return {
            "UnprocessedItems": {"T": left} if left else {},
            "ResponseMetadata": {"RequestId": "w", "HTTPStatusCode": 200, "RetryAttempts": 0},
        }

    def _look_up(self, entries: Any, *, leaving: bool) -> Any:
        keys = entries["Keys"]
        left = [key for n, key in enumerate(keys) if leaving and self.left(n)]
        found = [self.items[key["pk"]["S"]] for key in keys if key not in left and key["pk"]["S"] in self.items]
        return batch_get_response(found, table="T", unprocessed=left)

    def _do(self, entry: Any) -> None:
        if "DeleteRequest" in entry:
            self.items.pop(_key(entry), None)
            return
        self.items[_key(entry)] = entry["PutRequest"]["Item"]
        self.done[int(entry["PutRequest"]["Item"]["n"]["N"])] += 1


def _key(entry: Any) -> str:
    body = entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"]
    key: str = body["pk"]["S"]
    return key


def _holds(report: BatchReport, world: World, numbers: dict[int, str], replaced: int) -> None:
    """Each item that was given is in one part; ``numbers`` says of each position what was done with it."""
    assert len(numbers) == report.total
    assert replaced == report.replaced
    named = [item.position for item in (*report.leftover, *report.refused, *report.unknown)]
    assert len(named) == len(set(named))
    assert set(named) <= set(numbers)
    puts = {position for position, step in numbers.items() if step == "put"}
    for item in report.leftover:
        assert not world.done[item.position], "known not to be done, and it was"
    for item in report.refused:
        assert not world.done[item.position]
    if not replaced:
        for position in puts - set(named):
            assert world.done[position], "called written, and it was not"


options = st.fixed_dictionaries(
    {
        "faults": st.lists(faults, max_size=14),
        "seed": st.integers(0, 2**16),
        "policy": st.builds(Policy, max_attempts=st.integers(1, 4), max_look_ups=st.integers(1, 3)),
        "timeout_s": st.sampled_from([5.0, 60.0, 600.0]),
    }
)


def _made(drawn: dict[str, Any]) -> tuple[World, ScriptedClient, dict[str, Any]]:
    clock, jitter = FakeClock(), seeded_jitter(drawn["seed"])
    world = World([*drawn["faults"]], lambda n: jitter(0, 1) < 0.5)
    client = ScriptedClient(respond=world, clock=clock)
    run = {"clock": clock, "sleep": clock.sleep, "jitter": jitter, "concurrency": 1}
    return world, client, {**run, "policy": drawn["policy"], "timeout_s": drawn["timeout_s"]}


#: Found by a seed: what made the others go first was forgotten when the second of their calls was cut short.
FORGOTTEN = [(0, "put"), (1, "delete"), (0, "put")]


@given(st.lists(steps, max_size=140), options, st.booleans(), st.sampled_from([None, 0, 7, 60]))
@example(FORGOTTEN, {"faults": ["interrupted", ""], "seed": 0, "policy": Policy(), "timeout_s": 60.0}, False, None)
def test_a_writers_report_adds_up_and_is_true(
    given_: list[tuple[int, str]], drawn: dict[str, Any], overwrite: bool, raises_at: int | None
) -> None:
    world, client, run = _made(drawn)
    numbers: dict[int, str] = {}
    writer = batch_writer(client, "T", key={"pk": "S"}, overwrite_by_pkeys=["pk"] if overwrite else None, **run)
    try:
        with writer as batch:
            for at, (key, step) in enumerate(given_):
                if at == raises_at:
                    raise ZeroDivisionError
                if step == "flush":
                    batch.flush()
                    continue
                position = len(numbers)
                numbers[position] = step
                if step == "delete":
                    batch.delete_item(Key={"pk": str(key)})
                else:
                    body = {"b": "x" * 409_600} if step == "large" else {}
                    batch.put_item(Item={"pk": str(key), "n": position, **body})
    except BaseException as raised:
        carried = raised.report  # type: ignore[attr-defined]
    else:
        carried = writer.report
    assert writer.report == carried
    _holds(writer.report, world, numbers, writer.report.replaced if overwrite else 0)


@given(st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=250), options, st.booleans())
def test_a_backoffs_report_adds_up_and_is_true(
    given_: list[tuple[int, bool]], drawn: dict[str, Any], raises: bool
) -> None:
    world, client, run = _made(drawn)
    numbers: dict[int, str] = {}

    def items() -> Any:
        for position, (key, large) in enumerate(given_):
            numbers[position] = "large" if large and key < 20 else "put"
            yield {"pk": str(key), "n": position, **({"b": "x" * 409_600} if numbers[position] == "large" else {})}
        if raises:
            raise ZeroDivisionError

    try:
        report = with_backoff(client, BatchWriteItem(table_name="T", key={"pk": "S"}), items(), **run)
    except BaseException as raised:
        report = raised.report  # type: ignore[attr-defined]
    _holds(report, world, numbers, 0)
