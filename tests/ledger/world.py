"""One store under a clock that moves only when told, the shortest words for driving it, and laws that always hold."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from itemledger.core.batches import Ask, Batch, BatchState, CallEvidence, Claimed, HistoryEntry, Kind, Move, Recorded
from itemledger.core.outcome import TRANSITIONS, Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.reconcile import Limits
from itemledger.core.rows import NewItem, Operation, Planned, Row, Source
from itemledger.core.write_api import Replay
from itemledger.errors import LedgerError
from itemledger.ledger.store import Store

START = 1_700_000_000.0
ORDERS = "orders"
API, TARGET = "sqs.SendMessageBatch", {"queue_url": "q", "nested": {"fifo": True, "n": [1, None]}}
EVERY_ROW = 1_000_000
POLICY = Policy(lease_s=60.0, call_timeout_s=20.0)
OPEN = (BatchState.CLAIMED, BatchState.DISPATCHED)
EVIDENCE = CallEvidence("request-1", "Slow", "said slowly", 2, "synthetic", "matched", 12.5)

#: Where files of tests that say nothing of disks go: in memory where the system has such a folder.
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

OpenStore: TypeAlias = Callable[[Callable[[], float]], Store]


class FakeWall:
    """The time of day of a machine: stands still until told, and can be set back."""

    def __init__(self, now: float = START) -> None:
        self.time = now

    def __call__(self) -> float:
        return self.time

    def forward(self, seconds: float) -> None:
        self.time += seconds

    def back(self, seconds: float) -> None:
        self.time -= seconds


def item(number: int, **changes: Any) -> NewItem:
    """An item like any other of its number, apart from what is changed."""
    source = Source("orders.jsonl", 100 * number, 100)
    return replace(NewItem(f"item-{number}", f"key-{number}", f"hash-{number}", 100, source), **changes)


def items(count: int) -> list[NewItem]:
    return [item(number) for number in range(1, count + 1)]


def operation(policy: Policy = POLICY, operation_id: str = ORDERS, **changes: Any) -> Operation:
    return replace(Operation(operation_id, API, TARGET, policy), **changes)


def ask(
    most: int | None = 25,
    *,
    read_back: int | None = 100,
    settle_s: float = 5.0,
    request_bytes: int | None = None,
    answer_bytes: int | None = None,
) -> Ask:
    send = None if most is None else Limits(most, request_bytes)
    return Ask("worker-1", send, None if read_back is None else Limits(read_back, answer_bytes), settle_s)


def moves(batch: Batch, event: Event, **changes: Any) -> list[Move]:
    """The same meaning for every row of a batch."""
    return [Move(row, event, **changes) for row in batch.items]


class World:
    """A store with its clock; every claim goes through here, so that the laws can be held to all of them."""

    def __init__(self, open_store: OpenStore, wall: FakeWall | None = None) -> None:
        self.wall = wall or FakeWall()
        self.open_store = open_store
        self.store = open_store(self.wall)
        self.epochs: list[int] = []
        self.closed = False

    def begin(self, *new: NewItem, policy: Policy = POLICY, count: int = 1, operation_id: str = ORDERS) -> list[Row]:
        """An operation with these items (else with so many), planned to the end."""
        self.store.open_operation(operation(policy, operation_id))
        self.plan(*(new or items(count)), operation_id=operation_id)
        self.store.planning_ended(operation_id)
        return self.store.rows(operation_id, limit=EVERY_ROW)

    def plan(self, *new: NewItem, operation_id: str = ORDERS) -> Planned:
        return self.store.plan(operation_id, list(new))

    def claim(self, most: int | None = 25, *, operation_id: str = ORDERS, **changes: Any) -> Claimed:
        claimed = self.store.claim(operation_id, ask(most, **changes))
        if claimed.batch is not None:
            self.epochs.append(claimed.batch.epoch)
        return claimed

    def take(self, most: int = 25, **changes: Any) -> Batch:
        """A claim that must bring a batch."""
        batch = self.claim(most, **changes).batch
        assert batch is not None, "the claim brought nothing"
        return batch

    def send(self, most: int = 25, *, replay: Replay | None = None, **changes: Any) -> Batch:
        """A send up to the moment of its call."""
        batch = self.take(most, **changes)
        assert Kind.SEND is batch.kind
        self.store.dispatch(batch.epoch, replay)
        return self.store.batch(batch.epoch)

    def look_up(self, **changes: Any) -> Batch:
        """A read-back up to the moment of its call."""
        batch = self.take(**changes)
        assert Kind.READ_BACK is batch.kind
        self.store.dispatch(batch.epoch)
        return self.store.batch(batch.epoch)

    def record(self, batch: Batch, event: Event, *, evidence: CallEvidence = EVIDENCE, **changes: Any) -> Recorded:
        return self.store.record(batch.epoch, evidence, moves(batch, event, **changes))

    def end(self, event: Event, *, replay: Replay | None = None, most: int = 25, **changes: Any) -> Batch:
        """One send from claim to record, all its rows with the same end."""
        batch = self.send(most, replay=replay)
        self.record(batch, event, **changes)
        return batch

    def settle(self, event: Event, **changes: Any) -> Batch:
        """One read-back from claim to record."""
        batch = self.look_up()
        self.record(batch, event, **changes)
        return batch

    def outlive(self, batch: Batch) -> None:
        """The clock goes on to just after the claim's lease."""
        self.wall.time = self.store.batch(batch.epoch).lease_until + 0.5

    def row(self, number: int = 1) -> Row:
        """The row of ``item(number)``; numbers of rows are the store's own."""
        found = self.store.find(ORDERS, f"item-{number}")
        assert found is not None
        return found

    def events(self, number: int = 1) -> list[str]:
        return [entry.event for entry in self.store.history(self.row(number).number)]

    def reopen(self) -> None:
        """Another store of the same kind, empty."""
        self.store.close()
        self.store, self.epochs = self.open_store(self.wall), []

    def everything(self) -> tuple[object, ...]:
        """All that can be seen of the store, to show that a refused verb changed nothing."""
        rows = self.store.rows(limit=EVERY_ROW)
        history = [self.store.history(row.number) for row in rows]
        return (
            self.store.operations(),
            rows,
            history,
            [self.store.batch(epoch) for epoch in there(self.store, self.epochs)],
        )


def check_laws(store: Store, epochs: Iterable[int]) -> None:
    """What holds between any two verbs of any store."""
    for each in store.operations():
        rows = store.rows(each.operation_id, limit=EVERY_ROW)
        counts = store.counts(each.operation_id)
        assert set(Outcome) == set(counts)
        assert Counter(row.outcome for row in rows) == Counter(dict(counts)), "the counts are not those of the rows"
        assert sum(row.review is not None for row in rows) == store.reviews(each.operation_id)
    every = {row.number: row for row in store.rows(limit=EVERY_ROW)}
    for row in every.values():
        check_row(row)
        assert row.outcome is fold(store.history(row.number)), f"the history of row {row.number} ends elsewhere"
    check_claims(every, [store.batch(epoch) for epoch in there(store, epochs)])


def check_row(row: Row) -> None:
    """What one row can never be."""
    assert min(row.attempts, row.claims, row.look_ups, row.lost_attempts, row.possible_duplicates) >= 0
    if row.outcome is Outcome.IN_FLIGHT:
        assert row.epoch is not None, f"row {row.number} is in flight and nobody's"
    if row.outcome in (Outcome.SUCCEEDED, Outcome.TERMINAL):
        assert row.epoch is None, f"row {row.number} is final and held"
        assert row.due_at is None, f"row {row.number} is final and due"


def check_claims(rows: Mapping[int, Row], batches: Sequence[Batch]) -> None:
    """No two claims hold a row, and each open one holds exactly its rows."""
    assert sorted({batch.epoch for batch in batches}) == [batch.epoch for batch in batches], "epochs must increase"
    held = {number: batch.epoch for batch in batches if batch.state in OPEN for number in batch.items}
    assert len(held) == sum(len(batch.items) for batch in batches if batch.state in OPEN), "a row is held twice"
    assert held == {row.number: row.epoch for row in rows.values() if row.epoch is not None}


def fold(history: Sequence[HistoryEntry]) -> Outcome:
    """Where a row's history leads by the law; fails at the first entry that the law does not know."""
    assert history, "a row without history"
    first, *rest = history
    assert first.event in ("planned", "restored")
    assert first.before is None
    outcome = first.after
    number = first.number
    for entry in rest:
        assert outcome is entry.before, f"{entry.event} starts from {entry.before}, the row was {outcome}"
        assert number < entry.number, "history is out of order"
        if entry.event in ("late", "reviewed", "set_aside", "planned_again"):
            assert outcome is entry.after
        else:
            assert entry.after in TRANSITIONS[outcome].get(Event(entry.event), ()), f"{outcome} {entry.event}"
        outcome, number = entry.after, entry.number
    return outcome


def there(store: Store, epochs: Iterable[int]) -> list[int]:
    """The claims that no retention took away."""

    def known(epoch: int) -> bool:
        try:
            store.batch(epoch)
        except LedgerError:
            return False
        return True

    return [epoch for epoch in epochs if known(epoch)]


def absent(store: Store, number: int) -> bool:
    """Whether the store knows no row of this number."""
    try:
        store.row(number)
    except LedgerError:
        return True
    return False
