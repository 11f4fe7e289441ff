-- The executor ends its work on a plan: stop or finish. ?1 id, ?2 fence, ?3 event, ?4 state after, ?5 who,
-- ?6 why. No row: it is not the executor's any more.
-- Index: id. Lock: the writer's.
UPDATE plans SET
  event = ?3, state = ?4, actor_kind = 'system', actor = ?5, note = ?6, version = version + 1
WHERE id = ?1 AND fence = ?2 AND state = 'running' AND executor IS NOT NULL
RETURNING id
