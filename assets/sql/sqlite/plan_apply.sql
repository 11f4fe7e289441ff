-- Operates on the jobs of a plan that were marked just before, in the same transaction: those whose row is
-- still one version behind its mark. ?1 plan, ?2 and ?3 the first and the last of their places, ?4 the mark,
-- ?5 event, ?6 state after, ?7 who, ?8 why.
-- Index: plan_jobs (plan, position), jobs (id). Lock: the writer's.
UPDATE jobs SET
  event = ?5, state = ?6, actor_kind = 'operator', actor = ?7, note = ?8, plan = ?1,
  version = version + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  state_since = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  worker = NULL, lease_expires_at = NULL,
  fence = fence + (?5 = 'revoke'),
  unsettled = unsettled + (?5 = 'revoke'),
  attempt = CASE ?5 WHEN 'redrive' THEN 0 ELSE attempt END,
  redrives = redrives + (?5 = 'redrive'),
  first_attempt_at = CASE ?5 WHEN 'redrive' THEN NULL ELSE first_attempt_at END,
  available_at = CASE WHEN ?5 IN ('promote', 'redrive')
    THEN min(available_at, max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)) ELSE available_at END
WHERE id IN (
  SELECT x.job_id FROM plan_jobs x JOIN jobs j ON j.id = x.job_id AND j.version = x.version_after - 1
  WHERE x.plan = ?1 AND x.position BETWEEN ?2 AND ?3 AND x.outcome = ?4)
  AND updated_at < CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
