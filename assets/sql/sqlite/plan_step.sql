-- Begins a transaction of an executor: holds the plan, moves the end of the lease to ?3 ms from now, and
-- enters batch ?4. ?1 id, ?2 fence. No row: it is not the executor's any more.
-- Index: id. Lock: the writer's.
UPDATE plans SET
  lease_expires_at = CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) + ?3,
  batch = ?4,
  batch_jobs = CASE WHEN batch = ?4 THEN batch_jobs ELSE 0 END
WHERE id = ?1 AND fence = ?2 AND state = 'running' AND executor IS NOT NULL
RETURNING operation, created_by, reason
