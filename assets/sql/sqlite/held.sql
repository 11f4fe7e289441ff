-- The running jobs whose lease a worker holds, as a claim returns them. ?1: the worker; ?2: at most so many.
-- Index: jobs_leases, all of its entries. Lock: none beyond the transaction's.
SELECT id, fence, version, attempt, redrives, queue, kind, tenant, idempotency_key, payload,
  schema_version, state_since, lease_expires_at, first_attempt_at, policy, policy_version
FROM jobs
WHERE state = 'running'
  AND lease_expires_at > CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
  AND worker = ?1
ORDER BY lease_expires_at, id
LIMIT ?2 + 0
