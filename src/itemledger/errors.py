"""Errors, named by whose fault it is: the caller's, the evidence's, or a file's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from itemledger.batch_report import BatchReport
    from itemledger.core.decision import Decision
    from itemledger.core.passes import PassEvidence
    from itemledger.core.result import ReadResult
    from itemledger.core.rows import Conflict
    from itemledger.tables.page_result import PagesResult


class ItemLedgerError(Exception):
    """The base of every error that itemledger raises by itself."""


class ManifestError(ItemLedgerError, ValueError):
    """The caller's request cannot be carried out as given; nothing was sent.

    ``positions`` are the zero-based places in the caller's input that are at fault.
    """

    def __init__(self, message: str, *, positions: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.positions = positions


class LedgerInvariantError(ItemLedgerError):
    """A response says something that cannot be true; its items were not settled by it.

    ``result`` is everything settled before (a tuple of results for ``read_tables``), ``structure`` the offending
    part as attribute names and types, never values, ``position`` the item's place in what was sent where one is known,
    and ``decision`` is always *repair*: no retry can be trusted before somebody has looked.
    """

    def __init__(
        self, message: str, *, position: int | None = None, structure: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.position = position
        self.structure = structure
        self.result: ReadResult | tuple[ReadResult, ...] | None = None
        self.evidence: tuple[PassEvidence, ...] = ()  # of the refused call, with its request id
        self.decision: Decision | None = None  # repair, set with the result


class IncompleteReadError(ItemLedgerError):
    """A list was asked for, but the read was not accepted; ``result`` has everything, ``decision`` what next."""

    def __init__(self, message: str, *, result: ReadResult, decision: Decision) -> None:
        super().__init__(message)
        self.result = result
        self.decision = decision


class IncompletePagesError(ItemLedgerError):
    """Pages came to an end that the caller did not ask for; ``result`` says where each segment stands and goes on."""

    def __init__(self, message: str, *, result: PagesResult) -> None:
        super().__init__(message)
        self.result = result


class IncompleteBatchError(ItemLedgerError):
    """Not every item of a batch is written; ``report`` names the others, and says of each what is known."""

    def __init__(self, message: str, *, report: BatchReport) -> None:
        super().__init__(message)
        self.report = report


class CheckpointError(ItemLedgerError, ValueError):
    """A scan cannot go on from its checkpoint: damaged, in use, of another scan, or not fitting its output."""


class CursorError(ItemLedgerError, ValueError):
    """A cursor cannot be gone on from; it says the same whatever the reason is. Answer an HTTP request with 400."""


class OutputError(ItemLedgerError):
    """What a scan brought cannot be written; its checkpoint stands where the output was durable last."""


class HoldRecordError(ItemLedgerError, ValueError):
    """A hold record cannot be continued from: damaged, of another version, or of another table."""


class EvidenceError(ItemLedgerError):
    """An evidence file does not prove what it claims; ``line`` is the one-based line at fault, where there is one."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class LedgerError(ItemLedgerError, ValueError):
    """A ledger cannot do what was asked: another schema, an unknown operation, a row that is not there."""


class KeyReusedError(LedgerError):
    """An idempotency key came with another payload; nothing was sent for it. ``conflicts`` name the items."""

    def __init__(self, message: str, *, conflicts: tuple[Conflict, ...] = ()) -> None:
        super().__init__(message)
        self.conflicts = conflicts


class ClaimLostError(LedgerError):
    """The epoch is no longer the row's: the lease ran out, or the claim has ended. Nothing was changed."""


class SourceChangedError(LedgerError):
    """What was planned is no longer at its place in the input; nothing of it was sent.

    ``rows`` are the numbers of the rows whose payload is another now; none where nothing can be read at all.
    """

    def __init__(self, message: str, *, rows: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.rows = rows


class LedgerLawError(ItemLedgerError):
    """A move that the outcome law does not know was asked for: a fault of itemledger or of a store."""
