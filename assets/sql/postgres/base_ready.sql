-- Ready jobs by queue and by the second since which they are. Index: jobs_ready, read whole. Lock: none.
SELECT queue, 'ready' AS state, date_trunc('second', state_since) AS since, NULL::text AS error_class,
  NULL::text AS reason, NULL::timestamptz AS available, NULL::timestamptz AS lease_expires,
  NULL::text AS worker, count(*) AS count
FROM jobs WHERE state = 'ready'
GROUP BY queue, date_trunc('second', state_since)
