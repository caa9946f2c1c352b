"""The durable outcome ledger: one row for every item before the call, and exactly one outcome for each after it."""

from itemledger.core.batches import HistoryEntry
from itemledger.core.outcome import Event, Outcome
from itemledger.core.policy import OnUnknown, Policy
from itemledger.core.report_check import Report, verify_report
from itemledger.core.rows import Conflict, Decided, FormerPolicy, Operation, Pruned, Review, Row, Source
from itemledger.core.worker_steps import Alert
from itemledger.core.write_api import Effect, Replay, Scope, Verdict
from itemledger.ledger.ledger import Ledger
from itemledger.ledger.memory import MemoryStore
from itemledger.ledger.opening import open_ledger
from itemledger.ledger.own import OwnBatch
from itemledger.ledger.own_api import OwnApi
from itemledger.ledger.planning import PlanResult, new_item, stored
from itemledger.ledger.sqlite import SqliteStore
from itemledger.ledger.stats import Stats
from itemledger.ledger.store import Store

__all__ = [
    "Alert",
    "Conflict",
    "Decided",
    "Effect",
    "Event",
    "FormerPolicy",
    "HistoryEntry",
    "Ledger",
    "MemoryStore",
    "OnUnknown",
    "Operation",
    "Outcome",
    "OwnApi",
    "OwnBatch",
    "PlanResult",
    "Policy",
    "Pruned",
    "Replay",
    "Report",
    "Review",
    "Row",
    "Scope",
    "Source",
    "SqliteStore",
    "Stats",
    "Store",
    "Verdict",
    "new_item",
    "open_ledger",
    "stored",
    "verify_report",
]
