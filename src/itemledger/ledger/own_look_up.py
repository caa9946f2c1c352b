"""Unknown ends settled by the caller's own system of record: a hook that says of one row what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from itemledger.core.batches import Ask, Batch, CallEvidence, Claimed
from itemledger.core.judging import Pauses
from itemledger.core.readback import ReadBack
from itemledger.core.reconcile import Limits
from itemledger.core.rows import Operation, Row
from itemledger.core.write_api import Verdict
from itemledger.errors import LedgerError
from itemledger.ledger.own_api import settled_by_policy
from itemledger.ledger.own_words import OnAlert, alert_exhausted, settle_s, worker_name
from itemledger.ledger.store import Store

#: Says of a row what is in its place, by a comparison of its own.
LookUpHook: TypeAlias = Callable[[Row], Verdict]
#: Rows that are settled without a look-up, taken at a time.
BY_POLICY = Limits(items=100)


def reconcile(
    store: Store,
    operation: Operation,
    look_up: LookUpHook,
    *,
    max_items: int,
    worker: str | None,
    on_alert: OnAlert | None,
    pauses: Pauses,
) -> dict[Verdict, int]:
    """Settles rows in reconcile until none is due, and counts the verdicts.

    A row whose look-up raises is recorded as unreadable, the others of its batch as found; then the error is raised.
    """
    if settled_by_policy(operation):
        raise LedgerError(
            f"operation {operation.operation_id!r} was planned for an API that nothing can be asked of, so its claims "
            "settle unknown ends by its policy; plan another one with OwnApi(..., looks_up=True)"
        )
    read_back = ReadBack(operation.policy, operation.effect, pauses, looks_up=True)
    ask = Ask(worker or worker_name(), None, Limits(max_items), settle_s(operation.policy))
    verdicts: Counter[Verdict] = Counter()
    while True:  # bounded: each round uses up a look-up of its rows, and a policy allows only so many
        claimed = store.claim(operation.operation_id, ask)
        try:
            if claimed.batch is not None:
                verdicts += Counter(_settle(store, operation, read_back, look_up, claimed.batch, claimed))
        finally:
            alert_exhausted(claimed, on_alert)
        if claimed.batch is None:
            return dict(verdicts)


def settle_by_policy(store: Store, operation: Operation, pauses: Pauses, claimed: Claimed) -> None:
    """Records what a live window or the policy makes of rows whose end is unknown, where nothing can be asked."""
    assert claimed.batch is not None
    read_back = ReadBack(operation.policy, operation.effect, pauses, looks_up=False)
    moves = [move for row in claimed.rows if (move := read_back.without_look_up(row, claimed.at)) is not None]
    assert len(moves) == len(claimed.rows)
    store.dispatch(claimed.batch.epoch)
    store.record(claimed.batch.epoch, CallEvidence(), moves)


def _settle(
    store: Store,
    operation: Operation,
    read_back: ReadBack,
    look_up: LookUpHook,
    batch: Batch,
    claimed: Claimed,
) -> list[Verdict]:
    settled = [read_back.without_look_up(row, claimed.at) for row in claimed.rows]
    asked = [row for row, move in zip(claimed.rows, settled, strict=True) if move is None]
    store.dispatch(batch.epoch)
    moves = [move for move in settled if move is not None]
    asking = _Asking(store, batch.epoch, operation.policy.lease_s / 2, look_up)
    verdicts = asking.all(asked)
    moves += read_back.looked_up(asked, verdicts, None)
    code = None if asking.error is None else type(asking.error).__name__
    store.record(batch.epoch, CallEvidence(code=code), moves)
    if asking.error is not None:
        raise asking.error
    return verdicts


class _Asking:
    """Asks the hook of one row after the other; ``error`` is the first that it raised."""

    def __init__(self, store: Store, epoch: int, heartbeat_s: float, look_up: LookUpHook) -> None:
        self._store = store
        self._epoch = epoch
        self._heartbeat_s = heartbeat_s
        self._look_up = look_up
        self._beat_at = store.now()
        self.error: BaseException | None = None

    def all(self, rows: Sequence[Row]) -> list[Verdict]:
        return [self._ask(row) for row in rows]

    def _ask(self, row: Row) -> Verdict:
        if self.error is not None and not isinstance(self.error, Exception):  # interrupted: nobody is asked any more
            return Verdict.UNREADABLE
        try:
            self._keep()
            verdict = self._look_up(row)
            if not isinstance(verdict, Verdict):
                raise LedgerError(
                    f"the look-up of row {row.number} returned a {type(verdict).__name__}; return a Verdict"
                )
            return verdict
        except BaseException as error:
            if self.error is None or not isinstance(error, Exception):
                self.error = error
            return Verdict.UNREADABLE

    def _keep(self) -> None:
        """A slow hook must not outlive its lease."""
        now = self._store.now()
        if now - self._beat_at >= self._heartbeat_s:
            self._store.heartbeat(self._epoch)
            self._beat_at = now
