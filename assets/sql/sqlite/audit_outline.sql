-- The database's clock, the number of the last event, and whether a key can name but one job.
-- Index: the rowid of job_events. Lock: none.
SELECT CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) AS now,
  coalesce((SELECT max(seq) FROM job_events), 0) AS last,
  EXISTS (
    SELECT 1 FROM pragma_index_list('jobs') i
    WHERE i."unique" = 1 AND i.partial = 0
      AND (SELECT group_concat(c.name) FROM pragma_index_info(i.name) c) = 'idempotency_key') AS keyed
