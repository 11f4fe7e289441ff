-- Creates jobs whose keys are new; a key that exists is passed over. $1..$12 parallel arrays in the order
-- of their keys (id, key, queue, kind, tenant, event id, schema version, payload, due time in ms,
-- policy, parent key, required), $13 whether each is a parent, $14 kind of actor, $15 actor. Returns the
-- keys that were new.
-- Index: the unique key; jobs_open_children to find children that came first. Lock: the new rows; waits for
-- a transaction that is creating one of the same keys, in the order of keys.
INSERT INTO jobs
  (id, idempotency_key, queue, kind, tenant, event_id, schema_version, payload, parent_key, required,
   awaits_children, created_at, state_since, updated_at, available_at, state, policy, policy_version,
   event, actor_kind, actor)
SELECT
  s.id, s.idempotency_key, s.queue, s.kind, s.tenant, s.event_id, s.schema_version,
  s.payload::jsonb, s.parent_key, s.required, s.awaits, stamp.now, stamp.now, stamp.now,
  coalesce(s.due, stamp.now),
  CASE WHEN s.awaits OR s.due > stamp.now THEN 'pending' ELSE 'ready' END,
  s.policy, coalesce(p.version, 0), 'enqueue', $14, $15
FROM (SELECT clock_timestamp() AS now OFFSET 0) stamp
CROSS JOIN LATERAL (
  SELECT
    a.*,
    timestamptz 'epoch' + a.due_ms * interval '1 millisecond' AS due,
    a.parent OR EXISTS (
      SELECT 1 FROM jobs c
      WHERE c.parent_key = a.idempotency_key AND c.required AND c.state <> 'succeeded') AS awaits
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
              $8::text[], $9::bigint[], $10::text[], $11::text[], $12::boolean[], $13::boolean[])
    AS a (id, idempotency_key, queue, kind, tenant, event_id, schema_version, payload, due_ms, policy,
          parent_key, required, parent)
  OFFSET 0
) s
LEFT JOIN newest_policies p ON p.name = s.policy
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING idempotency_key
