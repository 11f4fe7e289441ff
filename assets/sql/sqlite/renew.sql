-- Moves the end of leases. ?1: JSON array of [job, fence]; ?2: the worker; ?3: the lease in ms. A lease is
-- never shortened. Returns the rows that were renewed.
-- Index: id. Lock: the writer's.
UPDATE jobs SET
  event = 'renew', actor_kind = 'worker', actor = ?2, note = NULL, plan = NULL,
  version = version + 1, updated_at = s.now,
  lease_expires_at = max(lease_expires_at, s.now + ?3)
FROM (
  SELECT
    j.id, j.fence,
    max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), j.updated_at) AS now
  FROM json_each(?1) v
  CROSS JOIN jobs j ON j.id = v.value ->> 0
  WHERE j.fence = v.value ->> 1 AND j.state = 'running' AND j.worker = ?2
) s
WHERE jobs.id = s.id
RETURNING id, fence, state, version
