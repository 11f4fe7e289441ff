-- The events committed since a snapshot, and the snapshot and clock of this reading. $1 xmax of the last
-- snapshot, $2 its list of transactions in progress, $3 the most events. The bounds are values, never
-- sub-selects: the planner must see them. Events come in no order, the reader puts them in theirs. The row
-- with a snapshot is the reading itself.
-- Index: job_events_tx, once from the bound up, once for each transaction that was in progress. Lock: none.
SELECT NULL::text AS snapshot, NULL::timestamptz AS now, e.* FROM (
  SELECT job_id, version, event, at, queue, from_state, from_since, to_state, attempt, actor_kind,
    actor, worker, error_class, reason, available_at, lease_expires_at, from_lease_expires_at,
    first_attempt_at, note
  FROM job_events WHERE tx >= $1::text::xid8
  UNION ALL
  SELECT job_id, version, event, at, queue, from_state, from_since, to_state, attempt, actor_kind,
    actor, worker, error_class, reason, available_at, lease_expires_at, from_lease_expires_at,
    first_attempt_at, note
  FROM job_events WHERE tx = ANY ($2::text[]::xid8[])
  LIMIT $3
) e
UNION ALL
SELECT pg_current_snapshot()::text, clock_timestamp(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
