-- Makes ready the parents whose required children have all succeeded. ?1: the actor; ?2: at most so many.
-- Index: jobs_parents, jobs_open_children; looks at every waiting parent that is due, one look-up
-- each. Lock: the writer's.
UPDATE jobs SET
  event = 'children_done', state = 'ready', actor_kind = 'system', actor = ?1, note = NULL,
  plan = NULL, version = version + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at),
  state_since = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)
WHERE id IN (
  SELECT id FROM jobs parent
  WHERE state = 'pending' AND awaits_children = 1
    AND available_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
    AND NOT EXISTS (
      SELECT 1 FROM jobs c WHERE c.parent_key = parent.idempotency_key AND c.required = 1
        AND c.state <> 'succeeded')
  ORDER BY id LIMIT ?2 + 0)
