-- Moves the end of leases to $4 ms from now. $1 ids, $2 fences, $3 worker. Returns those that matched; one
-- without a row was not current.
-- Index: jobs_pkey. Lock: the rows of this worker's own jobs.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now)
UPDATE jobs j SET
  event = 'renew',
  version = j.version + 1,
  lease_expires_at = greatest(j.lease_expires_at,
    greatest(stamp.now, j.updated_at) + $4::bigint * interval '1 millisecond'),
  updated_at = greatest(stamp.now, j.updated_at),
  actor_kind = 'worker',
  actor = $3,
  note = NULL,
  plan = NULL
FROM unnest($1::uuid[], $2::integer[]) AS s (id, fence) CROSS JOIN stamp
WHERE j.id = s.id AND j.fence = s.fence AND j.state = 'running' AND j.worker = $3
RETURNING j.id, j.fence, j.state, j.version
