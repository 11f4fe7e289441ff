-- Claims one named job, if it is ready. ?1: the job; ?2: the worker; ?3: the lease in ms.
-- Index: id. Lock: the writer's.
UPDATE jobs SET
  event = 'claim', state = 'running', actor_kind = 'worker', actor = ?2, note = NULL, plan = NULL,
  worker = ?2, version = version + 1, fence = fence + 1, attempt = attempt + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  state_since = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  first_attempt_at = coalesce(first_attempt_at,
    max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)),
  lease_expires_at = ?3
    + max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)
WHERE id = ?1 AND state = 'ready'
RETURNING id, fence, version, attempt, redrives, queue, kind, tenant, idempotency_key, payload,
  schema_version, state_since, lease_expires_at, first_attempt_at, policy, policy_version
