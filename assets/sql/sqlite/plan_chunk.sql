-- Ends a transaction of an executor: notes its size and moment. ?1 plan, ?2 how many jobs were operated on.
-- Index: id. Lock: the writer's.
UPDATE plans SET batch_jobs = batch_jobs + ?2, chunk = ?2, chunk_at = CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) WHERE id = ?1
