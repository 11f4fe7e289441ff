-- Records how redriven jobs of a plan ended: by the first event after the plan's own that makes them
-- terminal or a dead letter. Only a worker's or the system's says why they failed. ?1 plan.
-- Index: plan_jobs_open, job_events (job_id, version). Lock: the writer's.
UPDATE plan_jobs SET
  outcome = CASE ended.to_state WHEN 'succeeded' THEN 'succeeded' ELSE 'failed' END,
  result_class = CASE WHEN ended.actor_kind <> 'operator' AND ended.to_state <> 'succeeded'
    THEN ended.error_class END,
  result_reason = CASE WHEN ended.actor_kind <> 'operator' AND ended.to_state <> 'succeeded'
    THEN ended.reason END,
  settled_at = CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
FROM (
  SELECT o.position, e.to_state, e.actor_kind, e.error_class, e.reason
  FROM plan_jobs o JOIN job_events e ON e.job_id = o.job_id AND e.version = (
    SELECT min(v.version) FROM job_events v
    WHERE v.job_id = o.job_id AND v.version > o.version_after
      AND v.to_state IN ('succeeded', 'dead', 'quarantined', 'discarded')
      AND v.from_state <> v.to_state)
  WHERE o.plan = ?1 AND o.outcome = 'open') AS ended
WHERE plan_jobs.plan = ?1 AND plan_jobs.position = ended.position
