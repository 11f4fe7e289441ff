-- The distinct failures that redriven jobs of a plan ended with since it was approved, or resumed after a
-- stop, each with one job and whether a job of the plan had it before. ?1 plan, ?2 at most so many.
-- Index: plan_jobs_failed, plan_jobs (plan, position). Lock: none.
SELECT f.result_class, f.result_reason, f.job_id, EXISTS (
  SELECT 1 FROM plan_jobs y
  WHERE y.plan = ?1 AND y.error_class = f.result_class AND y.reason = f.result_reason) AS had_before
FROM (
  SELECT x.result_class, x.result_reason, min(x.job_id) AS job_id
  FROM plan_jobs x
  WHERE x.plan = ?1 AND x.outcome = 'failed' AND x.result_class IS NOT NULL
    AND x.settled_at > coalesce((
      SELECT max(e.at) FROM plan_events e
      WHERE e.plan = ?1 AND e.event = 'resume' AND e.from_state = 'stopped'), 0)
  GROUP BY x.result_class, x.result_reason) f
ORDER BY f.result_class, f.result_reason LIMIT ?2 + 0
