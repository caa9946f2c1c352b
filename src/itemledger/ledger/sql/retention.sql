-- name: last_window
-- The end of the last provider window among the sends of each row of a page; without one there is no line.
SELECT h.item, max(b.replay_safe_until)
FROM json_each(:numbers) AS asked
CROSS JOIN itemledger_history AS h INDEXED BY itemledger_history_item ON h.item = asked.value
CROSS JOIN itemledger_batch AS b ON b.epoch = h.epoch
WHERE b.replay_safe_until IS NOT NULL
GROUP BY h.item;

-- name: delete_history
DELETE FROM itemledger_history WHERE item IN (SELECT value FROM json_each(:numbers));

-- name: delete_payloads
DELETE FROM itemledger_payload WHERE item IN (SELECT value FROM json_each(:numbers));

-- name: delete_items
DELETE FROM itemledger_item WHERE number IN (SELECT value FROM json_each(:numbers));

-- name: delete_claims
-- Not the last one of all: the next epoch is counted from it.
DELETE FROM itemledger_batch
WHERE operation = :operation AND state NOT IN ('claimed', 'dispatched')
    AND epoch < (SELECT max(epoch) FROM itemledger_batch)
    AND NOT EXISTS (SELECT 1 FROM json_each(items) AS held JOIN itemledger_item AS i ON i.number = held.value);
