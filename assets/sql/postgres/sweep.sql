-- One sweep of housekeeping: what is due becomes ready, leases that ran out are taken back, parents whose
-- required children have all succeeded become ready. $1 actor, $2 the most jobs of each kind.
-- The jobs found are named by arrays: joined, their number would be guessed as a tenth of all that wait.
-- Index: jobs_waiting, jobs_leases, jobs_parents with jobs_open_children. Lock: the rows moved; skips rows
-- that others hold, so that sweeps of several processes share the work and wait for nobody.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now),
due AS MATERIALIZED (
  SELECT id FROM jobs
  WHERE (state = 'retry_wait' OR state = 'pending' AND NOT awaits_children)
    AND available_at <= (SELECT now FROM stamp)
  ORDER BY available_at, id
  LIMIT $2
  FOR NO KEY UPDATE SKIP LOCKED
),
made_ready AS (
  UPDATE jobs j SET
    event = 'due', state = 'ready', version = j.version + 1,
    state_since = greatest(stamp.now, j.updated_at),
    updated_at = greatest(stamp.now, j.updated_at),
    actor_kind = 'system', actor = $1, note = NULL, plan = NULL
  FROM stamp
  WHERE j.id = ANY (ARRAY(SELECT id FROM due))
  RETURNING 1
),
overdue AS MATERIALIZED (
  SELECT id FROM jobs
  WHERE state = 'running' AND lease_expires_at <= (SELECT now FROM stamp)
  ORDER BY lease_expires_at, id
  LIMIT $2
  FOR NO KEY UPDATE SKIP LOCKED
),
expired AS (
  UPDATE jobs j SET
    event = 'lease_expire',
    state = CASE WHEN j.attempt >= p.max_attempts OR greatest(stamp.now, j.updated_at)
        > j.first_attempt_at + p.max_age_ms * interval '1 millisecond'
      THEN 'dead' ELSE 'ready' END,
    version = j.version + 1,
    state_since = greatest(stamp.now, j.updated_at),
    updated_at = greatest(stamp.now, j.updated_at),
    error_class = 'transient',
    reason = 'lease_expired',
    error = 'the lease ran out before the attempt was settled',
    unsettled = j.unsettled + 1,
    worker = NULL, lease_expires_at = NULL,
    actor_kind = 'system', actor = $1, note = NULL, plan = NULL
  FROM stamp CROSS JOIN policies p
  WHERE j.id = ANY (ARRAY(SELECT id FROM overdue))
    AND p.name = j.policy AND p.version = j.policy_version
  RETURNING 1
),
complete AS MATERIALIZED (
  SELECT j.id, j.idempotency_key FROM jobs j
  WHERE j.state = 'pending' AND j.awaits_children AND j.available_at <= (SELECT now FROM stamp)
    AND NOT EXISTS (
      SELECT 1 FROM jobs c
      WHERE c.parent_key = j.idempotency_key AND c.required AND c.state <> 'succeeded')
  ORDER BY j.id
  LIMIT $2
  FOR NO KEY UPDATE OF j SKIP LOCKED
),
-- Not those whose children are on their way in a transaction that has not ended: see ledger_family.
alone AS MATERIALIZED (
  SELECT c.id FROM complete c WHERE pg_try_advisory_xact_lock(ledger_family(c.idempotency_key))
),
released AS (
  UPDATE jobs j SET
    event = 'children_done', state = 'ready', version = j.version + 1,
    state_since = greatest(stamp.now, j.updated_at),
    updated_at = greatest(stamp.now, j.updated_at),
    actor_kind = 'system', actor = $1, note = NULL, plan = NULL
  FROM stamp
  WHERE j.id = ANY (ARRAY(SELECT id FROM alone))
  RETURNING 1
)
SELECT (SELECT count(*) FROM made_ready) AS due, (SELECT count(*) FROM expired) AS expired,
  (SELECT count(*) FROM released) AS parents
