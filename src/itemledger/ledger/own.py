"""A claim for the caller's own worker: what it says of each row is recorded once, and silence means unknown."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Any

from itemledger.core import exact_json
from itemledger.core.batches import Ask, Batch, CallEvidence, Claimed, Kind
from itemledger.core.judging import Pauses
from itemledger.core.reconcile import Finding, Limits
from itemledger.core.rows import Operation, Row
from itemledger.core.write_api import Replay
from itemledger.errors import ClaimLostError, LedgerError
from itemledger.ledger.own_api import settled_by_policy
from itemledger.ledger.own_look_up import BY_POLICY, settle_by_policy
from itemledger.ledger.own_words import (
    NO_ONE_OUTCOME,
    OnAlert,
    Word,
    alert_exhausted,
    alert_refused,
    moves_of,
    only_request_id,
    settle_s,
    worker_name,
)
from itemledger.ledger.store import Store


class OwnClaim:
    """``with ledger.claim(...) as batch``: claims on the way in, releases or records on the way out.

    Where nothing can be asked of the provider, the way in also settles unknown ends by the operation's policy.
    """

    def __init__(
        self,
        store: Store,
        operation: Operation,
        *,
        max_items: int,
        worker: str | None,
        on_alert: OnAlert | None,
        pauses: Pauses,
    ) -> None:
        self._store = store
        self._operation = operation
        by_policy = BY_POLICY if settled_by_policy(operation) else None
        self._ask = Ask(worker or worker_name(), Limits(max_items), by_policy, settle_s(operation.policy))
        self._on_alert = on_alert
        self._pauses = pauses
        self._batch: OwnBatch | None = None

    def __enter__(self) -> OwnBatch:
        if self._batch is not None:
            raise LedgerError("this claim was used already; ask the ledger for another one")
        while True:  # bounded: what a round has settled is not due any more, and lost claims are counted
            claimed = self._store.claim(self._operation.operation_id, self._ask)
            if claimed.batch is None or claimed.batch.kind is Kind.SEND:
                break
            with suppress(ClaimLostError):  # another worker's claim has them now
                settle_by_policy(self._store, self._operation, self._pauses, claimed)
            alert_exhausted(claimed, self._on_alert)
        self._batch = OwnBatch(self._store, claimed)
        try:
            alert_exhausted(claimed, self._on_alert)
        except BaseException as error:  # what is claimed is given back at once, not when its lease ends
            self._leave(self._batch, error)
            raise
        return self._batch

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._batch is not None
        self._leave(self._batch, error)

    def _leave(self, batch: OwnBatch, error: BaseException | None) -> None:
        try:
            batch._end(error, self._operation, self._pauses, self._on_alert)
        except Exception as fault:
            if error is None:
                raise
            # The caller's error is the one to be seen; what is not recorded is settled when the lease has run out.
            error.add_note(f"itemledger: the claim did not end well ({type(fault).__name__}: {fault})")


class OwnBatch:
    """Rows that are held for the caller's own worker, in the order in which to send them; none when nothing is due.

    ``dispatch`` comes before the send, then one word for each row: ``succeeded``, ``unprocessed``, ``transient``,
    ``rejected`` or ``unknown``. Rows without a word may have been done: they wait for a look-up where the provider's
    ``OwnApi`` has one, and else for the next claim, which sends them again only as far as a live window or an
    at-least-once policy allows and leaves the rest to a person.
    ``wait_s`` is how long until something is due where nothing is now; ``None`` when nothing more will be.
    """

    def __init__(self, store: Store, claimed: Claimed) -> None:
        self._store = store
        self._batch = claimed.batch
        self._words: dict[int, Word] = {}
        self._dispatched_at: float | None = None
        self._protected = False
        self._lost = False
        self._ended = False
        self.rows = claimed.rows
        self.wait_s = claimed.wait_s

    @property
    def epoch(self) -> int:
        """The claim's own number; LedgerError when nothing was due."""
        return self._held().epoch

    @property
    def token(self) -> str:
        """An idempotency token for one request with all rows in their order, the same when that request is repeated."""
        return self._held().token

    def payload(self, row: Row) -> Any:
        """The row's item as it was planned; LedgerError when the ledger does not store it."""
        self._check_row(row)
        if row.source.stored is None:
            raise LedgerError(
                f"row {row.number} has no payload in this ledger; plan with store_payloads=True, or bring it yourself"
            )
        return exact_json.loads(row.source.stored)

    def dispatch(self, replay: Replay | None = None) -> None:
        """Writes down that the send begins now; must come before it, once, and send nothing where it raises.

        ``replay`` is the provider's promise to recognise a repeated send, if it makes one. Raises ClaimLostError when
        the lease has run out, or when such a promise ends before the call could.
        """
        self._check_running()
        if self._batch is None:
            return
        if self._dispatched_at is not None:
            raise LedgerError(f"epoch {self.epoch} is dispatched already: a claim is for one send; claim again")
        now = self._store.now()
        try:
            self._store.dispatch(self.epoch, replay)
        except ClaimLostError:
            self._lost = True
            raise
        self._dispatched_at, self._protected = now, replay is not None

    def heartbeat(self) -> None:
        """The whole lease again, from now; ClaimLostError when it has run out."""
        self._check_running()
        if self._batch is not None:
            self._store.heartbeat(self.epoch)

    def succeeded(self, row: Row, *, object_ref: str | None = None, request_id: str | None = None) -> None:
        """It is done, by the provider's word."""
        self._say(row, Word(Finding.SUCCEEDED, object_ref=object_ref, request_id=request_id))

    def unprocessed(self, row: Row) -> None:
        """The provider says that it did not work on it: it is sent again."""
        self._say(row, Word(Finding.UNPROCESSED))

    def transient(
        self, row: Row, *, code: str | None = None, message: str | None = None, request_id: str | None = None
    ) -> None:
        """The provider says that it is not done, for a cause that passes: it is sent again."""
        self._say(row, Word(Finding.TRANSIENT, code, message, request_id=request_id))

    def rejected(
        self, row: Row, *, code: str | None = None, message: str | None = None, request_id: str | None = None
    ) -> None:
        """The provider rejects it, and would again: it is not sent again, and waits for a person."""
        self._say(row, Word(Finding.REJECTED, code, message, request_id=request_id))

    def unknown(self, row: Row, *, code: str | None = None, request_id: str | None = None) -> None:
        """Whether it is done is open: a timeout, a lost or unreadable answer."""
        self._say(row, Word(Finding.UNKNOWN, code, request_id=request_id))

    # ------------------------------------------------------------------------------------------------------ inside

    def _held(self) -> Batch:
        if self._batch is None:
            raise LedgerError("nothing was due, so this claim holds no rows; look at rows first")
        return self._batch

    def _check_running(self) -> None:
        if self._ended:
            raise LedgerError("this claim has ended; claim again")

    def _check_row(self, row: Row) -> None:
        self._check_running()
        if self._batch is None or row.number not in self._batch.items:
            raise LedgerError(f"row {row.number} is not in this claim; name only rows of batch.rows")

    def _say(self, row: Row, word: Word) -> None:
        self._check_row(row)
        if self._dispatched_at is None:
            raise LedgerError(f"row {row.number} is not dispatched; call batch.dispatch() before the send")
        if row.number in self._words:
            # As for a response that names an item twice: neither word can be trusted.
            self._words[row.number] = Word(Finding.UNKNOWN, NO_ONE_OUTCOME)
            raise LedgerError(f"row {row.number} got a second outcome in one claim, so it counts as unknown")
        self._words[row.number] = word

    def _end(self, error: BaseException | None, operation: Operation, pauses: Pauses, on_alert: OnAlert | None) -> None:
        """Releases what was not dispatched and records what was, once; ClaimLostError where that came too late."""
        self._ended = True
        if self._batch is None:
            return
        if self._dispatched_at is None:
            self._release()
            return
        code = NO_ONE_OUTCOME if error is None else type(error).__name__
        moves = moves_of(self.rows, self._words, operation, pauses, silence_code=code, protected=self._protected)
        evidence = CallEvidence(
            only_request_id(self._words),
            None if error is None else code,
            duration_ms=max(0.0, self._store.now() - self._dispatched_at) * 1000.0,
        )
        if not self._store.record(self.epoch, evidence, moves).late:
            alert_refused(self.rows, moves, on_alert)
        else:
            raise ClaimLostError(
                f"the lease of epoch {self.epoch} ran out before its outcomes came; they are kept as evidence and "
                "moved nothing"
            )

    def _release(self) -> None:
        try:
            self._store.release(self.epoch)
        except ClaimLostError:
            if not self._lost:  # where dispatch has said so, it need not be said again
                raise
