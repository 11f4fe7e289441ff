-- An operator's act on one job. ?1: the job; ?2: the version that was seen; ?3: the event; ?4: the state it
-- moves to; ?5: the operator; ?6: why. Nothing is done in the very millisecond of the job's last event:
-- there the triggers could not tell this update from one written by hand.
-- Index: id. Lock: the writer's.
UPDATE jobs SET
  event = ?3, state = ?4, actor_kind = 'operator', actor = ?5, note = ?6, plan = NULL,
  version = version + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  state_since = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  worker = NULL, lease_expires_at = NULL,
  fence = fence + (?3 = 'revoke'),
  unsettled = unsettled + (?3 = 'revoke'),
  attempt = CASE ?3 WHEN 'redrive' THEN 0 ELSE attempt END,
  redrives = redrives + (?3 = 'redrive'),
  first_attempt_at = CASE ?3 WHEN 'redrive' THEN NULL ELSE first_attempt_at END,
  available_at = CASE WHEN ?3 IN ('promote', 'redrive')
    THEN min(available_at,
      max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at))
    ELSE available_at END
WHERE id = ?1 AND version = ?2
  AND updated_at < CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
RETURNING state, version
