-- One page of the log in the order of jobs. ?1, ?2: job and version of the last event that was read;
-- ?3: at most so many. Index: job_events (job_id, version). Lock: none; ends with the page.
SELECT job_id, version, seq, event, from_state, to_state, at, from_since, queue, attempt, fence, actor_kind,
  actor, worker, error_class, reason, error, note, policy, policy_version, first_attempt_at, available_at,
  lease_expires_at, from_lease_expires_at, output_ref, plan, idempotency_key
FROM job_events WHERE (job_id, version) > (?1, ?2) ORDER BY job_id, version LIMIT ?3 + 0
