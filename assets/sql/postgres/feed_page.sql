-- One page of more events than one reading takes: those that are visible in the snapshot being read ($4
-- its xmax, $5 its list of transactions in progress) and were not in the last one ($1, $2), in an order
-- that keeps each job's own ($6 moment in microseconds, $7 job, $8 version of the last event seen, at most
-- $3 events). The snapshot stays the same over all pages, so that none is missed and none comes twice.
-- Index: job_events_tx; reads what is left to be read, once for each page. Lock: none.
SELECT NULL::text AS snapshot, NULL::timestamptz AS now, e.* FROM (
  SELECT job_id, version, event, at, queue, from_state, from_since, to_state, attempt, actor_kind,
    actor, worker, error_class, reason, available_at, lease_expires_at, from_lease_expires_at,
    first_attempt_at, note
  FROM job_events
  WHERE (tx >= $1::text::xid8 AND tx < $4::text::xid8 OR tx = ANY ($2::text[]::xid8[]))
    AND tx <> ALL ($5::text[]::xid8[])
    AND (at, job_id, version)
      > (timestamptz 'epoch' + $6::bigint * interval '1 microsecond', $7::uuid, $8::integer)
  ORDER BY at, job_id, version
  LIMIT $3
) e
UNION ALL
SELECT pg_current_snapshot()::text, clock_timestamp(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
