-- The events from $1 (ms since 1970) on, oldest first. Index: job_events_at. Lock: none.
SELECT job_id, version, event, at, queue, from_state, from_since, to_state, attempt, actor_kind, actor,
  worker, error_class, reason, available_at, lease_expires_at, from_lease_expires_at, first_attempt_at,
  note
FROM job_events
WHERE at >= timestamptz 'epoch' + $1::bigint * interval '1 millisecond'
ORDER BY at, job_id, version
