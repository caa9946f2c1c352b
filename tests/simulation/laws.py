"""What must hold at every step of a simulated run, judged by the wire and the journal and not by the ledger's word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from itemledger.core.answer import Failure
from itemledger.core.batches import Batch, BatchState, Claimed, Kind, Recorded
from itemledger.core.outcome import FINAL, Event, Outcome, moved
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, Review, Row
from itemledger.core.write_api import Proof, Scope, Verdict
from itemledger.ledger.store import Store
from tests.simulation.apis import AT_LEAST_ONCE, LIFE_S, LOOKS_UP, ONE_EFFECT, PERSON_ONLY, SimApi
from tests.simulation.provider import Provider, Send

_TO_AND_FRO = (Event.REPLAY_ALLOWED, Event.REPLAY_EXPIRED)
OPEN = (BatchState.CLAIMED, BatchState.DISPATCHED)


class LawError(AssertionError):
    """A law of the ledger does not hold."""


def law(holds: bool, breach: str) -> None:
    if not holds:
        raise LawError(breach)


@dataclass(slots=True)
class _Item:
    """What the wire says of one item since it was planned, or since a person let it be sent again."""

    sends: list[Send] = field(default_factory=list)
    ruled_out: set[int] = field(default_factory=set)  # epochs of sends that a look-up ruled out
    reopened: bool = False
    settled: bool = False

    def unknown(self) -> list[Send]:
        return [send for send in self.sends if send.epoch not in self.ruled_out]


class Laws:
    """Told of every step. ``exact`` is off where a worker may freeze before its call or the store's clock leaps ahead:
    a ledger cannot stop such a call, so what a look-up said before it is not the last word."""

    def __init__(self, store: Store, provider: Provider, policy: Policy, planned: int, *, exact: bool) -> None:
        self._store = store
        self._provider = provider
        self._api: SimApi = provider.api
        self._policy = policy
        self._planned = planned
        self._exact = exact
        self._items: dict[str, _Item] = defaultdict(_Item)
        self._holder: dict[int, int] = {}
        self._open: set[int] = set()
        self._claimed_at: dict[int, float] = {}
        self._late_at: dict[tuple[int, str], float] = {}
        self._called: set[int] = set()
        self._looked_up: dict[int, dict[str, Verdict]] = {}
        self._first_of_token: dict[str, object] = {}
        provider.on_arrival = self.arrived

    # ---------------------------------------------------------------------------------------------- every step

    def claimed(self, claimed: Claimed, at: float) -> None:
        batch = claimed.batch
        for row in claimed.exhausted:
            law(
                row.attempts >= self._policy.max_attempts or row.lapses >= self._policy.max_lapses,
                "exhausted too early",
            )
        if batch is None:
            return
        self._open = {epoch for epoch in self._open if self._store.batch(epoch).state in OPEN}
        for epoch in self._open:
            both = set(self._store.batch(epoch).items).intersection(batch.items)
            law(not both, f"double claim: epochs {epoch} and {batch.epoch} both hold rows {sorted(both)}")
        law(len(set(batch.items)) == len(batch.items) > 0, "a claim holds a row twice, or none")
        law(batch.items == tuple(row.number for row in claimed.rows), "a claim's rows are not its composition")
        self._open.add(batch.epoch)
        self._claimed_at[batch.epoch] = at
        for row in claimed.rows:
            law(row.attempts <= self._policy.max_attempts, f"row {row.number} is claimed beyond its attempts")
            law(row.lapses <= self._policy.max_lapses, f"row {row.number} is claimed beyond its lapses")
            due = row.due_at is not None and row.due_at <= claimed.at
            law(due or batch.replay_of is not None, f"row {row.number} is claimed before it is due")
            self._holder[row.number] = batch.epoch
        if batch.kind is Kind.SEND:
            groups = [row.group_id for row in claimed.rows if row.group_id and not self._items[row.item_id].reopened]
            law(len(set(groups)) == len(groups), "two items of one group share a request")

    def dispatched(self, before: Batch, now: float) -> None:
        law(before.state is BatchState.CLAIMED, f"epoch {before.epoch} is {before.state} and dispatched")
        law(before.lease_until > now, f"epoch {before.epoch} is dispatched after its lease")

    def called(self, send: Send, rows: Sequence[Row], *, in_time: bool) -> None:
        """A send goes out; ``in_time`` means that its claim is still open."""
        batch = self._store.batch(send.epoch)
        law(batch.dispatched_at is not None, f"epoch {send.epoch} is sent without a dispatch")
        law(send.epoch not in self._called, f"epoch {send.epoch} is sent twice")
        law([row.item_id for row in rows] == send.ids, f"epoch {send.epoch} sends what it did not claim")
        law(tuple(row.number for row in rows) == batch.items, f"epoch {send.epoch} does not send its composition")
        self._called.add(send.epoch)
        for row in rows:
            item = self._items[row.item_id]
            law(in_time or not self._exact, f"epoch {send.epoch} is sent after its claim was lost")
            if in_time:
                self._proof(item, row, send)
            else:
                item.ruled_out.add(send.epoch)  # it went out although its claim was lost: nothing can answer for it
            item.sends.append(send)
            charged = sum(not _given_back(each, self._api) for each in item.sends)
            law(charged <= self._policy.max_attempts, f"row {row.number} is sent {charged} times")

    def _proof(self, item: _Item, row: Row, send: Send) -> None:
        """A send after one whose end is unknown needs a reason."""
        if self._api.kind in PERSON_ONLY and self._exact:
            law(
                all(_known(each, row.item_id) for each in item.sends),
                f"row {row.number} is sent again without a person",
            )
        for earlier in item.unknown():
            key = (earlier.epoch, row.item_id)
            if key in self._late_at:
                law(
                    self._late_at[key] >= self._claimed_at[send.epoch],
                    f"row {row.number} is sent again after late evidence that it is done",
                )
            if _known(earlier, row.item_id):
                law(earlier.results[row.item_id] != "ok", f"row {row.number} is sent again after its success")
                continue
            allowed = self._api.replay is not None or self._api.kind in AT_LEAST_ONCE
            law(allowed, f"row {row.number} is sent without proof after the unknown end of epoch {earlier.epoch}")
            if self._api.replay is not None and self._api.replay.scope is Scope.REQUEST:
                same = earlier.token == send.token and earlier.request == send.request
                law(same, f"epoch {send.epoch} repeats epoch {earlier.epoch}, but not exactly")

    def arrived(self, send: Send) -> None:
        """Where only the provider's window allows a repeated send, it must still be open now."""
        if self._api.replay is None or self._api.kind in AT_LEAST_ONCE:
            return
        assert send.arrived_at is not None
        for item_id in send.ids:
            for earlier in self._items[item_id].unknown():
                if earlier.epoch == send.epoch or _known(earlier, item_id):
                    continue
                law(
                    send.arrived_at <= earlier.at + LIFE_S or earlier.at > send.at,
                    f"epoch {send.epoch} arrives when the window of epoch {earlier.epoch} has closed",
                )

    def looked_up(self, epoch: int, item_id: str, verdict: Verdict) -> None:
        self._looked_up.setdefault(epoch, {})[item_id] = verdict
        if verdict is Verdict.ABSENT_CONCLUSIVE and self._exact:
            law(not self._provider.in_air(item_id), f"{item_id} is looked up while an effect may still come")

    def recorded(
        self, send: Send | None, batch: Batch, before: Sequence[Row], after: Sequence[Row], told: Recorded, at: float
    ) -> None:
        """A record was made; ``batch`` and ``before`` are as they were just before it."""
        epoch = batch.epoch
        lost = batch.state is not BatchState.DISPATCHED or any(self._holder[row.number] != epoch for row in before)
        law(told.late == lost, f"epoch {epoch} is recorded as if its claim were {'open' if lost else 'lost'}")
        for old, new in zip(before, after, strict=True):
            if lost:
                law(
                    (old.outcome, old.epoch, old.attempts, old.lost_attempts)
                    == (new.outcome, new.epoch, new.attempts, new.lost_attempts),
                    f"fence escape: lapsed epoch {epoch} moved row {new.number}",
                )
            elif new.outcome is Outcome.SUCCEEDED:
                self._has_effect(new)
            if send is not None and lost and send.results.get(new.item_id) == "ok":
                self._late_at[epoch, new.item_id] = at
        if send is not None:
            send.recorded = "late" if lost else "live"
        if send is not None and not lost:
            given_back = int(_given_back(send, self._api))
            for old, new in zip(before, after, strict=True):
                law(
                    old.attempts - given_back == new.attempts, f"row {new.number} is charged for a refused call, or not"
                )
                if new.review is Review.REFUSED:
                    law(new.item_id in self._provider.rejected, f"row {new.number} is refused, but nobody refused it")
        if not lost:
            for row, new in zip(before, after, strict=True):
                if self._looked_up.get(epoch, {}).get(row.item_id) is Verdict.ABSENT_CONCLUSIVE:
                    item = self._items[row.item_id]
                    item.ruled_out.update(each.epoch for each in item.sends)
                    absent = new.outcome is not Outcome.RETRYABLE or new.lost_attempts == 0
                    law(absent, f"row {row.number} is absent, and still has sends with an unknown end")

    def decided(self, row: Row, decided: Decided) -> None:
        """A person's decision is proof of its own, and what is sent again begins anew."""
        if decided is Decided.RETRY:
            self._items[row.item_id] = _Item(reopened=True)
        else:
            self._items[row.item_id].settled = True

    # ------------------------------------------------------------------------------------------------- the end

    def quiet(self, operation_id: str) -> None:
        """No worker runs and none could do anything: what is open waits for a person, or behind such a one."""
        rows = self._store.rows(operation_id)
        law(len(rows) == self._planned, f"{self._planned - len(rows)} items are lost")
        law(sum(self._store.counts(operation_id).values()) == self._planned, "the counts do not add up")
        waiting = {row.group_id for row in rows if row.outcome is Outcome.RECONCILE and row.review is not None}
        for row in rows:
            law(row.epoch is None, f"row {row.number} is still held")
            if row.outcome is Outcome.PENDING:
                law(row.group_id is not None and row.group_id in waiting, f"row {row.number} was never sent")
            elif row.outcome is not Outcome.SUCCEEDED and row.outcome is not Outcome.TERMINAL:
                law(row.outcome is Outcome.RECONCILE, f"row {row.number} is left {row.outcome}")
                law(row.review is not None and row.due_at is None, f"row {row.number} is open, and no person is asked")
            self._row(row)
        self._order(rows)

    def over(self, operation_id: str) -> None:
        """Nothing is left to decide."""
        self.quiet(operation_id)
        for row in self._store.rows(operation_id):
            law(row.outcome in FINAL and row.review is None, f"row {row.number} has no end")

    def _row(self, row: Row) -> None:
        effects = len(self._provider.journal.get(row.item_id, ()))
        item = self._items[row.item_id]
        if row.outcome is Outcome.SUCCEEDED:
            self._has_effect(row)
        if row.outcome is Outcome.TERMINAL and effects and not item.settled:
            # A provider that changes its mind can refuse what it did before; the row then still counts the lost send.
            fickle = self._provider.fickle and row.review is Review.REFUSED and row.lost_attempts > 0
            honest = fickle or row.review is Review.LATE_SUCCESS
            law(honest or not self._exact, f"row {row.number} is called {row.review}, but the journal has its effect")
        if row.outcome is Outcome.TERMINAL and row.late_epoch is not None:
            law(row.review is Review.LATE_SUCCESS, f"row {row.number} is terminal in spite of a late success")
        if self._api.kind in ONE_EFFECT and (self._exact or self._api.kind not in LOOKS_UP):
            law(effects <= 1, f"row {row.number} had its effect {effects} times")
        if row.outcome is not Outcome.SUCCEEDED and not item.settled and self._exact:
            unknown = sum(not _known(each, row.item_id) for each in item.unknown())
            law(row.lost_attempts >= unknown, f"row {row.number} forgets a send whose end is unknown")
        if row.outcome is Outcome.SUCCEEDED and effects > 1 and self._api.kind in AT_LEAST_ONCE and not item.settled:
            law(row.possible_duplicates > 0, f"row {row.number} had its effect {effects} times, and does not say so")
        self._history(row)

    def _has_effect(self, row: Row) -> None:
        law(
            row.item_id in self._provider.journal,
            f"row {row.number} is called done, but the journal has no effect of it",
        )

    def _history(self, row: Row) -> None:
        outcome: Outcome | None = None
        spins = 0
        for entry in self._store.history(row.number):
            spins = spins + (entry.event == Event.REPLAY_EXPIRED) if entry.event in _TO_AND_FRO else 0
            law(spins <= 2, f"row {row.number} goes to and fro between replay_allowed and replay_expired")
            law(entry.before == outcome, f"row {row.number}: its history has a gap before {entry.event}")
            if entry.event == "planned":
                outcome = Outcome.PENDING
            elif entry.event not in ("late", "reviewed"):
                assert outcome is not None
                outcome = moved(outcome, Event(entry.event), entry.after if entry.event == Event.SETTLED else None)
            law(entry.after == outcome, f"row {row.number}: {entry.event} does not lead to {entry.after}")
        law(outcome == row.outcome, f"row {row.number}: its history does not end where it stands")

    def _order(self, rows: Sequence[Row]) -> None:
        """Within a group the first effects come in the order of planning."""
        place = {row.item_id: (row.group_id, row.number) for row in rows}
        last: dict[str, int] = {}
        for item_id in self._provider.order:
            group, number = place[item_id]
            if group is not None and not self._items[item_id].reopened:
                law(last.get(group, 0) < number, f"row {number} had its effect after a later one of its group")
                last[group] = number


def _known(send: Send, item_id: str) -> bool:
    """Whether the ledger was told in time how this send ended for this item."""
    return send.recorded == "live" and send.delivered and send.results.get(item_id) in ("ok", "not_done")


def _given_back(send: Send, api: SimApi) -> bool:
    """Whether the whole call is known to have been refused, which is no attempt."""
    if send.recorded != "live" or not send.delivered or not isinstance(send.end, Failure):
        return False
    proof = api.explain(send.end)
    return proof in (Proof.NOT_PROCESSED, Proof.BLOCKED) or (proof is Proof.REFUSED and len(send.ids) > 1)
