-- The events after one, oldest first. ?1: the last seq that was read; ?2: at most so many.
-- Index: the rowid of job_events. Lock: none; the read ends with the last row.
SELECT seq, job_id, version, event, from_state, to_state, at, from_since, queue, attempt,
  actor_kind, actor, worker, error_class, reason, note, first_attempt_at, available_at,
  lease_expires_at, from_lease_expires_at
FROM job_events WHERE seq > ?1 ORDER BY seq LIMIT ?2 + 0
