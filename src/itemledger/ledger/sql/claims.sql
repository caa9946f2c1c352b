-- name: lapsed
SELECT epoch FROM itemledger_batch INDEXED BY itemledger_batch_open
WHERE operation = :operation AND state IN ('claimed', 'dispatched') AND lease_until <= :now
ORDER BY epoch;

-- name: late
SELECT number FROM itemledger_item INDEXED BY itemledger_item_late
WHERE operation = :operation
    AND late_epoch IS NOT NULL AND epoch IS NULL AND outcome IN ('retryable', 'reconcile')
ORDER BY number;

-- name: replays
-- The batches that rows would have to be sent in again as they were: how large, how many of their rows are still in
-- that replay and wait for no person, how many of those are free to go, and when the last of them is due.
SELECT i.replay_of, b.size, sum(i.review IS NULL), sum(i.outcome = 'retryable' AND i.epoch IS NULL AND i.due_at IS NOT NULL),
    max(i.due_at)
FROM itemledger_item AS i INDEXED BY itemledger_item_replay
JOIN itemledger_batch AS b ON b.epoch = i.replay_of
WHERE i.operation = :operation AND i.replay_of IS NOT NULL AND i.outcome NOT IN ('succeeded', 'terminal')
GROUP BY i.replay_of;

-- name: of_broken_replays
SELECT number FROM itemledger_item INDEXED BY itemledger_item_replay
WHERE operation = :operation AND replay_of IN (SELECT value FROM json_each(:broken))
    AND replay_of IS NOT NULL AND outcome NOT IN ('succeeded', 'terminal')
    AND outcome = 'retryable' AND epoch IS NULL;

-- name: windows_closing
SELECT number FROM itemledger_item INDEXED BY itemledger_item_window
WHERE operation = :operation AND replay_until <= :moment
    AND outcome = 'retryable' AND epoch IS NULL AND lost_attempts > 0 AND replay_until IS NOT NULL;

-- name: given_up
-- Rows that may be done and will not be sent again.
SELECT number FROM itemledger_item INDEXED BY itemledger_item_attempts
WHERE operation = :operation AND attempts >= :max_attempts
    AND outcome IN ('pending', 'retryable') AND epoch IS NULL AND attempts > 0
    AND outcome = 'retryable' AND lost_attempts > 0
UNION
SELECT number FROM itemledger_item INDEXED BY itemledger_item_lapses
WHERE operation = :operation AND lapses >= :max_lapses
    AND outcome IN ('pending', 'retryable', 'reconcile') AND epoch IS NULL AND lapses > 0
    AND outcome = 'retryable' AND lost_attempts > 0
ORDER BY number;

-- name: attempts_used_up
SELECT number, due_at FROM itemledger_item INDEXED BY itemledger_item_attempts
WHERE operation = :operation AND attempts >= :most
    AND outcome IN ('pending', 'retryable') AND epoch IS NULL AND attempts > 0
    AND due_at <= :now
ORDER BY due_at, number LIMIT :limit;

-- name: lapses_used_up
SELECT number, due_at FROM itemledger_item INDEXED BY itemledger_item_lapses
WHERE operation = :operation AND lapses >= :most
    AND outcome IN ('pending', 'retryable', 'reconcile') AND epoch IS NULL AND lapses > 0
    AND outcome IN (SELECT value FROM json_each(:outcomes)) AND due_at <= :now
ORDER BY due_at, number LIMIT :limit;

-- name: look_ups_used_up
SELECT number, due_at FROM itemledger_item INDEXED BY itemledger_item_look_ups
WHERE operation = :operation AND look_ups >= :most
    AND outcome = 'reconcile' AND epoch IS NULL AND look_ups > 0
    AND due_at <= :now
ORDER BY due_at, number LIMIT :limit;

-- name: due_reconcile
SELECT number FROM itemledger_item INDEXED BY itemledger_item_reconcile
WHERE operation = :operation AND due_at <= :now
    AND outcome = 'reconcile' AND epoch IS NULL AND due_at IS NOT NULL
    AND look_ups < :max_look_ups AND lapses < :max_lapses
ORDER BY due_at, number LIMIT :limit;

-- name: due_retryable
SELECT number FROM itemledger_item INDEXED BY itemledger_item_retryable
WHERE operation = :operation AND due_at <= :now
    AND outcome = 'retryable' AND epoch IS NULL AND due_at IS NOT NULL
    AND attempts < :max_attempts AND lapses < :max_lapses
    AND (replay_of IS NULL OR replay_of IN (SELECT value FROM json_each(:whole)))
ORDER BY due_at, number LIMIT :limit;

-- name: due_pending
SELECT number FROM itemledger_item INDEXED BY itemledger_item_pending
WHERE operation = :operation AND due_at <= :now
    AND outcome = 'pending' AND epoch IS NULL AND due_at IS NOT NULL
    AND attempts < :max_attempts AND lapses < :max_lapses
ORDER BY due_at, number LIMIT :limit;

-- name: take
-- What ``moves.claimed`` does, for all rows of the claim at once; only where they are free yet.
UPDATE itemledger_item SET
    epoch = :epoch, last_epoch = :epoch, claims = claims + 1, attempts = attempts + :sends,
    look_ups = look_ups + :look_ups, updated_at = :now
WHERE number IN (SELECT value FROM json_each(:items))
    AND epoch IS NULL AND outcome IN (SELECT value FROM json_each(:outcomes));

-- name: next_pending
SELECT min(due_at) FROM itemledger_item INDEXED BY itemledger_item_pending
WHERE operation = :operation AND outcome = 'pending' AND epoch IS NULL AND due_at IS NOT NULL;

-- name: next_retryable
SELECT due_at FROM itemledger_item INDEXED BY itemledger_item_retryable
WHERE operation = :operation AND outcome = 'retryable' AND epoch IS NULL AND due_at IS NOT NULL
    AND replay_of IS NULL
ORDER BY due_at LIMIT 1;

-- name: next_reconcile
SELECT min(due_at) FROM itemledger_item INDEXED BY itemledger_item_reconcile
WHERE operation = :operation AND outcome = 'reconcile' AND epoch IS NULL AND due_at IS NOT NULL;

-- name: next_lease
SELECT min(lease_until) FROM itemledger_batch INDEXED BY itemledger_batch_open
WHERE operation = :operation AND state IN ('claimed', 'dispatched');
