"""Ledgers as files for the commands to look into, made by the library without a call to anybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from itemledger.apis import SendMessageBatch
from itemledger.core.batches import Ask, CallEvidence, Move
from itemledger.core.outcome import Event
from itemledger.core.rows import Review
from itemledger.ledger import Ledger, OwnApi, Policy, Replay, open_ledger

QUEUE_URL = "http://127.0.0.1:9/123456789012/q"
QUEUE = SendMessageBatch(queue_url=QUEUE_URL)
URL = "sqlite:///ledger.db"
OPERATION = "mails"
#: When the clock of these ledgers starts: 2026-01-01T00:00:00Z.
START = 1_767_225_600.0


@dataclass(slots=True)
class Made:
    """A ledger in the making; its clock stands still unless a test moves it."""

    directory: Path
    now: float = START
    policy: Policy = field(default_factory=lambda: Policy(keep_s=0.0))

    def open(self, clock: Callable[[], float] | None = None) -> Ledger:
        return open_ledger(f"sqlite:///{self.directory / 'ledger.db'}", clock=clock or (lambda: self.now))

    def plan(self, items: int, operation: str = OPERATION) -> None:
        mails = [{"Id": f"{operation}-{n}", "MessageBody": f"private {n}"} for n in range(1, items + 1)]
        with self.open() as ledger:
            ledger.plan(operation, QUEUE, mails, policy=self.policy, store_payloads=True)

    def plan_own(self) -> None:
        with self.open() as ledger:
            ledger.plan("refunds", OwnApi("bank.refund", "id"), [{"id": "r1"}])

    def send(self, *ends: Event, replay: Replay | None = None) -> None:
        """One call for as many rows as there are ends."""
        with self.open() as ledger:
            claimed = ledger.store.claim(OPERATION, Ask("test", QUEUE.limits))
            assert claimed.batch is not None
            ledger.store.dispatch(claimed.batch.epoch, replay)
            numbers = claimed.batch.items
            assert len(numbers) == len(ends)
            moves = [_move(number, end) for number, end in zip(numbers, ends, strict=True)]
            ledger.store.record(
                claimed.batch.epoch, CallEvidence("REQUEST", label="synthetic", duration_ms=12.0), moves
            )

    def settle(self) -> None:
        """What is unknown comes to wait for a person, as nothing can be asked."""
        with self.open() as ledger:
            claimed = ledger.store.claim(OPERATION, Ask("test", None, QUEUE.limits))
            assert claimed.batch is not None
            ledger.store.dispatch(claimed.batch.epoch)
            waits = [
                Move(row.number, Event.INCONCLUSIVE, delay_s=None, review=Review.NO_LOOK_UP) for row in claimed.rows
            ]
            ledger.store.record(claimed.batch.epoch, CallEvidence(), waits)


def _move(number: int, end: Event) -> Move:
    match end:
        case Event.CONFIRMED:
            return Move(number, end, request_id="REQUEST", object_ref=f"message-{number}")
        case Event.REFUSED:
            return Move(
                number, end, error_code="InvalidMessageContents", error_message="private", review=Review.REFUSED
            )
        case Event.FAILED_TRANSIENTLY:
            return Move(number, end, delay_s=600.0, error_code="Busy")
        case _:
            return Move(number, end, error_code="ReadTimeoutError")
