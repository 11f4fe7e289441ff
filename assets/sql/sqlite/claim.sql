-- Claims the oldest ready jobs of one lane. ?1: queue; ?2: tenant; ?3: how many; ?4: the worker; ?5: the
-- lease in ms.
-- Index: jobs_ready. Lock: the writer's.
UPDATE jobs SET
  event = 'claim', state = 'running', actor_kind = 'worker', actor = ?4, note = NULL, plan = NULL,
  worker = ?4, version = version + 1, fence = fence + 1, attempt = attempt + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  state_since = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  first_attempt_at = coalesce(first_attempt_at,
    max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)),
  lease_expires_at = ?5
    + max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)
WHERE id IN (
  SELECT id FROM jobs WHERE state = 'ready' AND queue = ?1 AND tenant = ?2
  ORDER BY state_since, id LIMIT ?3 + 0)
RETURNING id, fence, version, attempt, redrives, queue, kind, tenant, idempotency_key, payload,
  schema_version, state_since, lease_expires_at, first_attempt_at, policy, policy_version
