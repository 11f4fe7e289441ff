-- Marks the next waiting jobs of a plan with what is about to become of each. A revoke also goes through
-- where only renewals came between: the claim is the same. A job whose last event was in this very
-- millisecond waits for the next turn, see operate.sql. ?1 plan, ?2 at most so many, ?3 batch, ?4 event, ?5
-- state after, ?6 the mark of what will be done.
-- Index: plan_jobs_waiting, jobs (id), job_events (job_id, version). Lock: the writer's.
UPDATE plan_jobs SET
  batch = ?3,
  outcome = judged.outcome,
  version_after = CASE WHEN judged.outcome = ?6 THEN judged.found + 1 END,
  settled_at = CASE WHEN judged.outcome <> 'open' THEN CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) END
FROM (
  SELECT t.position, j.version AS found,
    CASE
      WHEN j.id IS NULL THEN 'missing'
      WHEN j.version <> t.version AND NOT (?4 = 'revoke' AND j.version > t.version
        AND j.state = 'running' AND j.fence IS (
          SELECT e.fence FROM job_events e
          WHERE e.job_id = t.job_id AND e.version = t.version AND e.to_state = 'running'))
        THEN 'stale'
      WHEN NOT EXISTS (
        SELECT 1 FROM transitions m WHERE m.event = ?4 AND m.from_state = j.state
          AND m.to_state = ?5 AND m.actor_kind = 'operator') THEN 'refused'
      ELSE ?6 END AS outcome
  FROM (
    SELECT x.position, x.job_id, x.version FROM plan_jobs x
    WHERE x.plan = ?1 AND x.outcome IS NULL
    ORDER BY x.position LIMIT ?2 + 0) t
  LEFT JOIN jobs j ON j.id = t.job_id
  WHERE j.id IS NULL OR j.updated_at < CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)) AS judged
WHERE plan_jobs.plan = ?1 AND plan_jobs.position = judged.position
RETURNING position, outcome
