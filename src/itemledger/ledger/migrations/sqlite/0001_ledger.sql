-- The ledger's tables. They may stand in the caller's own database, hence the prefix and a version of their own.
-- Outcomes and states are words, so that a person with a SQL shell can read them; the law is in core/outcome.py.

CREATE TABLE itemledger_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE itemledger_operation (
    number INTEGER PRIMARY KEY,
    operation_id TEXT NOT NULL UNIQUE,
    api TEXT NOT NULL,
    target TEXT NOT NULL,
    policy TEXT NOT NULL,
    effect TEXT NOT NULL,
    created_at REAL NOT NULL,
    planned_at REAL,
    endpoint TEXT,
    former TEXT NOT NULL
);

-- The files that payloads are in: a million rows name the same one.
CREATE TABLE itemledger_path (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE
);

-- Payloads kept in the ledger. Not in the item's row, which is rewritten at each of its transitions.
CREATE TABLE itemledger_payload (
    item INTEGER PRIMARY KEY,
    payload BLOB NOT NULL
);

-- AUTOINCREMENT: the number of a pruned row must not come again, since compositions of batches name it.
CREATE TABLE itemledger_item (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    operation INTEGER NOT NULL,
    item_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL UNIQUE,
    payload_hash TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    path INTEGER,
    path_offset INTEGER NOT NULL,
    path_length INTEGER NOT NULL,
    group_id TEXT,
    outcome TEXT NOT NULL,
    epoch INTEGER,
    last_epoch INTEGER,
    attempts INTEGER NOT NULL,
    claims INTEGER NOT NULL,
    lapses INTEGER NOT NULL,
    look_ups INTEGER NOT NULL,
    lost_attempts INTEGER NOT NULL,
    due_at REAL,
    replay_until REAL,
    replay_of INTEGER,
    late_epoch INTEGER,
    batch_limit INTEGER,
    possible_duplicates INTEGER NOT NULL,
    dispatches INTEGER NOT NULL,
    request_id TEXT,
    object_ref TEXT,
    error_code TEXT,
    error_message TEXT,
    review TEXT,
    updated_at REAL NOT NULL,
    UNIQUE (operation, item_id)
);

-- A claim: lease, composition, token and the evidence of its call once for all its items, which point to it by epoch.
CREATE TABLE itemledger_batch (
    epoch INTEGER PRIMARY KEY,
    operation INTEGER NOT NULL,
    kind TEXT NOT NULL,
    worker TEXT NOT NULL,
    state TEXT NOT NULL,
    lease_until REAL NOT NULL,
    items TEXT NOT NULL,
    size INTEGER NOT NULL,
    claimed_at REAL NOT NULL,
    token TEXT NOT NULL,
    dispatched_at REAL,
    ended_at REAL,
    replay_scope TEXT,
    replay_safe_until REAL,
    replay_of INTEGER,
    evidence TEXT
);

CREATE TABLE itemledger_history (
    number INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    epoch INTEGER,
    event TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL,
    at REAL NOT NULL,
    detail TEXT
);

CREATE INDEX itemledger_history_item ON itemledger_history (item);

CREATE INDEX itemledger_item_operation ON itemledger_item (operation);

-- Partial indexes, each of the few rows that one question is about. SQLite takes one only where the query repeats its
-- conditions, states as literals.
CREATE INDEX itemledger_item_pending ON itemledger_item (operation, due_at)
    WHERE outcome = 'pending' AND epoch IS NULL AND due_at IS NOT NULL;
CREATE INDEX itemledger_item_retryable ON itemledger_item (operation, due_at)
    WHERE outcome = 'retryable' AND epoch IS NULL AND due_at IS NOT NULL;
CREATE INDEX itemledger_item_reconcile ON itemledger_item (operation, due_at)
    WHERE outcome = 'reconcile' AND epoch IS NULL AND due_at IS NOT NULL;

CREATE INDEX itemledger_item_attempts ON itemledger_item (operation, attempts)
    WHERE outcome IN ('pending', 'retryable') AND epoch IS NULL AND attempts > 0;
CREATE INDEX itemledger_item_lapses ON itemledger_item (operation, lapses)
    WHERE outcome IN ('pending', 'retryable', 'reconcile') AND epoch IS NULL AND lapses > 0;
CREATE INDEX itemledger_item_look_ups ON itemledger_item (operation, look_ups)
    WHERE outcome = 'reconcile' AND epoch IS NULL AND look_ups > 0;

CREATE INDEX itemledger_item_late ON itemledger_item (operation)
    WHERE late_epoch IS NOT NULL AND epoch IS NULL AND outcome IN ('retryable', 'reconcile');
CREATE INDEX itemledger_item_window ON itemledger_item (operation, replay_until)
    WHERE outcome = 'retryable' AND epoch IS NULL AND lost_attempts > 0 AND replay_until IS NOT NULL;
CREATE INDEX itemledger_item_replay ON itemledger_item (operation, replay_of, outcome, epoch, due_at, review)
    WHERE replay_of IS NOT NULL AND outcome NOT IN ('succeeded', 'terminal');

CREATE INDEX itemledger_item_group ON itemledger_item (operation, group_id)
    WHERE group_id IS NOT NULL AND outcome NOT IN ('succeeded', 'terminal');
CREATE INDEX itemledger_item_review ON itemledger_item (operation)
    WHERE review IS NOT NULL;
CREATE INDEX itemledger_batch_open ON itemledger_batch (operation, lease_until)
    WHERE state IN ('claimed', 'dispatched');
