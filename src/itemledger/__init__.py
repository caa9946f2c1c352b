"""itemledger: every item of a batch gets exactly one disposition, with evidence; unknown is never rounded."""

from itemledger._version import __version__
from itemledger.core.answer import EvidenceLabel, TerminalError
from itemledger.core.decision import ALL, NONE, Decision
from itemledger.core.hold import HoldRecord
from itemledger.core.manifest import TableRead
from itemledger.core.result import (
    Disposition,
    KeyOutcome,
    LeftoverCause,
    PassEvidence,
    ReadResult,
    StopReason,
)
from itemledger.errors import (
    EvidenceError,
    HoldRecordError,
    IncompleteReadError,
    ItemLedgerError,
    LedgerInvariantError,
    ManifestError,
)
from itemledger.sync import iter_read, read_batch, read_tables, resume

__all__ = [
    "ALL",
    "NONE",
    "Decision",
    "Disposition",
    "EvidenceError",
    "EvidenceLabel",
    "HoldRecord",
    "HoldRecordError",
    "IncompleteReadError",
    "ItemLedgerError",
    "KeyOutcome",
    "LedgerInvariantError",
    "LeftoverCause",
    "ManifestError",
    "PassEvidence",
    "ReadResult",
    "StopReason",
    "TableRead",
    "TerminalError",
    "__version__",
    "iter_read",
    "read_batch",
    "read_tables",
    "resume",
]
