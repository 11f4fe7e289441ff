-- Whether a plan is still an executor's, for how many ms, and whether a redriven job of it has ended that is
-- still counted as open. ?1 plan, ?2 fence.
-- Index: id, plan_jobs_open, job_events (job_id, version). Lock: none.
SELECT p.fence = ?2 AND p.state = 'running' AND p.executor IS NOT NULL AS held,
  coalesce(p.lease_expires_at - CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), 0)
    AS left_ms,
  EXISTS (
    SELECT 1 FROM plan_jobs o JOIN job_events v ON v.job_id = o.job_id AND v.version > o.version_after
    WHERE o.plan = ?1 AND o.outcome = 'open'
      AND v.to_state IN ('succeeded', 'dead', 'quarantined', 'discarded')
      AND v.from_state <> v.to_state) AS ended
FROM plans p WHERE p.id = ?1
