-- Ends a transaction of an executor: notes its size and moment. $1 plan, $2 how many jobs were operated on.
-- Index: plans_pkey. Lock: the one row.
UPDATE plans p SET batch_jobs = p.batch_jobs + $2, chunk = $2, chunk_at = clock_timestamp()
WHERE p.id = $1
