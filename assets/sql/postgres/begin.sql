-- Begins an attempt of one named job for a delivery, or records that the delivery was one too many. $1 id,
-- $2 worker, $3 length of the lease in ms. A row without a fence is the delivery too many. No row: there is no
-- such job, or another writer was quicker.
-- Index: jobs_pkey. Lock: the one row.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now),
claimed AS (
  UPDATE jobs j SET
    event = 'claim',
    state = 'running',
    version = j.version + 1,
    fence = j.fence + 1,
    attempt = j.attempt + 1,
    first_attempt_at = coalesce(j.first_attempt_at, greatest(stamp.now, j.updated_at)),
    state_since = greatest(stamp.now, j.updated_at),
    updated_at = greatest(stamp.now, j.updated_at),
    worker = $2,
    lease_expires_at = greatest(stamp.now, j.updated_at) + $3::bigint * interval '1 millisecond',
    actor_kind = 'worker',
    actor = $2,
    note = NULL,
    plan = NULL
  FROM stamp
  WHERE j.id = $1 AND j.state = 'ready'
  RETURNING j.id, j.state, j.version, j.fence, j.attempt, j.redrives, j.queue, j.kind, j.tenant,
    j.idempotency_key, j.payload, j.schema_version, j.updated_at AS claimed_at, j.lease_expires_at,
    j.first_attempt_at, j.policy, j.policy_version
),
suppressed AS (
  UPDATE jobs j SET
    event = 'duplicate',
    version = j.version + 1,
    updated_at = greatest(stamp.now, j.updated_at),
    actor_kind = 'worker',
    actor = $2,
    note = NULL,
    plan = NULL
  FROM stamp
  WHERE j.id = $1 AND j.state <> 'ready'
  RETURNING j.id, j.state, j.version
)
SELECT * FROM claimed
UNION ALL
SELECT
  id, state, version, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM suppressed
