-- One job by its id ($1). Index: jobs_pkey. Lock: none.
SELECT id, idempotency_key, queue, kind, tenant, state, state_since, version, fence, attempt, redrives,
  available_at, output_ref
FROM jobs WHERE id = $1
