"""A read as the requirements describe it, as plainly as can be: sets and counters that judge the real one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from itemledger.core.answer import FailureCause
from itemledger.core.passes import PassEvidence
from itemledger.core.read import Read
from itemledger.core.result import Disposition, ReadResult, StopReason
from itemledger.core.steps import Call, SentKey
from itemledger.core.terms import Bounds
from tests.property.strategies import Said, Table, expected_item

RETURNED, ABSENT = Disposition.RETURNED, Disposition.PROCESSED_NOT_RETURNED


@dataclass
class Model:
    """What is known of every key; nothing here is computed by the code under test."""

    world: list[Table]
    bounds: Bounds
    call_items: int
    settled: dict[SentKey, Disposition] = field(default_factory=dict)
    asked: Counter[SentKey] = field(default_factory=Counter)
    charged: Counter[SentKey] = field(default_factory=Counter)
    flying: dict[int, frozenset[SentKey]] = field(default_factory=dict)
    calls: int = 0
    first_refusal: int | None = None
    stopped: StopReason | None = None
    cause: FailureCause | None = None
    abandoned: int = 0

    @property
    def keys(self) -> list[SentKey]:
        return [(i, key) for i, table in enumerate(self.world) for key in table.keys]

    @property
    def waiting(self) -> set[SentKey]:
        """Keys that must still be asked, now or later."""
        flying = {key for keys in self.flying.values() for key in keys}
        gone = {key for key, times in self.charged.items() if times >= self.bounds.max_passes}
        return set(self.keys) - self.settled.keys() - flying - gone

    @property
    def done(self) -> bool:
        return not self.flying and (self.stopped is not None or not self.waiting)

    def start(self, call: Call) -> None:
        """A call may only ask for what waits, each key once, within the limits, and before the deadline."""
        sent = frozenset(call.sent)
        assert self.stopped is None
        assert len(call.sent) == len(sent)
        assert 0 < len(sent) <= self.call_items
        assert sent <= self.waiting
        assert call.started_at < self.bounds.timeout_s
        self.asked.update(sent)
        assert call.application_pass == max(self.asked[key] for key in sent)
        self.calls += 1
        assert call.number == self.calls
        self.flying[call.number] = sent
        assert len(self.flying) <= self.bounds.concurrency
        self._check_request(call)

    def answer(self, call: Call, said: Said) -> None:
        sent = self.flying.pop(call.number)
        processed = sent - said.left
        for table, key in processed:
            assert (table, key) not in self.settled, "a settled key was asked again"
            self.settled[table, key] = RETURNED if key in self.world[table].items else ABSENT
        if not (said.by_size and processed):
            self.charged.update(said.left)

    def fail(self, call: Call, cause: FailureCause) -> None:
        del self.flying[call.number]
        if cause is FailureCause.CREDENTIALS and self.stopped is None:
            if self.first_refusal is None:
                self.first_refusal = self.calls
            if call.number <= self.first_refusal:
                return  # signed before anybody knew: asked once more
        if self.stopped is None:
            self.stopped = StopReason.REQUEST_FAILED
        if self.cause is None or (self.cause.passing and not cause.passing):
            self.cause = cause

    def stop(self, reason: StopReason) -> None:
        """An end from outside: calls in flight are lost."""
        if self.stopped is None or reason is StopReason.INTERRUPTED:
            self.stopped = reason
        self.abandoned += len(self.flying)
        self.flying.clear()

    def impossible(self, call: Call) -> None:
        del self.flying[call.number]
        self.abandoned += len(self.flying)
        self.flying.clear()
        self.stopped = StopReason.INVARIANT_BROKEN

    def check(self, read: Read) -> None:
        """The real read says of every key exactly what is known, whenever it is asked."""
        results = read.results()
        assert len(results) == len(self.world)
        for i, (table, result) in enumerate(zip(self.world, results, strict=True)):
            standing = {key: self.settled.get((i, key), Disposition.UNRESOLVED) for key in table.keys}
            check_union(result, table.keys)
            assert standing == result.disposition_by_key
            assert [standing[key] for key in table.keys] == [
                result.disposition_by_key[k] for k in result.requested_order
            ]
            assert self.abandoned == result.abandoned_calls
            assert self._reason(standing.values(), read) is result.stop_reason
            failed = self.stopped is StopReason.REQUEST_FAILED and not result.complete
            assert failed == (result.terminal_error is not None)
        assert self.done == read.done
        assert len(self.flying) == read.in_flight
        assert self.calls <= len(self.keys) * (self.bounds.max_passes + 2) + self.bounds.concurrency

    def check_items(self, results: tuple[ReadResult, ...]) -> None:
        for table, result in zip(self.world, results, strict=True):
            assert result.returned == result.items_by_key.keys()
            for key, item in result.items_by_key.items():
                told = {name: value for name, value in item.items() if name not in table.settings.key.names}
                assert expected_item(table, key, table.items[key]) == told

    def _reason(self, standing: Collection[Disposition], read: Read) -> StopReason:
        if Disposition.UNRESOLVED not in standing and self.stopped is not StopReason.INVARIANT_BROKEN:
            return StopReason.COMPLETE
        if self.stopped is not None:
            return self.stopped
        return StopReason.PASSES_EXHAUSTED if self.done else StopReason.INTERRUPTED

    def _check_request(self, call: Call) -> None:
        """Consistency and projection are the caller's on every pass, whatever a leftover map said."""
        entries: Mapping[str, Mapping[str, object]] = call.request["RequestItems"]
        assert {self.world[table].settings.table_name for table, _ in call.sent} == entries.keys()
        for table in self.world:
            entry = entries.get(table.settings.table_name)
            if entry is not None:
                assert table.settings.consistent_read == entry.get("ConsistentRead", False)
                assert (table.settings.projection is not None) == ("ProjectionExpression" in entry)


def check_union(result: ReadResult, keys: Collection[object]) -> None:
    """R2: three disjoint sets whose union is the manifest."""
    sets = [result.returned, result.processed_not_returned, result.unresolved]
    assert len(keys) == sum(map(len, sets))
    assert set(keys) == set().union(*sets)


def check_pass(entries: tuple[PassEvidence, ...], call: Call, said: Said, world: list[Table]) -> None:
    """R1: N = P - R - U, pairwise disjoint, per call and table."""
    told: set[SentKey] = set()
    for table, entry in zip(sorted({table for table, _ in call.sent}), entries, strict=True):
        asked, found = set(entry.requested), set(entry.returned)
        left, silent = set(entry.unprocessed), set(entry.processed_not_returned)
        assert asked - found - left == silent
        assert len(asked) == len(found) + len(left) + len(silent)
        assert tuple(world[table].keys[position] for position in entry.positions) == entry.requested
        assert {(table, key) for key in left} == {sent for sent in said.left if sent[0] == table}
        assert {key for key in asked - left if key in world[table].items} == found
        told |= {(table, key) for key in asked}
    assert set(call.sent) == told
