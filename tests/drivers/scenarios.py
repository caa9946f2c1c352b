"""What both drivers must do with the same answers: one table, with every expectation written by hand.

A key is one letter, so that a request reads as ``"ABCDZ"`` and a read's end as ``"RRRRN"``: a letter for each input
position, R returned, N processed_not_returned, U unresolved. Nothing here is computed by the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from itemledger import ALL, ReadResult, TableRead
from itemledger.core.result import Disposition, KeyOutcome
from itemledger.testing import Call, Step, batch_get_response, describe_table_response, error

TABLE = "KnownAnswer"
VALUES = {"A": 10, "B": 20, "C": 30, "D": 40}

_LETTER = {Disposition.RETURNED: "R", Disposition.PROCESSED_NOT_RETURNED: "N", Disposition.UNRESOLVED: "U"}
Answers = Sequence[Any]


@dataclass(frozen=True)
class End:
    """How a read ended, as far as a scenario speaks of it; several tables are divided by ``|``.

    ``asked`` has the keys of each call in the order in which they were sent, only their number where a key has more
    than a letter. ``sleeps`` are the pauses between passes, with the jitter at the top of its range. ``error`` is the
    terminal error's text; ``broken`` says that the evidence was impossible. ``passes`` counts those that ended in a
    usable response.
    """

    standings: str
    stop: str
    asked: Sequence[str | int]
    decision: str
    passes: int
    sleeps: Sequence[float] = ()
    error: str | None = None
    retries: int | None = 0
    consumed: float | None = None
    broken: bool = False


@dataclass(frozen=True)
class Scenario:
    """One read, and what must come of it. ``one_at_a_time``: never two calls in flight, whatever the concurrency."""

    name: str
    answers: Callable[[], Answers]
    end: End
    keys: Iterable[object] = "ABCDZ"
    options: Mapping[str, Any] = field(default_factory=dict)
    key: Any = ("pk",)
    projection: Any = None
    consistent_read: bool = False
    reads: Sequence[TableRead] = ()
    says: str = ""
    one_at_a_time: bool = True

    @property
    def tables(self) -> list[TableRead]:
        """The tables to read: most scenarios have the one."""
        one = TableRead(TABLE, list(self.keys), self.key, self.projection, self.consistent_read)
        return list(self.reads) or [one]

    @property
    def arguments(self) -> dict[str, Any]:
        """What ``read_batch`` and ``iter_read`` are called with, apart from the options."""
        (table,) = self.tables
        return {
            "table_name": table.table_name,
            "keys": table.keys,
            "key": table.key,
            "projection": table.projection,
            "consistent_read": table.consistent_read,
        }

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def all_of(results: ReadResult | tuple[ReadResult, ...] | None) -> tuple[ReadResult, ...]:
    """What rides on an error: one result, or one for each table."""
    assert results is not None
    return (results,) if isinstance(results, ReadResult) else results


def highest(low: float, high: float) -> float:
    """A jitter that always draws the top of its range."""
    return high


def ended(
    results: Sequence[ReadResult], calls: Sequence[Call], sleeps: Sequence[float], *, broken: bool = False
) -> End:
    """What a read left, in the words of the table."""
    errors = [str(result.terminal_error) for result in results if result.terminal_error]
    return End(
        standings="|".join(standings(result.outcomes) for result in results),
        stop="|".join(result.stop_reason for result in results),
        asked=tuple(_asked(call) for call in calls),
        decision="|".join(str(result.decide(ALL)) for result in results),
        passes=max(result.totals.application_passes for result in results),
        sleeps=tuple(round(pause, 9) for pause in sleeps),
        error=errors[0] if errors else None,
        retries=results[0].totals.sdk_retry_attempts,
        consumed=results[0].totals.consumed,
        broken=broken,
    )


def standings(outcomes: Iterable[KeyOutcome]) -> str:
    """A letter for each input position."""
    return "".join(_LETTER[outcome.disposition] for outcome in outcomes)


def items_of(outcomes: Iterable[KeyOutcome]) -> dict[object, object]:
    """The items that came back, by key, without what only makes them large."""
    found = {outcome.key: outcome.item for outcome in outcomes if outcome.item is not None}
    return {key: {name: value for name, value in item.items() if name != "filler"} for key, item in found.items()}


def known_items(outcomes: Iterable[KeyOutcome]) -> dict[object, object]:
    """The item that each returned letter must have."""
    return {o.key: item(str(o.key)) for o in outcomes if o.disposition is Disposition.RETURNED}


def item(letter: str) -> dict[str, object]:
    """A row as a caller gets it."""
    return {"pk": letter, "n": Decimal(VALUES[letter])} if letter in VALUES else {"pk": letter}


def row(letter: str) -> dict[str, Any]:
    """A row as the service sends it."""
    return {"pk": {"S": letter}, "n": {"N": str(VALUES[letter])}} if letter in VALUES else {"pk": {"S": letter}}


def typed(letters: Iterable[str]) -> list[dict[str, Any]]:
    return [{"pk": {"S": letter}} for letter in letters]


def ok(found: Iterable[str] = "", left: Iterable[str] = "", id: str = "r1", retries: int = 0) -> dict[str, Any]:
    """An answer that returns some letters and leaves others over; what it does not name was processed."""
    rows = [row(letter) for letter in found]
    return batch_get_response(rows, table=TABLE, unprocessed=typed(left), request_id=id, retry_attempts=retries)


def but(answer: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """An answer with other members; ``None`` takes one away."""
    return {name: value for name, value in {**answer, **members}.items() if value is not None}


def big(letters: Iterable[str], left: Iterable[str] = "", item_bytes: int = 350_000) -> dict[str, Any]:
    """An answer so large that its size explains what it leaves over: two rows of 350,000 bytes and a third at hand."""
    filler = {"S": "x" * item_bytes}
    rows = [{**row(letter), "filler": filler} for letter in letters]
    return batch_get_response(rows, table=TABLE, unprocessed=typed(left))


def several(found: Mapping[str, str], left: Mapping[str, str] | None = None) -> dict[str, Any]:
    """An answer of several tables: their letters found and left over."""
    answer = batch_get_response()
    answer["Responses"] = {table: [row(letter) for letter in letters] for table, letters in found.items()}
    answer["UnprocessedKeys"] = {table: {"Keys": typed(letters)} for table, letters in (left or {}).items()}
    return answer


def capacity(told: Any) -> dict[str, Any]:
    return but(ok("ABCD"), ConsumedCapacity=told)


def shrinking(count: int) -> Answers:
    """100 keys of which each pass settles one."""
    names = [f"k{i:02}" for i in range(100)]
    return [ok(names[i : i + 1], names[i + 1 :]) for i in range(count)]


def _asked(call: Call) -> str | int:
    if call.operation == "describe_table":
        return f"describe {call.request['TableName']}"
    entries = call.request["RequestItems"].items()
    tables = {name.rpartition("/")[2]: _letters(entry["Keys"]) for name, entry in entries}  # of an ARN its name
    if list(tables) == [TABLE]:
        return tables[TABLE]
    return " ".join(f"{name}:{letters}" for name, letters in tables.items())


def _letters(keys: Sequence[Mapping[str, Any]]) -> str | int:
    names = [key["pk"].get("S", "") for key in keys]
    return "".join(names) if all(len(name) == 1 for name in names) else len(names)


# ------------------------------------------------------------------------------------------------ large items, scripted


class Endpoint:
    """A healthy endpoint that cuts its answers by size, at 16 MB in all and at 1 MB per partition, and never else.

    An item is as large as its filler, and the limits are decimal: 100 items of 300 KB then give the 52 rows of AWS's
    own example.
    """

    ANSWER_BYTES = 16_000_000
    PARTITION_BYTES = 1_000_000

    def __init__(self, item_bytes: int, absent: Callable[[str], bool] = lambda name: False) -> None:
        self._filler = {"S": "x" * item_bytes}  # one text, shared by all rows
        self._absent = absent

    def __call__(self, call: Call) -> dict[str, Any]:
        ((table, entry),) = call.request["RequestItems"].items()
        room, room_in, rows, left = self.ANSWER_BYTES, dict[str, int](), [], []
        for key in entry["Keys"]:
            if self._absent(key["pk"]["S"]):
                continue
            partition = key["pk"]["S"]
            size = len(self._filler["S"])
            here = room_in.setdefault(partition, self.PARTITION_BYTES)
            if size > room or size > here:
                left.append(key)
                continue
            room -= size
            room_in[partition] -= size
            rows.append({**key, "filler": self._filler})
        return batch_get_response(rows, table=table, unprocessed=left)


# ------------------------------------------------------------------------------------------------------------ the table

LEFT_AD_INFINITUM = ("AB",) * 8
DOUBLING = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0)

SCENARIOS = [
    # What a healthy read may meet.
    Scenario(
        "the known answer comes in three passes",
        lambda: [ok("CA", "BD", "r1"), ok("B", "D", "r2"), ok("D", "", "r3")],
        End("RRRRN", "complete", ("ABCDZ", "BD", "D"), "reject", 3, sleeps=(0.05, 0.1)),
    ),
    Scenario(
        "one answer in another order is enough",
        lambda: [ok("DBCA")],
        End("RRRR", "complete", ("ABCD",), "accept", 1),
        keys="ABCD",
    ),
    Scenario(
        "an empty manifest is complete at once", list, End("", "complete", (), "accept", 0, consumed=0.0), keys=""
    ),
    Scenario(
        "a table all of whose keys are absent",
        lambda: [ok()],
        End("NN", "complete", ("AB",), "reject", 1),
        keys="AB",
    ),
    Scenario(
        "leftovers in another order and with an empty list in between",
        lambda: [ok("C", "DBA"), but(ok("ABD"), UnprocessedKeys={TABLE: {"Keys": []}})],
        End("RRRR", "complete", ("ABCD", "ABD"), "accept", 2, sleeps=(0.05,)),
        keys="ABCD",
    ),
    Scenario(
        "a throttled SDK attempt is counted beside the passes",
        lambda: [ok("A", "B", retries=2), ok("B", retries=1)],
        End("RR", "complete", ("AB", "B"), "accept", 2, sleeps=(0.05,), retries=3),
        keys="AB",
    ),
    Scenario(
        "the table tells its key",
        lambda: [Step(describe_table_response(TABLE, {"pk": "S"}), "describe_table"), ok("AB")],
        End("RR", "complete", (f"describe {TABLE}", "AB"), "accept", 1),
        keys="AB",
        key=None,
    ),
    # Bounds.
    Scenario(
        "two passes are not enough",
        lambda: [ok("CA", "BD"), ok("B", "D")],
        End("RRRUN", "passes_exhausted", ("ABCDZ", "BD"), "retry", 2, sleeps=(0.05,)),
        options={"max_passes": 2},
    ),
    Scenario(
        "one pass allows no pause at all",
        lambda: [ok("A", "B")],
        End("RU", "passes_exhausted", ("AB",), "retry", 1),
        keys="AB",
        options={"max_passes": 1},
    ),
    Scenario(
        "leftovers that never shrink run into the pass bound",
        lambda: [ok("", "AB") for _ in range(8)],
        End("UU", "passes_exhausted", LEFT_AD_INFINITUM, "retry", 8, sleeps=DOUBLING),
        keys="AB",
    ),
    Scenario(
        "leftovers that never shrink run into the deadline before a pause that would cross it",
        lambda: [ok("", "AB") for _ in range(5)],
        End("UU", "deadline", ("AB",) * 5, "retry", 5, sleeps=(0.05, 0.1, 0.2, 0.4)),
        keys="AB",
        options={"timeout_s": 1.0},
    ),
    Scenario(
        "a hundred passes that shrink by one complete when they are allowed",
        lambda: shrinking(100),
        End(
            "R" * 100,
            "complete",
            tuple(range(100, 0, -1)),
            "accept",
            100,
            sleeps=(0.05, 0.1, 0.2, 0.4, 0.8, *[1.0] * 94),
        ),
        keys=[f"k{i:02}" for i in range(100)],
        options={"max_passes": 100, "timeout_s": 600.0},
    ),
    Scenario(
        "a hundred passes that shrink by one do not fit the default bounds",
        lambda: shrinking(8),
        End("R" * 8 + "U" * 92, "passes_exhausted", tuple(range(100, 92, -1)), "retry", 8, sleeps=DOUBLING),
        keys=[f"k{i:02}" for i in range(100)],
    ),
    Scenario(
        "the deadline comes before a further pass",
        lambda: [Step(ok("A", "B", retries=3), takes_s=2.0)],
        End("RU", "deadline", ("AB",), "retry", 1, retries=3),
        keys="AB",
        options={"timeout_s": 2.0},
    ),
    Scenario(
        "one slow call with retries of its own uses up the whole budget",
        lambda: [ok("C", "ABDZ"), Step(ok("A", "BDZ", "r2", retries=3), takes_s=5.0)],
        End("RURUU", "deadline", ("ABCDZ", "ABDZ"), "retry", 2, sleeps=(0.05,), retries=3),
        options={"timeout_s": 2.0},
    ),
    Scenario(
        "a pause that would cross the deadline is not begun",
        lambda: [Step(ok("A", "B"), takes_s=0.97)],
        End("RU", "deadline", ("AB",), "retry", 1),
        keys="AB",
        options={"timeout_s": 1.0},
    ),
    Scenario(
        "a slow success does not move the deadline",
        lambda: [Step(ok("A", "BC"), takes_s=0.6), Step(ok("B", "C"), takes_s=0.6)],
        End("RRU", "deadline", ("ABC", "BC"), "retry", 2, sleeps=(0.05,)),
        keys="ABC",
        options={"timeout_s": 1.0},
    ),
    Scenario(
        "pauses grow to their cap",
        lambda: [ok("", "A") for _ in range(5)],
        End("U", "passes_exhausted", ("A",) * 5, "retry", 5, sleeps=(0.1, 0.2, 0.3, 0.3)),
        keys="A",
        options={"max_passes": 5, "backoff_base_s": 0.1, "backoff_cap_s": 0.3},
    ),
    # Size.
    Scenario(
        "leftovers made by the answer's size cost neither a pause nor a pass",
        lambda: [big("ABC", "DEFGHIJ"), big("DEF"), big("GHI", "J"), big("J")],
        End("R" * 10, "complete", ("ABCDEFGHIJ", "DEF", "GHIJ", "J"), "accept", 3),
        keys="ABCDEFGHIJ",
        options={"max_passes": 1},
        one_at_a_time=False,
    ),
    Scenario(
        "small leftovers after a large answer are paused for and charged",
        lambda: [big("ABC", "DE"), ok("", "DE"), ok("D", "E"), ok("E")],
        End("R" * 5, "complete", ("ABCDE", "DE", "DE", "E"), "accept", 4, sleeps=(0.05, 0.1)),
        keys="ABCDE",
        options={"max_passes": 3},
    ),
    Scenario(
        "an answer that is large and settles nothing more is charged in the end",
        lambda: [big("AB", "CD"), ok("", "CD"), ok("", "CD")],
        End("RRUU", "passes_exhausted", ("ABCD", "CD", "CD"), "retry", 3, sleeps=(0.05,)),
        keys="ABCD",
        options={"max_passes": 2},
    ),
    # No usable response: nothing is called missing, and what was settled stays.
    Scenario(
        "a refused request in pass 2 keeps pass 1",
        lambda: [ok("CA", "BD"), error("ValidationException", "no", request_id="r2")],
        End(
            "RURUN",
            "request_failed",
            ("ABCDZ", "BD"),
            "hold",
            1,
            sleeps=(0.05,),
            error="ValidationException; request_id=r2",
        ),
    ),
    Scenario(
        "a throttle in pass 2 keeps pass 1",
        lambda: [ok("CA", "BD"), error("ProvisionedThroughputExceededException", request_id="r2", retry_attempts=3)],
        End(
            "RURUN",
            "request_failed",
            ("ABCDZ", "BD"),
            "retry",
            1,
            sleeps=(0.05,),
            error="ProvisionedThroughputExceededException; request_id=r2",
            retries=3,
        ),
    ),
    *(
        Scenario(
            f"a first call that ends with {name}",
            lambda failure=failure: [failure],  # type: ignore[misc]
            End("UU", "request_failed", ("AB",), decision, 0, error=said, retries=retries),
            keys="AB",
        )
        for name, failure, decision, said, retries in [
            ("a throttle", error("ThrottlingException"), "retry", "ThrottlingException; request_id=SYNTHETIC-1", 0),
            (
                "an account's throttle",
                error("RequestLimitExceeded"),
                "retry",
                "RequestLimitExceeded; request_id=SYNTHETIC-1",
                0,
            ),
            (
                "a code under its namespace",
                error("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceeded"),
                "retry",
                "ProvisionedThroughputExceededException; request_id=SYNTHETIC-1",
                0,
            ),
            (
                "a failure inside the service",
                error("InternalServerError", status=500),
                "retry",
                "InternalServerError; request_id=SYNTHETIC-1",
                0,
            ),
            ("a bare 503", error("503", status=503), "retry", "503; request_id=SYNTHETIC-1", 0),
            (
                "a read timeout",
                ReadTimeoutError(endpoint_url="http://scripted.invalid"),
                "retry",
                "ReadTimeoutError; request_id=none",
                None,
            ),
            (
                "a connect timeout",
                ConnectTimeoutError(endpoint_url="http://scripted.invalid"),
                "retry",
                "ConnectTimeoutError; request_id=none",
                None,
            ),
            (
                "a dead endpoint",
                EndpointConnectionError(endpoint_url="http://scripted.invalid"),
                "retry",
                "EndpointConnectionError; request_id=none",
                None,
            ),
            (
                "a closed connection",
                ConnectionClosedError(endpoint_url="http://scripted.invalid"),
                "retry",
                "ConnectionClosedError; request_id=none",
                None,
            ),
            ("a timeout of Python's own", TimeoutError("slow"), "retry", "TimeoutError; request_id=none", None),
            (
                "a missing permission",
                error("AccessDeniedException"),
                "hold",
                "AccessDeniedException; request_id=SYNTHETIC-1",
                0,
            ),
            (
                "a missing table",
                error("ResourceNotFoundException"),
                "hold",
                "ResourceNotFoundException; request_id=SYNTHETIC-1",
                0,
            ),
            (
                "a code nobody documents",
                error("MysteryException", status=400),
                "hold",
                "MysteryException; request_id=SYNTHETIC-1",
                0,
            ),
            (
                "an exception nobody documents",
                ZeroDivisionError("inside the SDK"),
                "hold",
                "ZeroDivisionError; request_id=none",
                None,
            ),
            (
                "leftovers that are a list, over which the SDK stumbles",
                AttributeError("'list' object has no attribute 'items'"),
                "hold",
                "AttributeError; request_id=none",
                None,
            ),
        ]
    ),
    Scenario(
        "credentials that expire once are asked for anew",
        lambda: [error("ExpiredTokenException", request_id="r1"), ok("AB", id="r2")],
        End("RR", "complete", ("AB", "AB"), "accept", 2),
        keys="AB",
    ),
    Scenario(
        "credentials that stay expired stop the read, resumably",
        lambda: [ok("A", "BC"), error("ExpiredToken", request_id="r2"), error("ExpiredToken", request_id="r3")],
        End(
            "RUU",
            "request_failed",
            ("ABC", "BC", "BC"),
            "hold",
            1,
            sleeps=(0.05,),
            error="ExpiredTokenException; request_id=r3",
        ),
        keys="ABC",
    ),
    Scenario(
        "credentials that cannot be had at all",
        lambda: [NoCredentialsError(), NoCredentialsError()],
        End(
            "UU",
            "request_failed",
            ("AB", "AB"),
            "hold",
            0,
            error="NoCredentialsError; request_id=none",
            retries=None,
        ),
        keys="AB",
    ),
    Scenario(
        "a table that is not there when its key is asked for",
        lambda: [Step(error("ResourceNotFoundException", request_id="d1"), "describe_table")],
        End(
            "UU",
            "request_failed",
            (f"describe {TABLE}",),
            "hold",
            0,
            error="ResourceNotFoundException; request_id=d1",
            consumed=0.0,
        ),
        keys="AB",
        key=None,
    ),
    Scenario(
        "a table that may not be described",
        lambda: [Step(error("AccessDeniedException", request_id="d1"), "describe_table")],
        End(
            "UU",
            "request_failed",
            (f"describe {TABLE}",),
            "hold",
            0,
            error="AccessDeniedException; request_id=d1",
            consumed=0.0,
        ),
        keys="AB",
        key=None,
    ),
    Scenario(
        "a description that comes after the deadline",
        lambda: [Step(describe_table_response(TABLE, {"pk": "S"}), takes_s=61.0)],
        End("UU", "deadline", (f"describe {TABLE}",), "retry", 0, consumed=0.0),
        keys="AB",
        key=None,
    ),
    # Capacity is told in three ways, and "not told" is unknown, never 0.
    Scenario(
        "capacity as a list",
        lambda: [capacity([{"TableName": TABLE, "CapacityUnits": 2.5}])],
        End("RRRRN", "complete", ("ABCDZ",), "reject", 1, consumed=2.5),
    ),
    Scenario(
        "capacity as an object",
        lambda: [capacity({"TableName": TABLE, "CapacityUnits": 2.5})],
        End("RRRRN", "complete", ("ABCDZ",), "reject", 1, consumed=2.5),
    ),
    Scenario(
        "capacity of one call only is unknown capacity",
        lambda: [
            but(ok("AB", "CD"), ConsumedCapacity=[{"TableName": TABLE, "CapacityUnits": 1.5}]),
            ok("CD"),
        ],
        End("RRRR", "complete", ("ABCD", "CD"), "accept", 2, sleeps=(0.05,), consumed=None),
        keys="ABCD",
    ),
    Scenario(
        "capacity adds up over the calls",
        lambda: [
            but(ok("AB", "CD"), ConsumedCapacity=[{"TableName": TABLE, "CapacityUnits": 1.0}]),
            but(ok("CD"), ConsumedCapacity=[{"TableName": TABLE, "CapacityUnits": 0.5}]),
        ],
        End("RRRR", "complete", ("ABCD", "CD"), "accept", 2, sleeps=(0.05,), consumed=1.5),
        keys="ABCD",
    ),
    # Duplicates, tables, spellings.
    Scenario(
        "folded duplicates are asked for once and answered at each place",
        lambda: [ok("A", "B"), ok("B")],
        End("RRRR", "complete", ("AB", "B"), "accept", 2, sleeps=(0.05,)),
        keys="ABAB",
        options={"fold_duplicates": True},
    ),
    Scenario(
        "keys of two tables travel together and end apart",
        lambda: [several({"T": "A", "U": "A"}, {"T": "B"}), several({"T": "B"})],
        End("RR|RN", "complete|complete", ("T:AB U:AC", "T:B"), "accept|reject", 2, sleeps=(0.05,)),
        reads=[TableRead("T", ["A", "B"], ("pk",)), TableRead("U", ["A", "C"], ("pk",))],
    ),
    Scenario(
        "one table may be complete while the other is not",
        lambda: [several({"T": "A"}, {"U": "C"}), several({}, {"U": "C"})],
        End("R|U", "complete|passes_exhausted", ("T:A U:C", "U:C"), "accept|retry", 2, sleeps=(0.05,)),
        reads=[TableRead("T", ["A"], ("pk",)), TableRead("U", ["C"], ("pk",))],
        options={"max_passes": 2},
    ),
    Scenario(
        "a failed call leaves both its tables unresolved",
        lambda: [error("InternalServerError", status=500, request_id="r1")],
        End(
            "U|U",
            "request_failed|request_failed",
            ("T:A U:C",),
            "retry|retry",
            0,
            error="InternalServerError; request_id=r1",
        ),
        reads=[TableRead("T", ["A"], ("pk",)), TableRead("U", ["C"], ("pk",))],
    ),
    Scenario(
        "a table given by its ARN may be answered by its name",
        lambda: [ok("AB")],
        End("RRN", "complete", ("ABZ",), "reject", 1),
        reads=[TableRead(f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}", ["A", "B", "Z"], ("pk",))],
    ),
    Scenario(
        "name and ARN of one table are one table",
        lambda: [
            describe_table_response(TABLE, {"pk": "S"}),
            describe_table_response(TABLE, {"pk": "S"}),
            ok("AB"),
        ],
        End(
            "RR|RN",
            "complete|complete",
            (f"describe {TABLE}", f"describe arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}", "ABZ"),
            "accept|reject",
            1,
        ),
        reads=[
            TableRead(TABLE, ["A", "B"]),
            TableRead(f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}", ["B", "Z"]),
        ],
        options={"fold_duplicates": True},
    ),
    Scenario(
        "a hundred and one keys are two calls",
        lambda: [ok([f"k{i:03}" for i in range(100)]), ok(["k100"])],
        End("R" * 101, "complete", (100, 1), "accept", 1),
        keys=[f"k{i:03}" for i in range(101)],
        one_at_a_time=False,
    ),
    # Impossible evidence: raised, with everything settled before.
    *(
        Scenario(
            f"impossible: {name}",
            lambda answer=answer: [ok("C", "ABDZ"), answer],  # type: ignore[misc]
            End("UURUU", "invariant_broken", ("ABCDZ", "ABDZ"), "repair", 1, sleeps=(0.05,), broken=True),
            says=says,
        )
        for name, answer, says in [
            ("no UnprocessedKeys", but(ok("A"), UnprocessedKeys=None), "has no UnprocessedKeys"),
            ("no Responses", but(ok(), Responses=None), "no list for table"),
            ("no list for the table", but(ok(), Responses={}), "no list for table"),
            ("leftovers of a table not asked", but(ok(), UnprocessedKeys={"Other": {"Keys": typed("A")}}), "'Other'"),
            ("leftovers without keys", but(ok(), UnprocessedKeys={TABLE: {}}), "no list of keys"),
            ("leftovers in a list", but(ok(), UnprocessedKeys=typed("A")), "no map of tables"),
            ("a row of a table not asked", but(ok(), Responses={TABLE: [], "Other": [row("A")]}), "'Other'"),
            ("a row nobody asked for", ok("X"), "outside this call"),
            ("a leftover nobody asked for", ok("", "X"), "outside this call"),
            ("more rows than were asked for", ok("ABDZEF"), "outside this call"),
            ("a row settled by an earlier pass", ok("C"), "outside this call"),
            ("a leftover settled by an earlier pass", ok("", "C"), "outside this call"),
            ("the same row twice", ok("AA"), "equal content"),
            (
                "one key with two contents",
                but(ok("A"), Responses={TABLE: [row("A"), {**row("A"), "n": {"N": "11"}}]}),
                "conflicting content",
            ),
            ("a key both returned and left over", ok("A", "A"), "both"),
            ("a leftover named twice", ok("", "AA"), "twice as unprocessed"),
            ("a row without its key", but(ok(), Responses={TABLE: [{"n": {"N": "10"}}]}), "lacks a readable pk"),
            ("a row whose key has another type", but(ok(), Responses={TABLE: [{"pk": {"B": b"A"}}]}), "outside"),
            (
                "a row whose key has two types",
                but(ok(), Responses={TABLE: [{"pk": {"S": "A", "N": "1"}}]}),
                "lacks a readable pk",
            ),
            ("a row that is no row", but(ok(), Responses={TABLE: ["A"]}), "lists of rows"),
        ]
    ),
    Scenario(
        "a known endpoint may leave UnprocessedKeys out",
        lambda: [but(ok("AB"), UnprocessedKeys=None)],
        End("RR", "complete", ("AB",), "accept", 1),
        keys="AB",
        options={"unprocessed_keys_optional": True},
    ),
]

#: Each scenario at both concurrencies; where calls overlap, chance decides who takes which step of a script.
RUNS = [(s, concurrency) for s in SCENARIOS for concurrency in (1, 4) if concurrency == 1 or s.one_at_a_time]
