-- Begins an attempt of one named job for a delivery, or records that the delivery was one too many. $1 id,
-- $2 worker, $3 length of the lease in ms. No row: there is no such job, or another writer was quicker.
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
  RETURNING j.*
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
  RETURNING j.*
),
met AS (
  SELECT 1::bigint AS position, * FROM claimed UNION ALL SELECT 0::bigint, * FROM suppressed
)
SELECT
  m.position, m.id, m.state, m.version, m.fence, m.attempt, m.redrives, m.queue, m.kind, m.tenant,
  m.idempotency_key, m.payload, m.schema_version, m.updated_at AS claimed_at, m.lease_expires_at,
  m.first_attempt_at, m.policy, m.policy_version, p.max_attempts, p.max_age_ms, p.backoff_base_ms,
  p.backoff_cap_ms, p.retry_after_cap_ms, p.on_unknown
FROM met m JOIN policies p ON p.name = m.policy AND p.version = m.policy_version
