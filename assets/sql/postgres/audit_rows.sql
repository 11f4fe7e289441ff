-- The rows beside one page of the log, from job $1 to job $2, at most $3. Of a parent also how its required
-- children stand: 0 not awaited, 1 all have succeeded, 2 one has not.
-- Index: jobs (id), jobs_open_children. Lock: none; the snapshot ends with the page.
SELECT j.id, j.idempotency_key, j.queue, j.created_at, j.state, j.state_since, j.updated_at, j.version, j.fence,
  j.attempt, j.redrives, j.unsettled, j.available_at, j.first_attempt_at, j.worker, j.lease_expires_at, j.policy,
  j.policy_version, j.output_ref, j.error_class, j.reason, j.error, j.event, j.actor_kind, j.actor, j.note,
  j.plan::text AS plan,
  CASE WHEN NOT j.awaits_children THEN 0
    WHEN EXISTS (SELECT 1 FROM jobs c WHERE c.parent_key = j.idempotency_key AND c.required
      AND c.state <> 'succeeded') THEN 2
    ELSE 1 END AS children
FROM jobs j WHERE j.id >= $1 AND j.id <= $2 ORDER BY j.id LIMIT $3
