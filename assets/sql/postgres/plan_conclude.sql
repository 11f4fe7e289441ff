-- The executor ends its work on a plan: stop or finish. $1 id, $2 fence, $3 event, $4 state after, $5 who,
-- $6 why. No row: it is not the executor's any more.
-- Index: plans_pkey. Lock: the one row.
UPDATE plans p SET
  event = $3, state = $4, actor_kind = 'system', actor = $5, note = $6, version = p.version + 1
WHERE p.id = $1 AND p.fence = $2 AND p.state = 'running' AND p.executor IS NOT NULL
RETURNING p.id
