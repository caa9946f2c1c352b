"""What the caller's own worker says of its rows, as moves: one for each, and no word means unknown."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from itemledger.core.answer import Answer, Failure
from itemledger.core.batches import Claimed, Move
from itemledger.core.judging import Judge, Pauses
from itemledger.core.outcome import Event
from itemledger.core.policy import OnUnknown, Policy
from itemledger.core.reconcile import Finding, Mention, Silence
from itemledger.core.rows import Operation, Row
from itemledger.core.worker_steps import Alert, alert_of
from itemledger.core.write_api import Effect, Entry, ItemError, Proof, WriteApi
from itemledger.ledger.own_api import settled_by_policy

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
    rows: Sequence[Row],
    words: Mapping[int, Word],
    operation: Operation,
    pauses: Pauses,
    *,
    silence_code: str,
    protected: bool,
) -> list[Move]:
    """One move for each row, in order; ``silence_code`` becomes the error code of rows without a word.

    ``protected`` says that the provider recognises a repeat of this send.
    """
    silence = Word(Finding.UNKNOWN, silence_code)
    said = [words.get(row.number, silence) for row in rows]
    policy, looks_up = operation.policy, not settled_by_policy(operation)
    judge = Judge(cast(WriteApi, _Said(operation.effect, said)), policy, pauses, settle_s(policy), looks_up=looks_up)
    moves = judge.moves(rows, [], Answer({}, sdk_retry_attempts=0))
    may_repeat = not looks_up and (protected or policy.on_unknown is OnUnknown.AT_LEAST_ONCE)
    return [_as_told(move, word, policy, may_repeat=may_repeat) for move, word in zip(moves, said, strict=True)]


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
            on_alert(alert_of(row, Event.EXHAUSTED.value, row.error_code, row.request_id))


def alert_refused(rows: Sequence[Row], moves: Sequence[Move], on_alert: OnAlert | None) -> None:
    """Tells of the rows that the provider rejected."""
    if on_alert is not None:
        for row, move in zip(rows, moves, strict=True):
            if move.event is Event.REFUSED:
                on_alert(alert_of(row, Event.REFUSED.value, move.error_code, move.request_id))


def _as_told(move: Move, word: Word, policy: Policy, *, may_repeat: bool) -> Move:
    """The move with what the worker told of this row alone."""
    if move.event is Event.LOST and move.delay_s is not None and not may_repeat:
        # Only sends are spread. Who looks up says when, and a person is told at the next claim, not after a pause.
        move = replace(move, delay_s=settle_s(policy))
    return replace(
        move,
        request_id=word.request_id,
        object_ref=word.object_ref,
        error_code=word.code,
        error_message=word.message,
    )


class _Said:
    """The words in the place of a response, for the judge of all other sends."""

    replay = None
    own_effect_codes: frozenset[str] = frozenset()

    def __init__(self, effect: Effect, said: Sequence[Word]) -> None:
        self.effect = effect
        self._said = said

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        for position, word in enumerate(self._said):
            # The policy's retry codes are for what was rejected: none of them turns an unknown end into a known one.
            code = word.code if word.finding is Finding.REJECTED else None
            yield Mention(position, word.finding, None if code is None else ItemError(code))

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def explain(self, failure: Failure) -> Proof:
        return Proof.NOTHING
