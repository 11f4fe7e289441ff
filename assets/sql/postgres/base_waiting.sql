-- Jobs that wait for a moment or for children, by queue, state, seconds and last failure. Index:
-- jobs_waiting and jobs_parents, read whole. Lock: none.
SELECT queue, state, date_trunc('second', state_since) AS since,
  CASE state WHEN 'retry_wait' THEN error_class END AS error_class,
  CASE state WHEN 'retry_wait' THEN reason END AS reason,
  date_trunc('second', available_at) AS available, NULL::timestamptz AS lease_expires,
  NULL::text AS worker, count(*) AS count
FROM (
  SELECT queue, state, state_since, error_class, reason, available_at
  FROM jobs WHERE state = 'retry_wait' OR state = 'pending' AND NOT awaits_children
  UNION ALL
  SELECT queue, state, state_since, error_class, reason, available_at
  FROM jobs WHERE state = 'pending' AND awaits_children
) waiting
GROUP BY 1, 2, 3, 4, 5, 6
