-- One page of the log in the order of jobs. ?1, ?2: job and version of the last event that was read;
-- ?3: at most so many. What is judged comes as one value a row: handing out 27 takes twice as long.
-- Index: job_events (job_id, version). Lock: none; ends with the page.
SELECT job_id, version, seq,
  json_array(
    json_array(version, queue, attempt, fence, event, actor_kind, actor, note, plan, worker, error_class,
      reason, error, policy, policy_version, first_attempt_at, lease_expires_at, output_ref),
    at, from_state, from_since, to_state, available_at, from_lease_expires_at, idempotency_key) AS line
FROM job_events WHERE (job_id, version) > (?1, ?2) ORDER BY job_id, version LIMIT ?3 + 0
