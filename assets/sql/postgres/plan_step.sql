-- Begins a transaction of an executor: holds the plan, moves the end of the lease to $3 ms from now, and
-- enters batch $4. $1 id, $2 fence. No row: it is not the executor's any more.
-- Index: plans_pkey. Lock: the one row, until the end of the transaction.
UPDATE plans p SET
  lease_expires_at = clock_timestamp() + $3::bigint * interval '1 millisecond',
  batch = $4,
  batch_jobs = CASE WHEN p.batch = $4 THEN p.batch_jobs ELSE 0 END
WHERE p.id = $1 AND p.fence = $2 AND p.state = 'running' AND p.executor IS NOT NULL
RETURNING p.operation, p.created_by, p.reason
