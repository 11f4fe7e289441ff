-- Records that settles or renewals of leases that are not current were refused. $1 ids, each once; $2
-- worker. Returns the jobs as they are.
-- Index: jobs_pkey. Lock: the rows, by ascending id.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now),
found AS MATERIALIZED (
  SELECT id FROM jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
)
UPDATE jobs j SET
  event = 'stale_refused',
  version = j.version + 1,
  updated_at = greatest(stamp.now, j.updated_at),
  actor_kind = 'worker',
  actor = $2,
  note = NULL,
  plan = NULL
FROM found CROSS JOIN stamp
WHERE j.id = found.id
RETURNING j.id, j.state, j.version
