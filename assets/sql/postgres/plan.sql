-- One plan. $1 id. Index: plans_pkey. Lock: none.
SELECT p.id, p.operation, p.query, p.reason, p.created_by, p.created_at, p.canary, p.batch_max, p.rate_per_s,
  p.stop_percent, p.state, p.updated_at, p.version, p.batch, p.first_batch, p.batch_jobs, p.chunk, p.total,
  p.waiting, p.open, p.applied, p.succeeded, p.failed, p.stale, p.refused, p.missing, p.executor,
  p.lease_expires_at, p.note
FROM plans p WHERE p.id = $1
