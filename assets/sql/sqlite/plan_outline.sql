-- What a plan holds, by the state in which its jobs were frozen. ?1 plan.
-- Index: plan_jobs (plan, position), jobs (id). Lock: none.
SELECT x.state, count(*) AS jobs, min(j.state_since) AS oldest,
  count(*) FILTER (WHERE j.unsettled > 0) AS unsettled,
  count(*) FILTER (WHERE j.redrives > 0) AS redriven,
  CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) AS as_of
FROM plan_jobs x JOIN jobs j ON j.id = x.job_id
WHERE x.plan = ?1 AND x.state IS NOT NULL
GROUP BY x.state
