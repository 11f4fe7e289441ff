-- Dead letters by queue, state, second and last failure. Index: jobs_dead_letters, read whole. Lock: none.
SELECT queue, state, date_trunc('second', state_since) AS since, error_class, reason,
  NULL::timestamptz AS available, NULL::timestamptz AS lease_expires, NULL::text AS worker,
  count(*) AS count
FROM jobs WHERE state IN ('dead', 'quarantined')
GROUP BY queue, state, date_trunc('second', state_since), error_class, reason
