-- Takes back the jobs whose lease has run out: ready again, or dead where the budget of the policy is spent.
-- ?1: the actor; ?2: at most so many.
-- Index: jobs_leases. Lock: the writer's.
UPDATE jobs SET
  event = 'lease_expire', actor_kind = 'system', actor = ?1, note = NULL, plan = NULL,
  state = CASE WHEN s.is_spent THEN 'dead' ELSE 'ready' END,
  version = version + 1, updated_at = s.now, state_since = s.now,
  unsettled = unsettled + 1, worker = NULL, lease_expires_at = NULL,
  error_class = 'transient', reason = 'lease_expired',
  error = 'the lease ran out before the attempt was settled'
FROM (
  SELECT e.id, e.now,
    e.attempt >= p.max_attempts OR e.now > e.first_attempt_at + p.max_age_ms AS is_spent
  FROM (
    SELECT id, attempt, first_attempt_at, policy, policy_version,
      max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at) AS now
    FROM jobs
    WHERE state = 'running'
      AND lease_expires_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
    ORDER BY lease_expires_at, id LIMIT ?2 + 0
  ) e
  CROSS JOIN policies p ON p.name = e.policy AND p.version = e.policy_version
) s
WHERE jobs.id = s.id
