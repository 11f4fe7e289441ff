-- Records that a settle or a renewal with an old fence was refused. ?1: the job; ?2: the worker.
-- Index: id. Lock: the writer's.
UPDATE jobs SET
  event = 'stale_refused', actor_kind = 'worker', actor = ?2, note = NULL, plan = NULL,
  version = version + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), updated_at)
WHERE id = ?1
RETURNING state, version
