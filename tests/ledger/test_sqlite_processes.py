"""Several processes at work on one SQLite ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from itemledger.core.outcome import Outcome
from itemledger.ledger.sqlite import SqliteStore
from tests.ledger.world import ORDERS, item, operation

PROCESSES, ROWS = 8, 20_000

WORKER = """
import json, sys
from itemledger.core.outcome import Event
from itemledger.core.reconcile import Limits
from itemledger.core.batches import Ask, CallEvidence, Move
from itemledger.ledger.sqlite import SqliteStore

taken = []
with SqliteStore(sys.argv[1], synchronous="NORMAL") as store:
    while (batch := store.claim("orders", Ask("w", Limits(100))).batch) is not None:
        store.dispatch(batch.epoch)
        store.record(batch.epoch, CallEvidence(), [Move(row, Event.CONFIRMED) for row in batch.items])
        taken.append([batch.epoch, batch.items])
print(json.dumps(taken))
"""


def test_eight_processes_claim_twenty_thousand_rows_and_none_twice(tmp_path: Path) -> None:
    path = tmp_path / "orders.db"
    with SqliteStore(path, synchronous="NORMAL") as store:
        store.open_operation(operation())
        for start in range(0, ROWS, 1000):
            store.plan(ORDERS, [item(number) for number in range(start, start + 1000)])
        store.planning_ended(ORDERS)
        root = Path(__file__).parents[2]
        command = [sys.executable, "-c", WORKER, str(path)]
        workers = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
        said = [worker.communicate(timeout=100)[0] for worker in workers]

        assert [0] * PROCESSES == [worker.returncode for worker in workers]
        batches = [batch for each in said for batch in json.loads(each)]
        assert ROWS == store.counts(ORDERS)[Outcome.SUCCEEDED]
    epochs = Counter(epoch for epoch, _ in batches)
    rows = Counter(row for _, numbers in batches for row in numbers)
    assert (ROWS, {1}) == (len(rows), set(rows.values()))
    assert {1} == set(epochs.values())
