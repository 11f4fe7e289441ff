-- Whether any of the lanes has a ready job, so that a worker that finds none never takes the writer's lock.
-- ?1: JSON array of [queue, tenant].
-- Index: jobs_ready. Lock: none.
SELECT EXISTS (
  SELECT 1 FROM json_each(?1) lane
  CROSS JOIN jobs j ON j.queue = lane.value ->> 0 AND j.tenant = lane.value ->> 1
  WHERE j.state = 'ready')
