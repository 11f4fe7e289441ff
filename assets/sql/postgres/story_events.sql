-- Events of one job ($1) in order of version: those up to $2 and those from $3 on.
-- Index: job_events (job_id, version). Lock: none.
SELECT job_id, version, event, from_state, to_state, at, from_since, queue, attempt, fence, actor_kind, actor,
  worker, error_class, reason, error, note, policy, policy_version, first_attempt_at, available_at,
  lease_expires_at, from_lease_expires_at, output_ref, plan::text AS plan
FROM job_events WHERE job_id = $1 AND version <= $2
UNION ALL
SELECT job_id, version, event, from_state, to_state, at, from_since, queue, attempt, fence, actor_kind, actor,
  worker, error_class, reason, error, note, policy, policy_version, first_attempt_at, available_at,
  lease_expires_at, from_lease_expires_at, output_ref, plan::text AS plan
FROM job_events WHERE job_id = $1 AND version >= $3
ORDER BY version
