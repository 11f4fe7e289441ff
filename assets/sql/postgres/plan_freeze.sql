-- Freezes jobs into a draft, behind those that are in it. $1 plan, $2 jobs, $3 the versions seen. A job that
-- is in the plan already stays as it was frozen.
-- Index: plan_jobs_pkey, plan_jobs_a_job_at_most_once_per_plan, jobs_pkey. Lock: the plan's row.
INSERT INTO plan_jobs (plan, position, job_id, version, state, error_class, reason)
SELECT $1, first.position + (row_number() OVER (ORDER BY t.place) - 1)::integer, t.id, t.version,
  j.state, j.error_class, j.reason
FROM unnest($2::uuid[], $3::integer[]) WITH ORDINALITY AS t (id, version, place)
CROSS JOIN (
  SELECT coalesce(max(x.position) + 1, 0) AS position FROM plan_jobs x WHERE x.plan = $1) first
LEFT JOIN jobs j ON j.id = t.id
ON CONFLICT (plan, job_id) DO NOTHING
