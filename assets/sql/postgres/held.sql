-- The running jobs whose lease a worker holds, at most $2, as a claim returns them. $1 worker.
-- Index: jobs_leases, all of its entries. Lock: none.
SELECT j.id, j.fence, j.version, j.attempt, j.redrives, j.queue, j.kind, j.tenant, j.idempotency_key,
  j.payload, j.schema_version, j.state_since AS claimed_at, j.lease_expires_at, j.first_attempt_at,
  j.policy, j.policy_version
FROM jobs j
WHERE j.state = 'running' AND j.lease_expires_at > clock_timestamp() AND j.worker = $1
ORDER BY j.lease_expires_at, j.id
LIMIT $2
