-- An operator's act on a plan, where its state is one that the table of transitions lets the act leave. $1
-- id, $2 event, $3 state after, $4 states before, $5 who, $6 why. No row: read the plan to learn why.
-- Index: plans_pkey. Lock: the one row; waits for a transaction of its executor.
UPDATE plans p SET
  event = $2, state = $3, actor_kind = 'operator', actor = $5, note = $6, version = p.version + 1
WHERE p.id = $1 AND p.state = ANY ($4::text[])
RETURNING p.id
