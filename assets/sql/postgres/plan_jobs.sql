-- Jobs of a plan in their order. $1 plan, $2 from this place on, $3 with this outcome ('waiting' for none, ''
-- for all), $4 at most so many.
-- Index: plan_jobs_pkey. Lock: none.
SELECT x.position, x.job_id, x.version, x.error_class, x.reason, x.batch, x.outcome, x.version_after,
  x.result_class, x.result_reason
FROM plan_jobs x
WHERE x.plan = $1 AND x.position >= $2 AND ($3 = '' OR coalesce(x.outcome, 'waiting') = $3)
ORDER BY x.position LIMIT $4
