-- The rows beside one page of the log, from job ?1 to job ?2, at most ?3. Of a parent also how its required
-- children stand: 0 not awaited, 1 all have succeeded, 2 one has not.
-- Index: jobs (id), jobs_open_children. Lock: none; ends with the page.
SELECT j.id,
  json_array(
    json_array(j.version, j.queue, j.attempt, j.fence, j.event, j.actor_kind, j.actor, j.note, j.plan, j.worker,
      j.error_class, j.reason, j.error, j.policy, j.policy_version, j.first_attempt_at, j.lease_expires_at,
      j.output_ref),
    j.idempotency_key, j.created_at, j.state, j.state_since, j.updated_at, j.redrives, j.unsettled, j.available_at,
    CASE WHEN j.awaits_children = 0 THEN 0
      WHEN EXISTS (SELECT 1 FROM jobs c WHERE c.parent_key = j.idempotency_key AND c.required = 1
        AND c.state <> 'succeeded') THEN 2
      ELSE 1 END) AS line
FROM jobs j WHERE j.id >= ?1 AND j.id <= ?2 ORDER BY j.id LIMIT ?3 + 0
