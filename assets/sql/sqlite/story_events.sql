-- Events of one job (?1) in order of version: those up to ?2 and those from ?3 on. What is shown comes as one
-- value a row, as in audit_events.sql. Index: job_events (job_id, version). Lock: none.
SELECT job_id, version, seq,
  json_array(
    json_array(version, queue, attempt, fence, event, actor_kind, actor, note, plan, worker, error_class,
      reason, error, policy, policy_version, first_attempt_at, lease_expires_at, output_ref),
    at, from_state, from_since, to_state, available_at, from_lease_expires_at, idempotency_key) AS line
FROM job_events WHERE job_id = ?1 AND (version <= ?2 OR version >= ?3) ORDER BY version
