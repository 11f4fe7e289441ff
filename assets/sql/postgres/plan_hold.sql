-- Moves the end of an executor's lease on a plan to $3 ms from now. $1 id, $2 fence. No row: it is not the
-- executor's any more.
-- Index: plans_pkey. Lock: the one row.
UPDATE plans p SET lease_expires_at = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE p.id = $1 AND p.fence = $2 AND p.state = 'running' AND p.executor IS NOT NULL
RETURNING p.operation
