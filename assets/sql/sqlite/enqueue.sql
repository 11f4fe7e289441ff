-- Enqueues jobs, all or none. ?1: JSON array of [id, idempotency_key, queue, kind, tenant, event_id,
-- schema_version, payload, parent_key, required, awaits_children, available_at, policy]; ?2, ?3: the actor's
-- kind and name. A key that is there already, also earlier in ?1, leaves a duplicate event on the job
-- that has it, but for a job under the very id that was asked for: an earlier call made it, and its
-- answer was lost. Returns one row for each job but those, in no order that may be relied on.
-- Index: idempotency_key. Lock: the writer's.
INSERT INTO jobs AS j
  (id, idempotency_key, queue, kind, tenant, event_id, schema_version, payload, parent_key, required,
   awaits_children, available_at, policy, policy_version, created_at, state, state_since, updated_at,
   actor_kind, actor)
SELECT
  id, idempotency_key, queue, kind, tenant, event_id, schema_version, payload, parent_key, required,
  awaits_children, available_at, policy, policy_version, now,
  CASE WHEN awaits_children = 1 OR available_at > now THEN 'pending' ELSE 'ready' END,
  now, now, ?2, ?3
FROM (
  SELECT
    n.value ->> 0 AS id, n.value ->> 1 AS idempotency_key, n.value ->> 2 AS queue,
    n.value ->> 3 AS kind, n.value ->> 4 AS tenant, n.value ->> 5 AS event_id,
    n.value ->> 6 AS schema_version, n.value ->> 7 AS payload, n.value ->> 8 AS parent_key,
    n.value ->> 9 AS required,
    max(n.value ->> 10, EXISTS (
      SELECT 1 FROM jobs c WHERE c.parent_key = n.value ->> 1 AND c.required = 1
        AND c.state <> 'succeeded')) AS awaits_children,
    max(coalesce(n.value ->> 11, 0), clock.now) AS available_at,
    n.value ->> 12 AS policy,
    coalesce((SELECT max(p.version) FROM policies p WHERE p.name = n.value ->> 12), 0)
      AS policy_version,
    clock.now
  FROM json_each(?1) n
  CROSS JOIN (SELECT CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) AS now) clock
)
WHERE true
ON CONFLICT (idempotency_key) DO UPDATE SET
  event = 'duplicate', actor_kind = ?2, actor = ?3, note = NULL, plan = NULL, version = j.version + 1,
  updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), j.updated_at)
WHERE j.id <> excluded.id
RETURNING id, idempotency_key
