-- The lanes that have ready jobs: each queue's first tenant, then each queue's second, and so on. ?1: JSON
-- array of queues, empty for all; ?2: at most so many.
-- Index: jobs_ready, one step a lane, however many jobs a lane holds. Lock: none.
WITH RECURSIVE
every(queue) AS (
  SELECT min(queue) FROM jobs WHERE state = 'ready'
  UNION ALL
  SELECT (SELECT min(j.queue) FROM jobs j WHERE j.state = 'ready' AND j.queue > every.queue)
  FROM every WHERE every.queue IS NOT NULL
),
asked(queue) AS (
  SELECT queue FROM every WHERE json_array_length(?1) = 0 AND queue IS NOT NULL
  UNION
  SELECT value FROM json_each(?1)
),
lane(queue, tenant) AS (
  SELECT queue,
    (SELECT min(j.tenant) FROM jobs j WHERE j.state = 'ready' AND j.queue = asked.queue)
  FROM asked
  UNION ALL
  SELECT lane.queue,
    (SELECT min(j.tenant) FROM jobs j
     WHERE j.state = 'ready' AND j.queue = lane.queue AND j.tenant > lane.tenant)
  FROM lane WHERE lane.tenant IS NOT NULL
)
SELECT queue, tenant FROM lane WHERE tenant IS NOT NULL LIMIT ?2 + 0
