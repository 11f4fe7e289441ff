-- Records how redriven jobs of a plan ended: by the first event after the plan's own that makes them
-- terminal or a dead letter. Only a worker's or the system's says why they failed. $1 plan.
-- Index: plan_jobs_open, job_events_pkey. Lock: the plan's row and those of the jobs in it.
UPDATE plan_jobs x SET
  outcome = CASE ended.to_state WHEN 'succeeded' THEN 'succeeded' ELSE 'failed' END,
  result_class = CASE WHEN ended.actor_kind <> 'operator' AND ended.to_state <> 'succeeded'
    THEN ended.error_class END,
  result_reason = CASE WHEN ended.actor_kind <> 'operator' AND ended.to_state <> 'succeeded'
    THEN ended.reason END,
  settled_at = clock_timestamp()
FROM (
  SELECT o.position, e.to_state, e.actor_kind, e.error_class, e.reason
  FROM plan_jobs o
  CROSS JOIN LATERAL (
    SELECT v.to_state, v.actor_kind, v.error_class, v.reason FROM job_events v
    WHERE v.job_id = o.job_id AND v.version > o.version_after
      AND v.to_state IN ('succeeded', 'dead', 'quarantined', 'discarded')
      AND v.from_state <> v.to_state
    ORDER BY v.version LIMIT 1) e
  WHERE o.plan = $1 AND o.outcome = 'open') ended
WHERE x.plan = $1 AND x.position = ended.position
