"""The refusals that all stores share, in one wording."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from itemledger.core.batches import Batch, BatchState, Move
from itemledger.core.outcome import FINAL
from itemledger.core.policy import Policy
from itemledger.core.rows import FormerPolicy, Operation, Row
from itemledger.errors import ClaimLostError, LedgerError, LedgerLawError

#: The states in which a claim holds its rows.
OPEN = (BatchState.CLAIMED, BatchState.DISPATCHED)
#: Rows that one claim moves out of the way at most, for used-up attempts or look-ups.
SWEEP = 1000


def same_target(known: Operation, asked: Operation) -> None:
    """LedgerError when a name is taken by another API or target."""
    # As text, for the order of members counts: a table's partition key comes before its sort key.
    if (known.api, json.dumps(known.target), known.effect) != (asked.api, json.dumps(asked.target), asked.effect):
        raise LedgerError(
            f"operation {known.operation_id!r} of this ledger is for {known.api} with another target or API; "
            "choose another name for this one"
        )


def check_new(known: Operation | None) -> None:
    """LedgerError when the operation of a report is here already."""
    if known is not None:
        raise LedgerError(f"operation {known.operation_id!r} is in this ledger already; import into a new one")


def with_policy(known: Operation, policy: Policy, now: float) -> Operation:
    """The operation under another policy; the one before is kept with the time until which it held."""
    if policy == known.policy:
        return known
    return replace(known, policy=policy, former=(*known.former, FormerPolicy(known.policy, now)))


def with_endpoint(known: Operation, endpoint: str, *, moved: bool) -> Operation:
    """The operation with the place its calls go to; LedgerError when it is known to be another one."""
    if known.endpoint not in (None, endpoint) and not moved:
        raise LedgerError(
            f"the calls of operation {known.operation_id!r} went to {known.endpoint} and would now go to {endpoint}; "
            "work on it with the first, or say that the target has moved (moved=True, --moved)"
        )
    return replace(known, endpoint=endpoint)


def check_set_aside(batch: Batch, set_aside: Collection[int]) -> None:
    """LedgerLawError for a row that the claim does not hold."""
    if not set(set_aside) <= set(batch.items):
        raise LedgerLawError(f"epoch {batch.epoch} does not hold all of the rows that are to be set aside")


def check_open(batch: Batch, now: float | None, states: Collection[BatchState]) -> None:
    """ClaimLostError unless the claim is in one of these states and, where ``now`` is given, its lease still runs."""
    if batch.state not in states:
        raise ClaimLostError(f"epoch {batch.epoch} is {batch.state}, so nothing was changed; claim again")
    if now is not None and batch.lease_until <= now:
        raise ClaimLostError(f"the lease of epoch {batch.epoch} has run out, so nothing was changed; claim again")


def check_windows(batch: Batch, rows: Iterable[Row], policy: Policy, now: float) -> None:
    """ClaimLostError when a row may be sent only because the provider would recognise it, and no longer would."""
    for row in rows:
        if window_closes(row, policy, now):
            raise ClaimLostError(
                f"epoch {batch.epoch}: the provider's window for row {row.number} closes before the call could end; "
                "claim again"
            )


def window_closes(row: Row, policy: Policy, now: float) -> bool:
    """Whether a repeated send could arrive after the provider has forgotten the first."""
    return row.lost_attempts > 0 and row.replay_until is not None and row.replay_until <= now + policy.call_timeout_s


def used_up(row: Row, policy: Policy) -> bool:
    """Whether its attempts are spent, or its workers keep getting lost."""
    return row.attempts >= policy.max_attempts or row.lapses >= policy.max_lapses


def looked_up_enough(row: Row, policy: Policy) -> bool:
    """Whether its look-ups are spent, or its workers keep getting lost."""
    return row.look_ups >= policy.max_look_ups or row.lapses >= policy.max_lapses


def check_moves(batch: Batch, moves: Sequence[Move]) -> None:
    """LedgerLawError unless the moves are the batch's rows, each once."""
    if sorted(move.row for move in moves) != sorted(batch.items):
        raise LedgerLawError(
            f"epoch {batch.epoch} holds {len(batch.items)} rows and {len(moves)} moves were recorded for it: "
            "each row needs exactly one"
        )


def check_dispatched(batch: Batch) -> None:
    """LedgerLawError for the answer of a call that was never written down as begun."""
    if batch.state is BatchState.CLAIMED:
        raise LedgerLawError(f"epoch {batch.epoch} was not dispatched, so no call of it can have ended")


def check_person(who: str, why: str) -> None:
    """LedgerError unless the decision says who took it and why."""
    if not who.strip() or not why.strip():
        raise LedgerError("a decision needs who and why; give both")


def kept_because(row: Row, policy: Policy, now: float, older_than_s: float, window: float) -> str | None:
    """Why retention leaves a row: a reason, ``""`` when it is merely younger than asked for, ``None`` if it may go.

    ``window`` is the end of the last provider window among its sends.
    """
    if row.outcome not in FINAL or row.epoch is not None:
        return "open"
    if row.review is not None:
        return "review"
    age_s = now - row.updated_at
    if age_s < older_than_s:
        return ""
    if window > now:
        return "window"
    return "business" if age_s < policy.keep_s else None
