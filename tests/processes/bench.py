"""One operation under test: its items, its ledger, the wire to the engine, and what must be true when all is done."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemledger.apis.attribute_values import item_from_native
from itemledger.core.batches import HistoryEntry
from itemledger.core.outcome import Event, Outcome
from itemledger.core.report_check import verify_report
from itemledger.core.rows import Row
from itemledger.ledger import Ledger, open_ledger
from tests.ledger.world import fold
from tests.processes.lives import Life, Nursery
from tests.processes.wire import Wire

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Json = dict[str, Any]
OPERATION = "orders"
#: Short enough that a test need not wait long for what a killed worker held; caps that kills alone do not reach.
POLICY: Json = {
    "lease_s": 1.0,
    "call_timeout_s": 0.6,
    "settle_s": 0.1,
    "backoff_base_s": 0.01,
    "backoff_cap_s": 0.1,
    "throttle_base_s": 0.01,
    "max_attempts": 10_000,
    "max_lapses": 10_000,
    "max_look_ups": 10_000,
}


@dataclass(slots=True)
class Bench:
    """``items`` as they are planned, by name; a DynamoDB item's name is its key, a message's its body."""

    nursery: Nursery
    wire: Wire
    directory: Path
    api: str
    target: Json
    items: dict[str, Json]
    policy: Json = field(default_factory=lambda: dict(POLICY))
    lives: list[Life] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.directory.mkdir()
        (self.directory / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in self.items.values()))

    @property
    def url(self) -> str:
        return f"sqlite:///{self.directory}/ledger.db"

    def start(self, **job: Any) -> Life:
        """A worker that plans the items, if it is the first, and works on them to the end."""
        life = self.nursery.start(
            {
                "ledger": self.url,
                "operation": OPERATION,
                "api": self.api,
                "target": self.target,
                "items": str(self.directory / "items.jsonl"),
                "policy": self.policy,
                "endpoint": self.wire.endpoint_url,
                **job,
            }
        )
        self.lives.append(life)
        return life

    def command_line(self) -> list[str]:
        """What a person types to have the same done by the command."""
        items, table = str(self.directory / "items.jsonl"), self.target["table_name"]
        return [
            "write", table, "--key", "pk:S", "--items", items, "--ledger", self.url, "--operation", OPERATION,
            "--lease", "1", "--call-timeout", "0.8", "--settle", "0.1",
        ]  # fmt: skip

    def ledger(self) -> Ledger:
        return open_ledger(self.url, create=False)

    def rows(self) -> list[Row]:
        with self.ledger() as ledger:
            return list(ledger.rows(OPERATION))

    def row(self, name: str) -> Row:
        """The row of the item of this name, whatever its id."""
        return self.rows()[list(self.items).index(name)]

    def history(self, row: Row) -> list[HistoryEntry]:
        with self.ledger() as ledger:
            return ledger.history(row.number)

    def events(self, name: str) -> list[str]:
        return [entry.event for entry in self.history(self.row(name))]

    def each(self, times: int) -> dict[str, int]:
        """Every item so many times."""
        return dict.fromkeys(self.items, times)

    def close(self) -> None:
        for life in self.lives:
            life.close()
        for path in self.nursery.directory.glob("steps-*"):
            path.unlink()

    # --------------------------------------------------------------------------------------- what must be true

    def check_all_written(self, engine: DynamoDBClient) -> None:
        """The engine has every item as it was planned, and no other; the ledger says so, and every step can be told."""
        self.wire.wait_until_idle()
        stored = {item["pk"]["S"]: item for item in _scan(engine, self.target["table_name"])}
        assert {name: item_from_native(item) for name, item in self.items.items()} == stored
        rows = self.rows()
        assert {Outcome.SUCCEEDED: len(self.items)} == Counter(row.outcome for row in rows)
        self.check_books()

    def check_books(self) -> None:
        """Whatever the outcomes: the report adds up, every row's history is lawful, nothing went out that was not
        written down before, and nothing went out again on a guess."""
        with self.ledger() as ledger:
            report = verify_report(ledger.export(OPERATION))
            rows = list(ledger.rows(OPERATION))
            told = {row.number: ledger.history(row.number) for row in rows}
        assert len(self.items) == report.planned == sum(report.outcomes.values()) == len(rows)
        sends = self.wire.sends()
        for name, row in zip(self.items, rows, strict=True):
            history = told[row.number]
            assert row.outcome is fold(history)
            dispatched = sum(entry.event == Event.DISPATCHED for entry in history)
            assert sends[name] <= dispatched, f"row {row.number} went out more often than was written down"
            assert [] == blind(history), f"row {row.number}"


def blind(history: Sequence[HistoryEntry]) -> list[int]:
    """Dispatches in a row's history that follow an unknown end without a proof or a permission in between."""
    unknown, found = False, []
    for entry in history:
        match entry.event:
            case Event.LOST | Event.LEASE_EXPIRED:
                unknown = True
            case Event.PROVEN_ABSENT | Event.REPLAY_ALLOWED | Event.SETTLED:
                unknown = False
            case Event.DISPATCHED if unknown:
                found.append(entry.number)
    return found


def orders(count: int) -> dict[str, Json]:
    return {
        f"order-{n:04}": {"pk": f"order-{n:04}", "total": n * 7, "lines": [{"sku": f"s{n % 13}", "n": n % 5}]}
        for n in range(count)
    }


def messages(count: int) -> dict[str, Json]:
    return {f"message {n:04}": {"Id": f"m{n:04}", "MessageBody": f"message {n:04}"} for n in range(count)}


def _scan(client: DynamoDBClient, table: str) -> list[Json]:
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [dict(item) for page in pages for item in page["Items"]]
