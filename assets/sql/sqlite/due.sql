-- Makes ready what waited for a moment that has come. ?1: the actor; ?2: at most so many.
-- Index: jobs_waiting. Lock: the writer's.
UPDATE jobs SET
  event = 'due', state = 'ready', actor_kind = 'system', actor = ?1, note = NULL, plan = NULL,
  version = version + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  state_since = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)
WHERE id IN (
  SELECT id FROM jobs
  WHERE (state = 'retry_wait' OR state = 'pending' AND awaits_children = 0)
    AND available_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
  ORDER BY available_at, id LIMIT ?2 + 0)
