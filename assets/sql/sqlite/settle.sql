-- Settles attempts. ?1: JSON array of [job, fence, verdict, class, reason, error, delay in ms, output_ref]; ?2:
-- the worker. Whether a retry is still within the budgets of the job's policy is decided here, and the
-- moment of the next attempt is kept either way. Returns the rows that were settled.
-- Index: id. Lock: the writer's.
UPDATE jobs SET
  event = s.event,
  state = CASE s.event
    WHEN 'succeed' THEN 'succeeded' WHEN 'retry' THEN 'retry_wait' WHEN 'exhaust' THEN 'dead'
    WHEN 'reject' THEN 'quarantined' ELSE 'ready' END,
  state_since = s.now, updated_at = s.now, version = version + 1,
  actor_kind = 'worker', actor = ?2, note = NULL, plan = NULL,
  worker = NULL, lease_expires_at = NULL,
  attempt = attempt - (s.event = 'release'),
  available_at = CASE WHEN s.event IN ('retry', 'exhaust') THEN s.next ELSE available_at END,
  output_ref = CASE s.event WHEN 'succeed' THEN s.output_ref ELSE jobs.output_ref END,
  error_class = CASE WHEN s.event IN ('retry', 'exhaust', 'reject') THEN s.class ELSE error_class END,
  reason = CASE WHEN s.event IN ('retry', 'exhaust', 'reject') THEN s.reason ELSE jobs.reason END,
  error = CASE WHEN s.event IN ('retry', 'exhaust', 'reject') THEN s.error ELSE jobs.error END
FROM (
  SELECT
    a.id, a.fence, a.now, a.next, a.class, a.reason, a.error, a.output_ref,
    CASE WHEN a.verdict = 'retry'
      AND (a.attempt >= p.max_attempts OR a.next > a.first_attempt_at + p.max_age_ms)
      THEN 'exhaust' ELSE a.verdict END AS event
  FROM (
    SELECT
      j.id, j.fence, j.attempt, j.first_attempt_at, j.policy, j.policy_version,
      v.value ->> 2 AS verdict, v.value ->> 3 AS class, v.value ->> 4 AS reason,
      v.value ->> 5 AS error, v.value ->> 7 AS output_ref,
      max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), j.updated_at) AS now,
      max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), j.updated_at)
        + (v.value ->> 6) AS next
    FROM json_each(?1) v
    CROSS JOIN jobs j ON j.id = v.value ->> 0
    WHERE j.fence = v.value ->> 1 AND j.state = 'running' AND j.worker = ?2
  ) a
  CROSS JOIN policies p ON p.name = a.policy AND p.version = a.policy_version
) s
WHERE jobs.id = s.id
RETURNING id, fence, state, version
