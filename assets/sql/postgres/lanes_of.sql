-- The lanes of the queues $2 that have ready jobs, at most $1: steps from one tenant to the next through
-- the index. Index: jobs_ready. Lock: none.
WITH RECURSIVE lane AS (
  SELECT q.queue, first.tenant
  FROM unnest($2::text[]) AS q (queue) CROSS JOIN LATERAL (
    SELECT j.tenant FROM jobs j WHERE j.state = 'ready' AND j.queue = q.queue
    ORDER BY j.tenant LIMIT 1
  ) first
  UNION ALL
  SELECT lane.queue, step.tenant
  FROM lane CROSS JOIN LATERAL (
    SELECT j.tenant FROM jobs j
    WHERE j.state = 'ready' AND j.queue = lane.queue AND j.tenant > lane.tenant
    ORDER BY j.tenant LIMIT 1
  ) step
)
SELECT queue, tenant FROM lane LIMIT $1
