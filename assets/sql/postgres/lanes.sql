-- The lanes (queue and tenant) that have ready jobs, at most $1: steps from one to the next through the
-- index, whatever the number of ready jobs. Index: jobs_ready. Lock: none.
WITH RECURSIVE lane AS (
  (SELECT queue, tenant FROM jobs WHERE state = 'ready' ORDER BY queue, tenant LIMIT 1)
  UNION ALL
  SELECT step.queue, step.tenant
  FROM lane CROSS JOIN LATERAL (
    SELECT j.queue, j.tenant FROM jobs j
    WHERE j.state = 'ready' AND (j.queue, j.tenant) > (lane.queue, lane.tenant)
    ORDER BY j.queue, j.tenant LIMIT 1
  ) step
)
SELECT queue, tenant FROM lane LIMIT $1
