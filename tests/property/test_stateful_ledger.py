"""The SQLite store beside the memory store: the same verbs under the same clock, and after each the same ledger.

Chance plays careless workers, people and clocks: stale epochs, late and damaged answers, leases that run out, a clock
that is set back. The SQLite store runs on two connections in turn, so that nothing may live in one of them alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from itemledger.core.batches import Ask, Batch, CallEvidence, Claimed, HistoryEntry, Kind, Recorded
from itemledger.core.outcome import FINAL, Event
from itemledger.core.policy import Policy
from itemledger.core.rows import Conflict, Decided, NewItem, Planned, Row
from itemledger.core.write_api import Replay
from itemledger.errors import ItemLedgerError
from itemledger.ledger.memory import MemoryStore
from itemledger.ledger.sqlite import SqliteStore
from itemledger.ledger.store import Store
from tests.ledger.world import EVERY_ROW, SCRATCH, FakeWall, check_laws, item, operation, there
from tests.property.ledger_strategies import (
    ALL_WORK,
    NAMES,
    SECONDS,
    UNTIL,
    asks,
    evidences,
    items,
    moves_of,
    names,
    policies,
    replays,
)

DONE = (Event.CONFIRMED, Event.FOUND)


class SideBySide(RuleBasedStateMachine):
    """``model`` is the memory store; ``real`` has the connections of the store that must not differ from it."""

    @initialize(policy=policies)
    def begin(self, policy: Policy) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=SCRATCH)
        self.wall = FakeWall()
        self.model: Store = MemoryStore(clock=self.wall)
        self.real = [self.connect(), self.connect()]
        self.turn = 0
        self.pairs: dict[int, int] = {}
        self.last = (0, 0)
        self.epochs: list[int] = []
        self.touched: set[int] = set()
        self.seen: dict[int, Row] = {}
        self.planned = 0
        self.caps = policy
        self.known_done: set[int] = set()
        self.out_of_turn: set[tuple[str, str | None]] = set()
        for name in NAMES:
            self.another_policy(name, policy)
        self.plan(NAMES[0], [item(1), item(2), item(3, group_id="g")])
        self.both(lambda store: store.planning_ended(NAMES[0]))

    def connect(self) -> Store:
        return SqliteStore(Path(self.folder.name) / "ledger.db", clock=self.wall)

    def both(self, verb: Callable[[Store], Any], *, new_rows: bool = False) -> Any:
        """What the verb gives, or the class of its refusal, from the model; the other store must give the same."""
        self.turn += 1
        expected = tried(self.model, verb)
        given = tried(self.real[self.turn % len(self.real)], verb)
        if new_rows:
            self.pair_numbers()
        assert plain(expected, {}) == plain(given, self.pairs)
        return expected

    def pair_numbers(self) -> None:
        """A store numbers its rows as it likes, in the order of planning."""
        ours, theirs = (
            store.rows(after=last, limit=EVERY_ROW) for store, last in zip(self.stores(), self.last, strict=True)
        )
        assert len(ours) == len(theirs)
        self.pairs.update({their.number: our.number for our, their in zip(ours, theirs, strict=True)})
        if ours:
            self.last = (ours[-1].number, theirs[-1].number)

    def stores(self) -> tuple[Store, Store]:
        return self.model, self.real[self.turn % len(self.real)]

    def number(self, store: Store, number: int) -> int:
        """What the store calls the model's row."""
        return number if store is self.model else next(k for k, v in self.pairs.items() if v == number)

    # ------------------------------------------------------------------------------------------------ the verbs

    @rule(name=st.sampled_from(NAMES), new=st.lists(items, max_size=4))
    def plan(self, name: str, new: list[NewItem]) -> None:
        planned = self.both(lambda store: store.plan(name, new), new_rows=True)
        self.planned += planned.new

    @rule(name=st.sampled_from(NAMES))
    def planning_ended(self, name: str) -> None:
        self.both(lambda store: store.planning_ended(name))

    @rule(name=st.sampled_from(NAMES), endpoint=st.sampled_from(["here", "there"]), moved=st.booleans())
    def the_endpoint_is_known(self, name: str, endpoint: str, moved: bool) -> None:
        self.both(lambda store: store.set_endpoint(name, endpoint, moved=moved))

    @rule(name=st.sampled_from(NAMES), policy=policies, keep=st.booleans())
    def another_policy(self, name: str, policy: Policy, keep: bool = False) -> None:
        """The caps are those of the policies that there were, or may have been."""
        self.both(lambda store: store.open_operation(operation(policy, name), keep_policy=keep))
        self.caps = replace(
            self.caps,
            max_attempts=max(self.caps.max_attempts, policy.max_attempts),
            max_lapses=max(self.caps.max_lapses, policy.max_lapses),
            max_look_ups=max(self.caps.max_look_ups, policy.max_look_ups),
        )

    @rule(name=names, ask=asks, replay=replays, evidence=evidences, data=st.data(), until=st.sampled_from(UNTIL))
    def work(
        self, name: str, ask: Ask, replay: Replay | None, evidence: CallEvidence, data: st.DataObject, until: str
    ) -> None:
        """A worker takes what is due and goes on, if it is not stopped before."""
        claimed: Claimed = self.both(lambda store: store.claim(name, ask))
        if (batch := claimed.batch) is None:
            return
        assert not self.epochs or self.epochs[-1] < batch.epoch, "epochs must increase"
        assert batch.kind is Kind.READ_BACK or not self.known_done & set(batch.items), "sent though known to be done"
        self.epochs.append(batch.epoch)
        if until == "claim":
            self.touched.add(batch.epoch)
            return
        self.dispatch(0, replay)
        if until == "record":
            self.record(0, evidence, data)

    @precondition(lambda self: self.epochs)
    @rule(back=st.integers(0, 5), replay=replays)
    def dispatch(self, back: int, replay: Replay | None) -> None:
        epoch = self.epoch(back)
        window = replay if self.model.batch(epoch).kind is Kind.SEND else None
        self.both(lambda store: store.dispatch(epoch, window))

    @precondition(lambda self: self.epochs)
    @rule(back=st.integers(0, 5), evidence=evidences, data=st.data())
    def record(self, back: int, evidence: CallEvidence, data: st.DataObject) -> None:
        """Mostly what a worker would say of its call; sometimes anything, sometimes not of the right rows."""
        epoch = self.epoch(back)
        batch = self.model.batch(epoch)
        moves = [data.draw(moves_of(batch, row)) for row in batch.items]
        if data.draw(st.integers(0, 15)) == 15:
            moves = data.draw(st.lists(st.sampled_from(moves), max_size=3))
        recorded = self.both(
            lambda store: store.record(
                epoch, evidence, [replace(move, row=self.number(store, move.row)) for move in moves]
            )
        )
        if not isinstance(recorded, type) and recorded.late and batch.dispatched_at is not None:
            self.known_done |= {move.row for move in moves if move.event in DONE}

    @rule(data=st.data(), evidence=evidences, replay=replays)
    def a_worker_is_late(self, evidence: CallEvidence, replay: Replay | None, data: st.DataObject) -> None:
        """Its lease runs out during the call, others go on, and then it tells of its call after all."""
        self.work(NAMES[0], ALL_WORK, replay, evidence, data, "dispatch")
        self.time_goes_on(61.0)
        for _ in range(data.draw(st.integers(1, 3))):
            self.work(NAMES[0], ALL_WORK, replay, evidence, data, data.draw(st.sampled_from(UNTIL)))
            self.time_goes_on(data.draw(st.sampled_from([0.0, 5.0])))
        if self.epochs:
            self.record(data.draw(st.integers(1, 3)), evidence, data)

    @precondition(lambda self: self.epochs)
    @rule(back=st.integers(0, 5))
    def hold(self, back: int) -> None:
        epoch = self.epoch(back)
        self.both(lambda store: store.heartbeat(epoch))

    @precondition(lambda self: self.epochs)
    @rule(back=st.integers(0, 5), changed=st.sampled_from([0, 0, 1, 2]))
    def let_go(self, back: int, changed: int) -> None:
        """Sometimes because the payload of some rows is another now."""
        epoch = self.epoch(back)
        aside = self.model.batch(epoch).items[:changed]
        self.both(lambda store: store.release(epoch, set_aside=[self.number(store, number) for number in aside]))

    @precondition(lambda self: self.seen)
    @rule(pick=st.integers(0, 9), decided=st.sampled_from(Decided))
    def decide(self, pick: int, decided: Decided) -> None:
        row = [*self.seen.values()][pick % len(self.seen)]
        after = self.both(lambda store: store.decide(self.number(store, row.number), decided, who="ann", why="looked"))
        if not isinstance(after, type) and decided is Decided.RETRY:
            self.known_done.discard(row.number)
            self.out_of_turn.add((row.operation_id, row.group_id))

    @rule(name=st.sampled_from(NAMES), older_than_s=st.sampled_from([0.0, 30.0]))
    def prune(self, name: str, older_than_s: float) -> None:
        self.planned -= self.both(lambda store: store.prune(name, older_than_s=older_than_s)).deleted
        kept = self.both(lambda store: there(store, self.epochs))
        self.epochs, self.touched = list(kept), self.touched & set(kept)

    @rule(seconds=SECONDS)
    def time_goes_on(self, seconds: float) -> None:
        self.wall.forward(seconds)

    @rule(seconds=SECONDS)
    def the_clock_is_set_back(self, seconds: float) -> None:
        self.wall.back(seconds)

    @rule(which=st.integers(0, 1))
    def one_process_starts_again(self, which: int) -> None:
        self.real[which].close()
        self.real[which] = self.connect()

    def epoch(self, back: int) -> int:
        """One of the last claims, to be spoken for by a worker that may have lost it."""
        epoch = self.epochs[-1 - back % len(self.epochs)]
        self.touched.add(epoch)
        return epoch

    # ------------------------------------------------------------------------------------------------ what holds

    @invariant()
    def both_hold_the_same_ledger(self) -> None:
        if not hasattr(self, "model"):
            return
        rows = self.both(lambda store: store.rows(limit=EVERY_ROW))
        now = {row.number: row for row in rows}
        for number in now:
            if now[number] != self.seen.get(number):
                self.same_history(number)
        for epoch in self.touched:
            self.same_batch(epoch)
        self.seen, self.touched = now, set()
        self.known_done &= set(now)

    def same_history(self, number: int) -> None:
        self.both(lambda store: store.history(self.number(store, number)))

    def same_batch(self, epoch: int) -> None:
        self.both(lambda store: store.batch(epoch))

    def same_counts(self, name: str) -> None:
        self.both(lambda store: (store.counts(name), store.reviews(name)))

    @invariant()
    def every_law_holds(self) -> None:
        if not hasattr(self, "model"):
            return
        check_laws(self.model, self.epochs)
        assert self.planned == len(self.seen)
        for row in self.seen.values():
            assert row.attempts <= self.caps.max_attempts
            assert row.lapses <= self.caps.max_lapses
            assert row.look_ups <= self.caps.max_look_ups
            group = (row.operation_id, row.group_id)
            if row.group_id is not None and row.epoch is not None and group not in self.out_of_turn:
                earlier = [each for each in self.seen.values() if each.number < row.number]
                ahead = [each for each in earlier if (each.operation_id, each.group_id) == group]
                assert all(each.outcome in FINAL for each in ahead), "sent ahead of an earlier one of its group"

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        try:
            for number in self.seen:
                self.same_history(number)
            for epoch in self.epochs:
                self.same_batch(epoch)
            for name in NAMES:
                self.same_counts(name)
        finally:
            for store in self.real:
                store.close()
            self.folder.cleanup()


def tried(store: Store, verb: Callable[[Store], Any]) -> Any:
    """What the verb gives, or the class of its refusal: the wording is the store's."""
    try:
        return verb(store)
    except ItemLedgerError as error:
        return type(error)


def plain(result: Any, pairs: Mapping[int, int]) -> Any:
    """Without what two ledgers need not share: row numbers, which are paired, and tokens."""
    match result:
        case Row():
            return replace(result, number=pairs.get(result.number, result.number))
        case Batch():
            items = tuple(pairs.get(number, number) for number in result.items)
            return replace(result, items=items, token="")
        case HistoryEntry():
            return replace(result, number=0, row=pairs.get(result.row, result.row))
        case Conflict():
            return replace(result, row=pairs.get(result.row, result.row))
        case Claimed():
            parts = (plain(part, pairs) for part in (result.batch, result.rows, result.exhausted))
            batch, rows, exhausted = parts
            return replace(result, batch=batch, rows=rows, exhausted=exhausted)
        case Planned():
            return replace(result, refused=plain(result.refused, pairs))
        case Recorded():
            return replace(result, moved=tuple(pairs.get(number, number) for number in result.moved))
        case list() | tuple():
            return tuple(plain(each, pairs) for each in result)
    return result


TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = settings(
    max_examples=200,
    stateful_step_count=30,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # shrinking a difference takes minutes: the soak does it
)


class LongSideBySide(SideBySide):
    pass


TestLongSideBySide = pytest.mark.soak(LongSideBySide.TestCase)
TestLongSideBySide.settings = settings(max_examples=5_000, stateful_step_count=100, deadline=None, database=None)
