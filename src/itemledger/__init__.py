"""itemledger: every item of a batch gets exactly one disposition, with evidence; unknown is never rounded."""

from itemledger._version import __version__
from itemledger.core.answer import EvidenceLabel, TerminalError
from itemledger.core.decision import ALL, NONE, Decision
from itemledger.core.hold import HoldRecord
from itemledger.core.keys import Key
from itemledger.core.manifest import TableRead
from itemledger.core.passes import LeftoverCause, PassEvidence
from itemledger.core.result import Disposition, Item, KeyOutcome, ReadResult, StopReason
from itemledger.crew.clients import client_config
from itemledger.crew.result import WorkResult, WorkStop
from itemledger.errors import (
    ClaimLostError,
    CursorError,
    EvidenceError,
    HoldRecordError,
    IncompleteReadError,
    ItemLedgerError,
    KeyReusedError,
    LedgerError,
    LedgerInvariantError,
    ManifestError,
    SourceChangedError,
)
from itemledger.http import HttpOutcome, http_outcome
from itemledger.http_sender import HttpSender
from itemledger.shadow import ShadowOutcome, SwitchedOffError, shadow_read
from itemledger.shadow_report import ShadowReport
from itemledger.sync import iter_read, read_batch, read_tables, resume, work
from itemledger.tables.cursor import Cursors
from itemledger.tables.cursor_query import QueryShape

__all__ = [
    "ALL",
    "NONE",
    "ClaimLostError",
    "CursorError",
    "Cursors",
    "Decision",
    "Disposition",
    "EvidenceError",
    "EvidenceLabel",
    "HoldRecord",
    "HoldRecordError",
    "HttpOutcome",
    "HttpSender",
    "IncompleteReadError",
    "Item",
    "ItemLedgerError",
    "Key",
    "KeyOutcome",
    "KeyReusedError",
    "LedgerError",
    "LedgerInvariantError",
    "LeftoverCause",
    "ManifestError",
    "PassEvidence",
    "QueryShape",
    "ReadResult",
    "ShadowOutcome",
    "ShadowReport",
    "SourceChangedError",
    "StopReason",
    "SwitchedOffError",
    "TableRead",
    "TerminalError",
    "WorkResult",
    "WorkStop",
    "__version__",
    "client_config",
    "http_outcome",
    "iter_read",
    "read_batch",
    "read_tables",
    "resume",
    "shadow_read",
    "work",
]
