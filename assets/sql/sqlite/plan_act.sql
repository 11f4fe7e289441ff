-- An operator's act on a plan, where its state is one that the table of transitions lets the act leave. ?1
-- id, ?2 event, ?3 state after, ?4 who, ?5 why. No row: read the plan to learn why.
-- Index: id. Lock: the writer's.
UPDATE plans SET
  event = ?2, state = ?3, actor_kind = 'operator', actor = ?4, note = ?5, version = version + 1
WHERE id = ?1 AND EXISTS (
  SELECT 1 FROM plan_transitions t
  WHERE t.event = ?2 AND t.from_state = plans.state AND t.to_state = ?3 AND t.actor_kind = 'operator')
RETURNING id
