-- An executor takes a plan that nobody carries out, until $3 ms from now. $1 id, $2 executor. No row: it is
-- not under way, or another executor has it.
-- Index: plans_pkey. Lock: the one row.
UPDATE plans p SET
  event = 'take', actor_kind = 'system', actor = $2, note = NULL, version = p.version + 1,
  fence = p.fence + 1, executor = $2,
  lease_expires_at = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE p.id = $1 AND p.state = 'running'
  AND (p.lease_expires_at IS NULL OR p.lease_expires_at <= clock_timestamp())
RETURNING p.fence
