"""What the caller's own worker says of its rows, as moves: one for each, and no word means unknown."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from itemledger.core.judging import Pauses
from itemledger.core.outcome import Event
from itemledger.core.policy import Policy
from itemledger.core.reconcile import Finding
from itemledger.core.rows import Claimed, Move, Review, Row
from itemledger.core.worker_steps import Alert

#: The error code of a row of which its worker said nothing, or two things.
NO_ONE_OUTCOME = "NoOneOutcome"

OnAlert: TypeAlias = Callable[[Alert], object]


@dataclass(frozen=True, slots=True)
class Word:
    """What the worker says of a row."""

    finding: Finding
    code: str | None = None
    message: str | None = None
    object_ref: str | None = None
    request_id: str | None = None


def moves_of(
    rows: Sequence[Row], words: Mapping[int, Word], policy: Policy, pauses: Pauses, *, silence_code: str
) -> list[Move]:
    """One move for each row, in order; ``silence_code`` becomes the error code of rows without a word."""
    succeeded = sum(word.finding is Finding.SUCCEEDED for word in words.values())
    pauses.answered(succeeded)
    pause = pauses.after_failure(len(rows) - succeeded) if succeeded < len(rows) else None
    silence = Word(Finding.UNKNOWN, silence_code)
    moves = []
    for row in rows:
        # Without a pause when it is exhausted anyway: the next claim says so at once.
        delay_s = 0.0 if pause is None or row.attempts >= policy.max_attempts else pause(row.attempts, False)
        moves.append(_move(row, words.get(row.number, silence), policy, delay_s))
    return moves


def only_request_id(words: Mapping[int, Word]) -> str | None:
    """That of the call, where all rows that have one agree; each row keeps its own."""
    named = {word.request_id for word in words.values() if word.request_id is not None}
    return named.pop() if len(named) == 1 else None


def settle_s(policy: Policy) -> float:
    """How long an item of the caller's own provider is left alone before it is looked up."""
    return policy.settle_s if policy.settle_s is not None else 0.0


def worker_name() -> str:
    """This process, as the ledger names who holds a row."""
    return f"{socket.gethostname()}:{os.getpid()}"


def alert_exhausted(claimed: Claimed, on_alert: OnAlert | None) -> None:
    """Tells of the rows that a claim gave up."""
    if on_alert is not None:
        for row in claimed.exhausted:
            on_alert(_alert(row, Event.EXHAUSTED, row.error_code, row.request_id))


def alert_refused(rows: Sequence[Row], moves: Sequence[Move], on_alert: OnAlert | None) -> None:
    """Tells of the rows that the provider rejected."""
    if on_alert is not None:
        for row, move in zip(rows, moves, strict=True):
            if move.event is Event.REFUSED:
                on_alert(_alert(row, Event.REFUSED, move.error_code, move.request_id))


def _alert(row: Row, event: Event, code: str | None, request_id: str | None) -> Alert:
    return Alert(row.number, row.item_id, row.operation_id, row.attempts, event.value, code, request_id)


def _move(row: Row, word: Word, policy: Policy, delay_s: float) -> Move:
    lost = Move(
        row.number,
        Event.LOST,
        settle_s(policy),
        request_id=word.request_id,
        object_ref=word.object_ref,
        error_code=word.code,
        error_message=word.message,
    )
    match word.finding:
        case Finding.SUCCEEDED:
            # A send that an open window protects is the provider's to recognise.
            duplicates = 0 if row.replay_until is not None else row.lost_attempts
            return replace(lost, event=Event.CONFIRMED, delay_s=0.0, possible_duplicates=duplicates)
        case Finding.UNPROCESSED:
            return replace(lost, event=Event.LEFT_UNPROCESSED, delay_s=delay_s)
        case Finding.REJECTED if word.code not in policy.retry_codes:
            return replace(lost, event=Event.REFUSED, delay_s=0.0, review=Review.REFUSED)
        case Finding.TRANSIENT | Finding.REJECTED:
            return replace(lost, event=Event.FAILED_TRANSIENTLY, delay_s=delay_s)
        case Finding.UNKNOWN:
            return lost
        case Finding.RETURNED | Finding.PROCESSED_NOT_RETURNED:
            raise AssertionError(word.finding)  # of reads only
        case _:
            assert_never(word.finding)
