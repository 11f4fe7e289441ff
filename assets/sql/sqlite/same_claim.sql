-- Whether a running job is still under the claim that it was under in an earlier version: only renewals, and
-- deliveries and settles that were refused, came between. ?1 job, ?2 version seen.
-- Index: jobs (id), job_events (job_id, version). Lock: none beyond the transaction's.
SELECT EXISTS (
  SELECT 1 FROM jobs j JOIN job_events e ON e.job_id = j.id
  WHERE j.id = ?1 AND j.state = 'running' AND j.version > ?2 AND e.version = ?2
    AND e.to_state = 'running' AND e.fence = j.fence)
