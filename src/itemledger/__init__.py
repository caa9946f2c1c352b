"""itemledger: every item of a batch gets exactly one disposition, with evidence; unknown is never rounded."""

from itemledger._version import __version__
from itemledger.batch_reading import BatchReader, batch_reader
from itemledger.batch_report import BatchItem, BatchReport
from itemledger.batch_writing import BatchWriter, batch_writer
from itemledger.batching import with_backoff
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
    CheckpointError,
    ClaimLostError,
    CursorError,
    EvidenceError,
    HoldRecordError,
    IncompleteBatchError,
    IncompletePagesError,
    IncompleteReadError,
    ItemLedgerError,
    KeyReusedError,
    LedgerError,
    LedgerInvariantError,
    ManifestError,
    OutputError,
    SourceChangedError,
)
from itemledger.http import HttpOutcome, http_outcome
from itemledger.http_sender import HttpSender
from itemledger.hydrating import EntryState, Hydrated, HydratedPage, hydrate
from itemledger.pages import Pages, query_pages, scan_pages
from itemledger.scanning.result import ScanResult
from itemledger.scanning.scan import scan
from itemledger.shadow import ShadowOutcome, SwitchedOffError, shadow_read
from itemledger.shadow_report import ShadowReport
from itemledger.sync import iter_read, read_batch, read_tables, resume, work
from itemledger.tables.cursor import Cursors
from itemledger.tables.cursor_query import QueryShape
from itemledger.tables.page import Page
from itemledger.tables.page_result import PagesResult

__all__ = [
    "ALL",
    "NONE",
    "BatchItem",
    "BatchReader",
    "BatchReport",
    "BatchWriter",
    "CheckpointError",
    "ClaimLostError",
    "CursorError",
    "Cursors",
    "Decision",
    "Disposition",
    "EntryState",
    "EvidenceError",
    "EvidenceLabel",
    "HoldRecord",
    "HoldRecordError",
    "HttpOutcome",
    "HttpSender",
    "Hydrated",
    "HydratedPage",
    "IncompleteBatchError",
    "IncompletePagesError",
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
    "OutputError",
    "Page",
    "Pages",
    "PagesResult",
    "PassEvidence",
    "QueryShape",
    "ReadResult",
    "ScanResult",
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
    "batch_reader",
    "batch_writer",
    "client_config",
    "http_outcome",
    "hydrate",
    "iter_read",
    "query_pages",
    "read_batch",
    "read_tables",
    "resume",
    "scan",
    "scan_pages",
    "shadow_read",
    "with_backoff",
    "work",
]
