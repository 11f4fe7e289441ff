-- One page of more events than one reading takes: those that are visible in the snapshot being read ($4
-- its xmax, $5 its list of transactions in progress) and were not in the last one ($1, $2), in the order of
-- the index ($6 transaction, $7 job, $8 version of the last event read, at most $3 events). The snapshot
-- stays the same over all pages, so that none is missed and none comes twice. A transaction that waited for
-- a later one writes its event of a job after that one's: such an event names the transaction that has the
-- job's event before it, and the reader keeps it until that one was read.
-- Index: job_events_tx from the last event read; a page costs what it brings, and what its first transaction
-- has brought already. job_events_pkey for the event before each. Lock: none.
SELECT NULL::text AS snapshot, NULL::timestamptz AS now, e.tx::text::bigint AS tx,
  (SELECT before.tx::text::bigint FROM job_events before
   WHERE before.job_id = e.job_id AND before.version = e.version - 1 AND before.tx > e.tx) AS after_tx,
  e.job_id, e.version, e.event, e.at, e.queue, e.from_state, e.from_since, e.to_state, e.attempt,
  e.actor_kind, e.actor, e.worker, e.error_class, e.reason, e.available_at, e.lease_expires_at,
  e.from_lease_expires_at, e.first_attempt_at, e.note
FROM (
  SELECT * FROM (
    (SELECT tx, job_id, version, event, at, queue, from_state, from_since, to_state, attempt, actor_kind,
      actor, worker, error_class, reason, available_at, lease_expires_at, from_lease_expires_at,
      first_attempt_at, note
    FROM job_events
    WHERE tx = ANY ($2::text[]::xid8[]) AND tx <> ALL ($5::text[]::xid8[])
      AND (tx, job_id, version) > ($6::text::xid8, $7::uuid, $8::integer)
    ORDER BY tx, job_id, version LIMIT $3)
    UNION ALL
    (SELECT tx, job_id, version, event, at, queue, from_state, from_since, to_state, attempt, actor_kind,
      actor, worker, error_class, reason, available_at, lease_expires_at, from_lease_expires_at,
      first_attempt_at, note
    FROM job_events
    WHERE tx >= greatest($1::text::xid8, $6::text::xid8) AND tx < $4::text::xid8
      AND tx <> ALL ($5::text[]::xid8[])
      AND (tx, job_id, version) > ($6::text::xid8, $7::uuid, $8::integer)
    ORDER BY tx, job_id, version LIMIT $3)
  ) waiting
  ORDER BY tx, job_id, version
  LIMIT $3
) e
UNION ALL
SELECT pg_current_snapshot()::text, clock_timestamp(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
