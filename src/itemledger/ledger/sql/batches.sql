-- name: fetch
SELECT
    b.epoch, o.operation_id, b.kind, b.worker, b.state, b.lease_until, b.items, b.claimed_at, b.token,
    b.dispatched_at, b.ended_at, b.replay_scope, b.replay_safe_until, b.replay_of, b.evidence
FROM itemledger_batch AS b JOIN itemledger_operation AS o ON o.number = b.operation
WHERE b.epoch = :epoch;

-- name: last_epoch
SELECT coalesce(max(epoch), 0) FROM itemledger_batch;

-- name: insert
INSERT INTO itemledger_batch (
    epoch, operation, kind, worker, state, lease_until, items, size, claimed_at, token,
    replay_scope, replay_safe_until, replay_of
) VALUES (
    :epoch, :operation, :kind, :worker, :state, :lease_until, :items, :size, :claimed_at, :token,
    :replay_scope, :replay_safe_until, :replay_of
);

-- name: save
-- Only where the claim still is what the move began from.
UPDATE itemledger_batch SET
    state = :state, lease_until = :lease_until, dispatched_at = :dispatched_at, ended_at = :ended_at,
    replay_scope = :replay_scope, replay_safe_until = :replay_safe_until, evidence = :evidence
WHERE epoch = :epoch AND state = :was;

-- name: held_within_windows
-- The rows of a claim that may be sent only because the provider would recognise them.
SELECT i.number FROM json_each(:items) AS asked CROSS JOIN itemledger_item AS i ON i.number = asked.value
WHERE i.lost_attempts > 0 AND i.replay_until IS NOT NULL
ORDER BY asked.key;

-- name: note_dispatch
INSERT INTO itemledger_history (item, epoch, event, before, after, at)
SELECT i.number, :epoch, :event, i.outcome, :after, :now
FROM json_each(:items) AS asked CROSS JOIN itemledger_item AS i ON i.number = asked.value
ORDER BY asked.key;

-- name: dispatch
-- What ``moves.dispatched`` does, for all rows of the claim at once; only where they still are the claim's.
UPDATE itemledger_item SET outcome = :after, dispatches = dispatches + 1, due_at = NULL, updated_at = :now
WHERE number IN (SELECT value FROM json_each(:items))
    AND epoch = :epoch AND outcome IN (SELECT value FROM json_each(:outcomes));
