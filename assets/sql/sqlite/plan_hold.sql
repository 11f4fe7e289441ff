-- Moves the end of an executor's lease on a plan to ?3 ms from now. ?1 id, ?2 fence. No row: it is not the
-- executor's any more.
-- Index: id. Lock: the writer's.
UPDATE plans SET lease_expires_at = CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) + ?3
WHERE id = ?1 AND fence = ?2 AND state = 'running' AND executor IS NOT NULL
RETURNING operation
