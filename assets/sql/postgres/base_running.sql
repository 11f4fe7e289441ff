-- Running jobs by queue, worker, and the seconds since which and until which their leases run. Index:
-- jobs_leases, read whole. Lock: none.
SELECT queue, 'running' AS state, date_trunc('second', state_since) AS since,
  NULL::text AS error_class, NULL::text AS reason, NULL::timestamptz AS available,
  date_trunc('second', lease_expires_at) AS lease_expires, worker, count(*) AS count
FROM jobs WHERE state = 'running'
GROUP BY queue, date_trunc('second', state_since), date_trunc('second', lease_expires_at), worker
