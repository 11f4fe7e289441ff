-- Finds the jobs that have keys which were not new, and records a duplicate of each. $1 keys, each once;
-- $2 the ids that were asked for; $3 kind of actor, $4 actor. A job under the very id that was asked for is
-- the one that an earlier call made whose answer was lost: it is returned, and no duplicate.
-- Index: the unique key. Lock: the rows, by ascending id.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now),
found AS MATERIALIZED (
  SELECT j.id, j.idempotency_key, j.id = s.id AS made_before
  FROM unnest($1::text[], $2::uuid[]) AS s (idempotency_key, id)
  JOIN jobs j ON j.idempotency_key = s.idempotency_key
  ORDER BY j.id
  FOR NO KEY UPDATE OF j
),
suppressed AS (
  UPDATE jobs j SET
    event = 'duplicate',
    version = j.version + 1,
    updated_at = greatest(stamp.now, j.updated_at),
    actor_kind = $3,
    actor = $4,
    note = NULL,
    plan = NULL
  FROM found CROSS JOIN stamp
  WHERE j.id = found.id AND NOT found.made_before
)
SELECT id, idempotency_key, made_before FROM found
