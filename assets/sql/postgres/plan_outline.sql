-- What a plan holds, by the state in which its jobs were frozen. $1 plan.
-- Index: plan_jobs_pkey, jobs_pkey. Lock: none.
SELECT x.state, count(*) AS jobs, min(j.state_since) AS oldest,
  count(*) FILTER (WHERE j.unsettled > 0) AS unsettled,
  count(*) FILTER (WHERE j.redrives > 0) AS redriven, clock_timestamp() AS as_of
FROM plan_jobs x JOIN jobs j ON j.id = x.job_id
WHERE x.plan = $1 AND x.state IS NOT NULL
GROUP BY x.state
