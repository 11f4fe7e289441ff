-- Every live job, counted by what a board counts by.
-- Index: jobs_ready, jobs_waiting, jobs_parents, jobs_leases, jobs_dead_letters. Lock: none.
SELECT queue, 'ready' AS state, state_since / 1000 AS since_s, NULL AS error_class, NULL AS reason,
  NULL AS available_s, NULL AS lease_expires_s, NULL AS worker, count(*) AS count
FROM jobs WHERE state = 'ready'
GROUP BY queue, state_since / 1000
UNION ALL
SELECT queue, state, state_since / 1000,
  CASE state WHEN 'retry_wait' THEN error_class END, CASE state WHEN 'retry_wait' THEN reason END,
  available_at / 1000, NULL, NULL, count(*)
FROM jobs WHERE state = 'retry_wait' OR state = 'pending' AND awaits_children = 0
GROUP BY 1, 2, 3, 4, 5, 6
UNION ALL
SELECT queue, 'pending', state_since / 1000, NULL, NULL, available_at / 1000, NULL, NULL, count(*)
FROM jobs WHERE state = 'pending' AND awaits_children = 1
GROUP BY queue, state_since / 1000, available_at / 1000
UNION ALL
SELECT queue, 'running', state_since / 1000, NULL, NULL, NULL, lease_expires_at / 1000, worker,
  count(*)
FROM jobs WHERE state = 'running'
GROUP BY queue, state_since / 1000, lease_expires_at / 1000, worker
UNION ALL
SELECT queue, state, state_since / 1000, error_class, reason, NULL, NULL, NULL, count(*)
FROM jobs WHERE state IN ('dead', 'quarantined')
GROUP BY queue, state, state_since / 1000, error_class, reason
