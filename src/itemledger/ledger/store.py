"""What a store of a ledger does: the same verbs, the same refusals, the same clock rule for every one of them.

``tests/ledger/suite.py`` holds each store to this page. Every verb but ``prune`` is one transaction. A store reads its
own clock and takes durations from its callers, never moments; every verb of a claim names its epoch, and a store moves
a row only where epoch and outcome still are what the move assumes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from itemledger.core.batches import Ask, Batch, CallEvidence, Claimed, HistoryEntry, Move, Recorded
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Decided, NewItem, Operation, Planned, Pruned, Row, Snapshot
from itemledger.core.write_api import Replay


class Store(Protocol):
    """A ledger's durable rows."""

    def now(self) -> float:
        """The store's time, in seconds since 1970."""

    def close(self) -> None:
        """Lets go of files and connections; every verb after it raises LedgerError."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    # ------------------------------------------------------------------------------------------------- planning

    def open_operation(self, operation: Operation, *, keep_policy: bool = False) -> Operation:
        """Makes the operation, or opens the one of that name and gives it this policy, unless it is to keep its own.

        A policy that is replaced stays among the ``former`` ones. Raises LedgerError when the name belongs to another
        API or target.
        """

    def set_endpoint(self, operation_id: str, endpoint: str, *, moved: bool = False) -> None:
        """Writes down, once, where the operation's calls go; with ``moved`` also where another place is known.

        Raises LedgerError naming both otherwise: what was lost in one place is not looked up, or sent, in another.
        """

    def operations(self) -> list[Operation]:
        """All of them, in the order of their making."""

    def plan(self, operation_id: str, items: Sequence[NewItem]) -> Planned:
        """A row for every item that has none, all in one transaction.

        An item whose idempotency key, item id, payload hash and operation are those of a row is *repeated*: nothing
        changes but where an unfinished row finds its payload, if the item says where, and that one which was set aside
        goes on. One whose idempotency key (in the
        whole ledger) or item id (in the operation) has a row that differs is a *conflict* and is not planned; the
        others are. A new item with ``refused`` goes to terminal at once (``refused_locally``, code ``OverLimit``) and
        into review. A new item is due at once, unless its group has an earlier row that is not final: then when that
        one is.
        """

    def planning_ended(self, operation_id: str) -> None:
        """From now on the operation's rows can be claimed."""

    # --------------------------------------------------------------------------------------------------- claims

    def claim(self, operation_id: str, ask: Ask) -> Claimed:
        """Takes what is due, by the operation's policy. In this order, in one transaction:

        1. Claims whose lease has run out end as *lapsed*: a dispatched send's rows go to reconcile (``lease_expired``,
           one lost attempt more), due after ``ask.settle_s``; all others are free and due. A lapsed send halves the
           ``batch_limit`` of its rows, so that one which ends its worker is soon alone.
        2. Free rows in reconcile or retryable with a ``late_epoch`` are done (``found``).
        3. A free retryable row with ``lost_attempts`` goes back to reconcile (``replay_expired``) when its attempts are
           used up or its lapses, for it may be done, or when its ``replay_until`` is not further away than the policy's
           ``call_timeout_s``. So does a row whose ``replay_of`` batch can no longer be sent whole, because one of its
           rows is final, waits for a person or is in no such replay.
        4. Other free due rows whose attempts or lapses are used up end as terminal (``exhausted``, in review); free due
           rows in reconcile whose look-ups or lapses are used up wait for a person (``inconclusive``, in review). At
           most 1,000 each.
        5. Where ``ask.read_back`` is given, due rows in reconcile are taken first, as many as ``pack_look_ups`` says.
           Else, where ``ask.send`` is given, a send: due retryable rows, then due pending ones, ``pack`` deciding how
           many. Each sort by due time, then number. A row with ``replay_of`` is taken only with all rows of that batch,
           in that batch's order and under its token.

        A claim makes a new epoch, points its rows to it, counts one claim and one attempt (or look-up) for each.
        Without planning ended nothing is taken and ``wait_s`` is ``None``. Raises LedgerError for an unknown operation.
        """

    def heartbeat(self, epoch: int) -> None:
        """Gives an open claim its whole lease again; ClaimLostError when it is not open or the lease has run out."""

    def dispatch(self, epoch: int, replay: Replay | None = None) -> None:
        """Written just before the call: the rows of a send are in flight from here, and the lease starts anew.

        ``replay`` is the provider's window that begins with this send; that of a repeated request goes on instead.
        Raises ClaimLostError, and changes nothing, when the claim is not merely claimed, when its lease has run out, or
        when a row may be sent only within a window that ends before the policy's ``call_timeout_s``.
        """

    def record(self, epoch: int, evidence: CallEvidence, moves: Sequence[Move]) -> Recorded:
        """What the call means for each row, a move for every row of the batch, once.

        After the claim was lost nothing moves: evidence and moves are kept in the history as ``late``; where a move
        says that the item is done its row gets the ``late_epoch``, and a terminal one goes into review. Raises
        LedgerLawError when the moves are not exactly the batch's rows, or not what the outcome law allows.
        """

    def release(self, epoch: int, *, set_aside: Collection[int] = ()) -> None:
        """Gives back a claim that was not dispatched, and its attempts; ClaimLostError when there is none such.

        Of its rows those to be set aside are not due any more and wait for a person (``source_changed``).
        """

    # -------------------------------------------------------------------------------------------------- looking

    def counts(self, operation_id: str) -> Mapping[Outcome, int]:
        """How many rows stand where; every outcome is named."""

    def reviews(self, operation_id: str) -> int:
        """How many rows wait for a person."""

    def rows(
        self,
        operation_id: str | None = None,
        *,
        outcome: Outcome | None = None,
        in_review: bool = False,
        after: int = 0,
        limit: int = 1000,
    ) -> list[Row]:
        """Rows by number, those after ``after``; a page has at most ``limit``."""

    def row(self, number: int) -> Row:
        """One row; LedgerError when there is none."""

    def find(self, operation_id: str, item_id: str) -> Row | None:
        """The row of an item."""

    def batch(self, epoch: int) -> Batch:
        """One claim; LedgerError when there is none."""

    def history(self, number: int) -> list[HistoryEntry]:
        """A row's transitions, oldest first."""

    def snapshot(self, operation_id: str) -> AbstractContextManager[Snapshot]:
        """The operation with all its rows as of one moment, in bounded memory; what others do meanwhile is not in it.

        Its rows end with the context.
        """

    # -------------------------------------------------------------------------------------- persons, retention

    def decide(self, number: int, decided: Decided, *, who: str, why: str) -> Row:
        """A person's decision, with who and why in the history; it ends the review.

        A row in reconcile can be settled any way; a terminal one can be sent again, be called done, or stay (which
        only ends its review); one that is set aside can be left. What is sent again begins anew, its counters at zero.
        Raises LedgerError when a worker holds the row or the decision does not fit its outcome.
        """

    def prune(self, operation_id: str, *, older_than_s: float) -> Pruned:
        """Deletes final rows, with their history, that nothing needs any more, at most all that ended so long ago.

        Kept are rows that are not final or held (``open``), those in review (``review``), those of a send whose
        provider window is still open (``window``), and those younger than the policy's ``keep_s`` (``business``); rows
        younger than ``older_than_s`` alone are not spoken of. Claims go with the last of their rows. The one verb that
        may take several transactions: each deletes whole rows.
        """

    def restore(self, operation: Operation, rows: Iterable[Row]) -> int:
        """Puts an operation with all rows of its completion report into this ledger, under new numbers; how many.

        In one transaction, for a half of it would pass for the whole. Raises LedgerError when the operation, or one of
        the rows' keys, is there already.
        """
