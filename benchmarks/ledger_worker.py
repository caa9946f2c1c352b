"""What the workers do that measure the ledger's store; only they load the store and its peers."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from benchmarks.ledger_store import BATCH, CONTENDERS, Synchronous, Waiting
from benchmarks.processes import PROJECT, environment
from itemledger.core.batches import Ask, CallEvidence, Move
from itemledger.core.outcome import Event
from itemledger.core.payload_hash import derived_key
from itemledger.core.policy import Policy
from itemledger.core.reconcile import Limits
from itemledger.core.rows import NewItem, Operation, Source
from itemledger.ledger import planning, sqlite_file
from itemledger.ledger.sqlite import SqliteStore

OPERATION = "orders"
ASK = Ask("benchmark", Limits(BATCH), Limits(100))
EVIDENCE = CallEvidence("a-request-id", sdk_retry_attempts=0, label="synthetic", duration_ms=3.0)

Statement = tuple[bool, str, Any]  # of many parameters, text, parameters


def store(contender: str, synchronous: str, planned: str, worked_off: str) -> dict[str, float]:
    """Wall time of working off so many items, or nothing where a peer is not installed."""
    assert contender in CONTENDERS
    count = int(worked_off)
    with tempfile.TemporaryDirectory(prefix="itemledger-benchmark-") as folder:
        place = Path(folder)
        match contender:
            case "huey" | "persist-queue":
                name = contender.replace("persist-queue", "persistqueue")
                if importlib.util.find_spec(name) is None:
                    return {}
                seconds = PEERS[contender](place, int(planned), count)
            case _:
                ledger = place / "ledger.db"
                _plan(ledger, int(planned))
                level = cast(Synchronous, synchronous)
                seconds = (_worked_off if contender == "SqliteStore" else _replayed)(ledger, level, count)
    return {"items": count, "wall_s": seconds}


def _plan(ledger: Path, count: int) -> None:
    with SqliteStore(ledger, synchronous="NORMAL") as opened:
        opened.open_operation(Operation(OPERATION, "sqs.SendMessageBatch", {"queue_url": "q"}, Policy()))
        for start in range(0, count, planning.CHUNK):
            opened.plan(OPERATION, [_item(number) for number in range(start, min(count, start + planning.CHUNK))])
        opened.planning_ended(OPERATION)


def _item(number: int) -> NewItem:
    name, payload = f"item-{number:08d}", f"1:{number:064x}"
    return NewItem(name, derived_key(OPERATION, name, payload), payload, 300, Source("/data/o.jsonl", 0, 300))


def _worked_off(ledger: Path, synchronous: Synchronous, count: int) -> float:
    with SqliteStore(ledger, synchronous=synchronous) as opened:
        begun = time.perf_counter()
        for _ in range(count // BATCH):
            _one_batch(opened)
        return time.perf_counter() - begun


def _one_batch(opened: SqliteStore) -> int:
    batch = opened.claim(OPERATION, ASK).batch
    if batch is None:
        raise SystemExit("the ledger ran dry: no measurement")
    opened.dispatch(batch.epoch)
    moves = [Move(row, Event.CONFIRMED, request_id="a-request-id", object_ref=f"message-{row}") for row in batch.items]
    return len(opened.record(batch.epoch, EVIDENCE, moves).moved)


# --------------------------------------------------------------------------------------------- the same, without store


def _replayed(ledger: Path, synchronous: Synchronous, count: int) -> float:
    """The statements of a run of the store on a copy, told again to SQLite by a loop that does nothing else."""
    copy = ledger.with_suffix(".copy")
    shutil.copyfile(ledger, copy)
    told = _statements_of_a_run(copy, count)
    connection = sqlite3.connect(ledger, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute(f"PRAGMA cache_size = {sqlite_file.CACHE_KB}")
    begun = time.perf_counter()
    for many, statement, parameters in told:
        if many:
            connection.executemany(statement, parameters)
        else:
            connection.execute(statement, parameters).fetchall()
    seconds = time.perf_counter() - begun
    [(done,)] = connection.execute("SELECT count(*) FROM itemledger_item WHERE outcome = 'succeeded'")
    connection.close()
    if done != count:
        raise SystemExit(f"{count} items were to be worked off and {done} were: no measurement")
    return seconds


def _statements_of_a_run(ledger: Path, count: int) -> list[Statement]:
    told: list[Statement] = []

    class Cursor(sqlite3.Cursor):
        def execute(self, statement: str, parameters: Any = (), /) -> Any:
            told.append((False, statement, parameters))
            return super().execute(statement, parameters)

        def executemany(self, statement: str, parameters: Any, /) -> Any:
            told.append((True, statement, parameters))
            return super().executemany(statement, parameters)

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, parameters: Any = (), /) -> Any:
            told.append((False, statement, parameters))
            return super().execute(statement, parameters)

        def cursor(self, factory: Any = None, /) -> Any:
            return super().cursor(Cursor)

    connect = sqlite3.connect
    sqlite3.connect = cast(Any, lambda path, **given: connect(path, factory=Connection, **given))
    try:
        with SqliteStore(ledger, synchronous="NORMAL") as opened:
            told.clear()
            for _ in range(count // BATCH):
                _one_batch(opened)
            return list(told)
    finally:
        sqlite3.connect = connect


# ------------------------------------------------------------------------------------------------------------- waiting


def waiting(workers: str, synchronous: str, how: str, seconds: str) -> dict[str, float]:
    """Several processes without pause on one ledger; the longest wait of any of them."""
    with tempfile.TemporaryDirectory(prefix="itemledger-benchmark-") as folder:
        ledger = Path(folder) / "ledger.db"
        _plan(ledger, int(min(100_000, max(2_000, float(seconds) * 20_000))))
        command = [sys.executable, "-m", "benchmarks.worker", "ledger_busy", str(ledger), synchronous, how, seconds]
        busy = [
            subprocess.Popen(command, cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, text=True)
            for _ in range(int(workers))
        ]
        said = [json.loads(each.communicate()[0]) for each in busy]
    return {"items": sum(each["items"] for each in said), "longest_s": max(each["longest_s"] for each in said)}


def busy(ledger: str, synchronous: str, how: str, seconds: str) -> dict[str, float]:
    """One of them. With SQLite's own waiting its busy handler waits inside the statement."""
    timeout_s = 60.0
    opened = SqliteStore(ledger, synchronous=cast(Synchronous, synchronous), busy_timeout_s=timeout_s)
    file: Any = opened._file
    if cast(Waiting, how) == "SQLite's":
        file._connection.execute(f"PRAGMA busy_timeout = {timeout_s * 1000:.0f}")
        file._leave_a_gap = lambda: None
    patiently, longest_s, items = file._patiently, 0.0, 0

    def timed(act: Callable[[], Any]) -> Any:
        nonlocal longest_s
        begun = time.perf_counter()
        try:
            return patiently(act)
        finally:
            longest_s = max(longest_s, time.perf_counter() - begun)

    file._patiently = timed
    until = time.perf_counter() + float(seconds)
    while time.perf_counter() < until:
        batch = opened.claim(OPERATION, ASK).batch
        if batch is None:
            break  # all are taken: what is measured until here counts
        opened.dispatch(batch.epoch)
        items += len(opened.record(batch.epoch, EVIDENCE, [Move(row, Event.CONFIRMED) for row in batch.items]).moved)
    opened.close()
    return {"items": items, "longest_s": longest_s}


# --------------------------------------------------------------------------------------------------------------- peers


def _huey(place: Path, planned: int, count: int) -> float:
    from huey.storage import SqliteStorage  # type: ignore[import-not-found]

    queue = SqliteStorage("orders", filename=str(place / "huey.db"))
    for number in range(planned):
        queue.enqueue(b"item-%08d" % number)
    begun = time.perf_counter()
    for _ in range(count):
        item = queue.dequeue()
        queue.put_data(item, b"done")
    return time.perf_counter() - begun


def _persist_queue(place: Path, planned: int, count: int) -> float:
    from persistqueue import SQLiteAckQueue  # type: ignore[import-not-found]

    queue = SQLiteAckQueue(str(place / "persistqueue"), auto_commit=True)
    for number in range(planned):
        queue.put(f"item-{number:08d}")
    begun = time.perf_counter()
    for _ in range(count):
        queue.ack(queue.get())
    return time.perf_counter() - begun


PEERS: dict[str, Callable[[Path, int, int], float]] = {"huey": _huey, "persist-queue": _persist_queue}
