-- Where a plan stands: its row, the jobs of the batch under way, and the age of its last transaction. ?1 id.
-- Index: id, plan_jobs_open, plan_jobs_failed. Lock: none.
SELECT p.id, p.operation, p.query, p.reason, p.created_by, p.created_at, p.canary, p.batch_max, p.rate_per_s,
  p.stop_percent, p.state, p.updated_at, p.version, p.batch, p.first_batch, p.batch_jobs, p.chunk, p.total,
  p.waiting, p.open, p.applied, p.succeeded, p.failed, p.stale, p.refused, p.missing, p.executor,
  p.lease_expires_at, p.note,
  (SELECT count(*) FROM plan_jobs x WHERE x.plan = p.id AND x.outcome = 'open'
    AND x.batch = p.batch) AS batch_open,
  (SELECT count(*) FROM plan_jobs x WHERE x.plan = p.id AND x.outcome = 'failed'
    AND x.batch = p.batch) AS batch_failed,
  coalesce(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) - p.chunk_at, 0) AS chunk_age_ms
FROM plans p WHERE p.id = ?1
