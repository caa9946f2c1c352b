-- name: fetch
-- Whole rows, in the order of the numbers asked for.
SELECT
    i.number, o.operation_id, i.item_id, i.idempotency_key, i.payload_hash, i.size_bytes,
    f.path, i.path_offset, i.path_length, p.payload,
    i.outcome, i.updated_at, i.group_id, i.epoch, i.last_epoch, i.attempts, i.claims, i.look_ups, i.lost_attempts,
    i.due_at, i.replay_until, i.replay_of, i.late_epoch, i.batch_limit, i.possible_duplicates,
    i.request_id, i.object_ref, i.error_code, i.error_message, i.review, i.dispatches, i.lapses
FROM json_each(:numbers) AS asked
CROSS JOIN itemledger_item AS i ON i.number = asked.value
CROSS JOIN itemledger_operation AS o ON o.number = i.operation
LEFT JOIN itemledger_path AS f ON f.number = i.path
LEFT JOIN itemledger_payload AS p ON p.item = i.number
ORDER BY asked.key;

-- name: by_item_id
SELECT number FROM itemledger_item WHERE operation = :operation AND item_id = :item_id;

-- name: find
SELECT i.number FROM itemledger_operation AS o JOIN itemledger_item AS i ON i.operation = o.number
WHERE o.operation_id = :operation_id AND i.item_id = :item_id;

-- name: by_key
SELECT number FROM itemledger_item WHERE idempotency_key = :idempotency_key;

-- name: page
SELECT number FROM itemledger_item
WHERE number > :after AND (:outcome IS NULL OR outcome = :outcome)
ORDER BY number LIMIT :limit;

-- name: page_of_operation
SELECT number FROM itemledger_item INDEXED BY itemledger_item_operation
WHERE operation = :operation AND number > :after AND (:outcome IS NULL OR outcome = :outcome)
ORDER BY number LIMIT :limit;

-- name: page_in_review
SELECT number FROM itemledger_item INDEXED BY itemledger_item_review
WHERE review IS NOT NULL AND number > :after AND (:outcome IS NULL OR outcome = :outcome)
ORDER BY number LIMIT :limit;

-- name: page_of_operation_in_review
SELECT number FROM itemledger_item INDEXED BY itemledger_item_review
WHERE operation = :operation AND review IS NOT NULL AND number > :after AND (:outcome IS NULL OR outcome = :outcome)
ORDER BY number LIMIT :limit;

-- name: counts
SELECT outcome, count(*) FROM itemledger_item INDEXED BY itemledger_item_operation
WHERE operation = :operation GROUP BY outcome;

-- name: reviews
SELECT count(*) FROM itemledger_item INDEXED BY itemledger_item_review
WHERE operation = :operation AND review IS NOT NULL;

-- name: insert
-- Nothing happens where the idempotency key or the item id is taken: numbers tell what was inserted.
INSERT INTO itemledger_item (
    number, operation, item_id, idempotency_key, payload_hash, size_bytes, path, path_offset, path_length, group_id,
    outcome, updated_at, epoch, last_epoch, attempts, claims, look_ups, lost_attempts,
    due_at, replay_until, replay_of, late_epoch, batch_limit, possible_duplicates,
    request_id, object_ref, error_code, error_message, review, dispatches, lapses
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: last_number
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'itemledger_item'), 0);

-- name: inserted
SELECT number FROM itemledger_item WHERE number > :last;

-- name: save
-- Only where the row still is what the move began from.
UPDATE itemledger_item SET
    outcome = ?, updated_at = ?, epoch = ?, last_epoch = ?, attempts = ?, claims = ?, look_ups = ?, lost_attempts = ?,
    due_at = ?, replay_until = ?, replay_of = ?, late_epoch = ?, batch_limit = ?, possible_duplicates = ?,
    request_id = ?, object_ref = ?, error_code = ?, error_message = ?, review = ?, dispatches = ?, lapses = ?
WHERE number = ? AND epoch IS ? AND outcome = ?;

-- name: note
INSERT INTO itemledger_history (item, epoch, event, before, after, at, detail) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: wake
-- The first of a group that is not final may go, if it was never sent and nobody has it.
UPDATE itemledger_item SET due_at = :now
WHERE number = (
    SELECT number FROM itemledger_item INDEXED BY itemledger_item_group
    WHERE operation = :operation AND group_id = :group_id
        AND group_id IS NOT NULL AND outcome NOT IN ('succeeded', 'terminal')
    ORDER BY number LIMIT 1
) AND outcome = 'pending' AND epoch IS NULL AND due_at IS NULL AND review IS NULL;

-- name: history
SELECT h.number, h.item, h.epoch, h.event, h.before, h.after, h.at, h.detail, b.evidence
FROM itemledger_history AS h LEFT JOIN itemledger_batch AS b ON b.epoch = h.epoch
WHERE h.item = :number ORDER BY h.number;
