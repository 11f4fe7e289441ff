-- The plans that have something to be done: an executor may take them, or jobs of theirs are open though
-- nobody carries them out. ?1 at most so many.
-- Index: plans_under_way. Lock: none.
SELECT p.id, p.state = 'running' AS runs FROM plans p
WHERE (p.state = 'running' OR p.open > 0)
  AND (p.lease_expires_at IS NULL OR p.lease_expires_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
ORDER BY p.id LIMIT ?1 + 0
