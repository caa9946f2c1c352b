"""What became of every item of a batch: written, left over, refused or unknown, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from itemledger.core.answer import TerminalError
from itemledger.core.outcome import Outcome
from itemledger.core.rows import Review, Row
from itemledger.errors import IncompleteBatchError


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One item and how it ended. ``position`` is its zero-based place in the caller's input."""

    position: int
    item: object = field(repr=False)
    item_id: str
    outcome: Outcome = Outcome.PENDING
    attempts: int = 0
    error_code: str | None = None
    error_message: str | None = field(default=None, repr=False)
    object_ref: str | None = None
    possible_duplicates: int = 0


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of every item; each is in exactly one of the four.

    ``written`` counts what is known to be done, ``leftover`` what is known not to be and may be sent again, ``refused``
    what the service (or its limits) will not take, ``unknown`` what may or may not have been done. ``replaced`` counts
    what ``overwrite_by_pkeys`` took out of a writer's buffer for a later item of the same key; it was never sent.
    """

    written: int = 0
    leftover: tuple[BatchItem, ...] = ()
    refused: tuple[BatchItem, ...] = ()
    unknown: tuple[BatchItem, ...] = ()
    replaced: int = 0
    calls: int = 0
    terminal_error: TerminalError | None = None

    @property
    def complete(self) -> bool:
        return not (self.leftover or self.refused or self.unknown)

    @property
    def total(self) -> int:
        """How many items were given."""
        return self.written + len(self.leftover) + len(self.refused) + len(self.unknown) + self.replaced

    def raise_unless_complete(self) -> None:
        """IncompleteBatchError, which carries this report, when an item is not written."""
        if self.complete:
            return
        error = f" ({self.terminal_error})" if self.terminal_error else ""
        raise IncompleteBatchError(
            f"{self.written:,} written, {len(self.leftover):,} left over, {len(self.refused):,} refused, "
            f"{len(self.unknown):,} unknown{error}; .report names them",
            report=self,
        )


class Tally:
    """A report in the making."""

    def __init__(self) -> None:
        self.written = 0
        self.replaced = 0
        self.calls = 0
        self.terminal_error: TerminalError | None = None
        self._leftover: list[BatchItem] = []
        self._refused: list[BatchItem] = []
        self._unknown: list[BatchItem] = []

    def add(self, standing: Iterable[tuple[BatchItem, Row | None]]) -> None:
        """Items with their rows; one without a row never left this process."""
        for item, row in standing:
            if row is not None and row.outcome is Outcome.SUCCEEDED:
                self.written += 1
            else:
                self._place(row).append(item)

    def report(self) -> BatchReport:
        return BatchReport(
            self.written,
            tuple(self._leftover),
            tuple(self._refused),
            tuple(self._unknown),
            self.replaced,
            self.calls,
            self.terminal_error,
        )

    def _place(self, row: Row | None) -> list[BatchItem]:
        if row is None:
            return self._leftover
        match row.outcome:
            case Outcome.TERMINAL if row.review is Review.EXHAUSTED:  # given up, and none of its sends has done it
                return self._leftover
            case Outcome.TERMINAL if row.review is not Review.LATE_SUCCESS:
                return self._refused
            # An earlier send with an unknown end: what came after it proves nothing about it.
            case Outcome.PENDING | Outcome.RETRYABLE if not row.lost_attempts and row.late_epoch is None:
                return self._leftover
            case _:
                return self._unknown
