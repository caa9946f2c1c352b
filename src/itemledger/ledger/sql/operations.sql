-- name: all
SELECT number, operation_id, api, target, policy, effect, created_at, planned_at, endpoint, former
FROM itemledger_operation ORDER BY number;

-- name: named
SELECT number, operation_id, api, target, policy, effect, created_at, planned_at, endpoint, former
FROM itemledger_operation
WHERE operation_id = :operation_id;

-- name: of_batch
SELECT o.number, o.operation_id, o.api, o.target, o.policy, o.effect, o.created_at, o.planned_at, o.endpoint, o.former
FROM itemledger_batch AS b JOIN itemledger_operation AS o ON o.number = b.operation
WHERE b.epoch = :epoch;

-- name: insert
INSERT INTO itemledger_operation (operation_id, api, target, policy, effect, created_at, planned_at, endpoint, former)
VALUES (:operation_id, :api, :target, :policy, :effect, :created_at, :planned_at, :endpoint, :former);

-- name: save
UPDATE itemledger_operation SET policy = :policy, endpoint = :endpoint, former = :former WHERE number = :number;

-- name: end_planning
UPDATE itemledger_operation SET planned_at = :now WHERE number = :operation AND planned_at IS NULL;
