-- Keys that more than one job has, at most $1. Asked only where the unique index is gone: groups the whole
-- table. Lock: none.
SELECT idempotency_key, count(*) AS jobs, min(CAST(id AS text)) AS first, max(CAST(id AS text)) AS last
FROM jobs GROUP BY idempotency_key HAVING count(*) > 1 ORDER BY idempotency_key LIMIT $1
