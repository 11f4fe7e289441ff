-- An executor takes a plan that nobody carries out, until ?3 ms from now. ?1 id, ?2 executor. No row: it is
-- not under way, or another executor has it.
-- Index: id. Lock: the writer's.
UPDATE plans SET
  event = 'take', actor_kind = 'system', actor = ?2, note = NULL, version = version + 1,
  fence = fence + 1, executor = ?2, lease_expires_at = CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) + ?3
WHERE id = ?1 AND state = 'running' AND (lease_expires_at IS NULL OR lease_expires_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
RETURNING fence
