-- name: is_there
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'itemledger_meta';

-- name: version
SELECT value FROM itemledger_meta WHERE name = 'schema_version';

-- name: set_version
INSERT INTO itemledger_meta (name, value) VALUES ('schema_version', :version)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: set_ledger_id
INSERT INTO itemledger_meta (name, value) VALUES ('ledger_id', :ledger_id) ON CONFLICT (name) DO NOTHING;

-- name: ledger_id
SELECT value FROM itemledger_meta WHERE name = 'ledger_id';

-- name: is_this_ledger
-- A write that changes nothing: it takes the write lock before anything is read.
UPDATE itemledger_meta SET value = value WHERE name = 'ledger_id' AND value = :ledger_id;
