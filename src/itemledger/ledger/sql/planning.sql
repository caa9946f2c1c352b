-- name: note_planned
INSERT INTO itemledger_history (item, event, after, at)
SELECT number, 'planned', 'pending', :now FROM itemledger_item WHERE number > :last ORDER BY number;

-- name: path
SELECT number FROM itemledger_path WHERE path = :path;

-- name: insert_path
INSERT INTO itemledger_path (path) VALUES (:path) ON CONFLICT DO NOTHING;

-- name: move_source
UPDATE itemledger_item SET path = ?, path_offset = ?, path_length = ? WHERE number = ?;

-- name: put_payload
INSERT INTO itemledger_payload (item, payload) VALUES (?, ?)
ON CONFLICT (item) DO UPDATE SET payload = excluded.payload;

-- name: drop_payload
DELETE FROM itemledger_payload WHERE item = ?;
