-- Whether housekeeping would find anything, so that an idle sweep never takes the writer's lock.
-- Index: jobs_waiting, jobs_leases, jobs_parents, jobs_open_children. Lock: none.
SELECT
  EXISTS (
    SELECT 1 FROM jobs
    WHERE (state = 'retry_wait' OR state = 'pending' AND awaits_children = 0)
      AND available_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
    AS due,
  EXISTS (
    SELECT 1 FROM jobs
    WHERE state = 'running'
      AND lease_expires_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
    AS expired,
  EXISTS (
    SELECT 1 FROM jobs parent
    WHERE state = 'pending' AND awaits_children = 1
      AND available_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
      AND NOT EXISTS (
        SELECT 1 FROM jobs c WHERE c.parent_key = parent.idempotency_key AND c.required = 1
          AND c.state <> 'succeeded'))
    AS parents
