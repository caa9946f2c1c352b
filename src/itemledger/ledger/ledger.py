"""A ledger as its users see it: plan items, work on them in claims of their own, look, decide, report."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from itemledger.core.batches import HistoryEntry
from itemledger.core.judging import Pauses, Storm
from itemledger.core.outcome import Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, Operation, Pruned, Row
from itemledger.core.write_api import Verdict
from itemledger.errors import LedgerError, ManifestError
from itemledger.ledger import own_look_up, planning, report
from itemledger.ledger.own import OwnClaim
from itemledger.ledger.own_look_up import LookUpHook
from itemledger.ledger.own_words import OnAlert
from itemledger.ledger.planning import PlanApi, PlanResult, Sourced
from itemledger.ledger.stats import Stats, stats_of
from itemledger.ledger.store import Store

DEFAULT_POLICY = Policy()
#: Rows that one claim may hold.
MOST_ITEMS = 10_000
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Ledger:
    """Durable rows, one for each item. A context manager: it closes its store."""

    store: Store
    _storms: dict[str, Storm] = field(default_factory=dict, repr=False, compare=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    # ------------------------------------------------------------------------------------------------- planning

    def plan(
        self,
        operation_id: str,
        api: PlanApi,
        items: Iterable[object],
        *,
        policy: Policy | None = None,
        store_payloads: bool = False,
    ) -> PlanResult:
        """Writes a row for every item before anything is sent; planning the same items again changes nothing.

        An item whose key has another payload in the ledger is refused and named in ``conflicts``, the others are
        planned: ``raise_for_conflicts`` makes an error of it. ``store_payloads`` keeps the items themselves in the
        ledger. A policy that is given is the operation's from here on, and the one before it is kept in ``former``;
        without one the operation keeps its own. Raises ManifestError for an item that could never be sent, with its
        position, and LedgerError when the operation is for another API or target.
        """
        sourced = (
            (value, planning.stored(value, position) if store_payloads else None)
            for position, value in enumerate(items)
        )
        return self.plan_sourced(operation_id, api, sourced, policy=policy)

    def plan_sourced(
        self,
        operation_id: str,
        api: PlanApi,
        items: Iterable[Sourced],
        *,
        policy: Policy | None = None,
        on_chunk: Callable[[PlanResult], object] | None = None,
    ) -> PlanResult:
        """The same for items with the place where a worker finds each again, such as a line of a file.

        ``on_chunk`` is told how far it is after each thousand items.
        """
        operation = Operation(operation_id, api.name, api.target, policy or DEFAULT_POLICY, api.effect)
        self.store.open_operation(operation, keep_policy=policy is None)
        return planning.plan(self.store, operation_id, api, items, on_chunk=on_chunk)

    # ------------------------------------------------------------------------------------------ the caller's worker

    def claim(
        self,
        operation_id: str,
        *,
        max_items: int = 25,
        worker: str | None = None,
        on_alert: OnAlert | None = None,
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> OwnClaim:
        """Rows for a worker of the caller's own: ``with ledger.claim("refunds") as batch``.

        Afterwards a batch that was not dispatched is given back, and one that was is recorded once, also when an
        error leaves the block; rows of which nothing was said may have been done. Where the operation's ``OwnApi`` has
        no look-up, a claim first settles unknown ends by its policy. ``on_alert`` is told of every row that ended as
        terminal. Raises ClaimLostError at the end when the lease ran out meanwhile.
        """
        operation = self._planned(operation_id)
        return OwnClaim(
            self.store,
            operation,
            max_items=_checked(max_items),
            worker=worker,
            on_alert=on_alert,
            pauses=self._pauses(operation, jitter),
        )

    def reconcile(
        self,
        operation_id: str,
        look_up: LookUpHook,
        *,
        max_items: int = 25,
        worker: str | None = None,
        on_alert: OnAlert | None = None,
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> dict[Verdict, int]:
        """Settles rows whose end is unknown until none of them is due; ``look_up`` says of each what is there.

        Only ``absent_conclusive`` lets a row be sent again. A look-up that raises leaves its row open; what else was
        learned is recorded, then the error is raised. Comes back with how many rows got which verdict. Raises
        LedgerError for an operation whose ``OwnApi`` was planned without ``looks_up=True``.
        """
        operation = self._planned(operation_id)
        return own_look_up.reconcile(
            self.store,
            operation,
            look_up,
            max_items=_checked(max_items),
            worker=worker,
            on_alert=on_alert,
            pauses=self._pauses(operation, jitter),
        )

    # -------------------------------------------------------------------------------------------------- looking

    def operations(self) -> list[Operation]:
        """All operations, in the order of their making."""
        return self.store.operations()

    def operation(self, operation_id: str) -> Operation:
        """One operation; LedgerError when there is none."""
        for operation in self.store.operations():
            if operation.operation_id == operation_id:
                return operation
        raise LedgerError(f"this ledger has no operation {operation_id!r}; plan it first")

    def counts(self, operation_id: str) -> Mapping[Outcome, int]:
        """How many rows stand where; every outcome is named."""
        return self.store.counts(operation_id)

    def rows(
        self, operation_id: str | None = None, *, outcome: Outcome | None = None, in_review: bool = False
    ) -> Iterator[Row]:
        """Rows by number, a page at a time."""
        after = 0
        while page := self.store.rows(operation_id, outcome=outcome, in_review=in_review, after=after, limit=PAGE):
            yield from page
            after = page[-1].number

    def row(self, number: int) -> Row:
        """One row; LedgerError when there is none."""
        return self.store.row(number)

    def find(self, operation_id: str, item_id: str) -> Row | None:
        """The row of an item."""
        return self.store.find(operation_id, item_id)

    def history(self, number: int) -> list[HistoryEntry]:
        """A row's transitions with their evidence, oldest first."""
        return self.store.history(number)

    def stats(self, operation_id: str) -> Stats:
        """What an operation's rows add up to; it looks at each of them."""
        return stats_of(self.operation(operation_id), self.rows(operation_id), self.store.now())

    # ------------------------------------------------------------------------------- persons, retention, reports

    def decide(self, number: int, decided: Decided, *, who: str, why: str) -> Row:
        """A person's decision on a row in reconcile or terminal, kept in its history; it ends the review."""
        return self.store.decide(number, decided, who=who, why=why)

    def prune(self, operation_id: str, *, older_than_s: float) -> Pruned:
        """Deletes final rows that nothing needs any more, and says what it kept for which reason."""
        return self.store.prune(operation_id, older_than_s=older_than_s)

    def export(self, operation_id: str) -> Iterator[bytes]:
        """The operation's completion report, line by line, all of one moment; ``verify_report`` reads it."""
        return report.export_report(self.store, operation_id)

    def restore(self, lines: Iterable[bytes]) -> int:
        """Puts a completion report's rows into this ledger; how many it were. EvidenceError when it is not whole."""
        return report.import_report(self.store, lines)

    # ------------------------------------------------------------------------------------------------------ own

    def _planned(self, operation_id: str) -> Operation:
        operation = self.operation(operation_id)
        if operation.planned_at is None:
            raise LedgerError(f"planning of {operation_id!r} was interrupted, so nothing of it is sent; plan it again")
        return operation

    def _pauses(self, operation: Operation, jitter: Callable[[float, float], float]) -> Pauses:
        """Failures are counted over all claims of an operation, so that a storm of them is noticed."""
        return Pauses(operation.policy, jitter, self._storms.setdefault(operation.operation_id, Storm()))


def _checked(max_items: int) -> int:
    if type(max_items) is not int or not 1 <= max_items <= MOST_ITEMS:
        raise ManifestError(f"max_items={max_items!r}: give a whole number from 1 to {MOST_ITEMS:,}")
    return max_items
