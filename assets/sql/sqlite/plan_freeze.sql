-- Freezes jobs into a draft, behind those that are in it. ?1 plan, ?2 jobs and the versions seen, as a JSON
-- array of pairs. A job that is in the plan already stays as it was frozen.
-- Index: plan_jobs (plan, position) and (plan, job_id), jobs (id). Lock: the writer's.
INSERT INTO plan_jobs (plan, position, job_id, version, state, error_class, reason)
SELECT ?1, coalesce((SELECT max(x.position) + 1 FROM plan_jobs x WHERE x.plan = ?1), 0)
  + row_number() OVER (ORDER BY t.place) - 1, t.id, t.version, j.state, j.error_class, j.reason
FROM (
  SELECT min(key) AS place, value ->> 0 AS id, min(value ->> 1) AS version
  FROM json_each(?2) GROUP BY value ->> 0) t
LEFT JOIN jobs j ON j.id = t.id
WHERE NOT EXISTS (SELECT 1 FROM plan_jobs x WHERE x.plan = ?1 AND x.job_id = t.id)
