-- The database's clock, about how many events there are, and whether a key can name but one job.
-- Index: none; catalogues only. Lock: none.
SELECT clock_timestamp() AS now,
  greatest((SELECT reltuples FROM pg_class WHERE oid = 'job_events'::regclass), 0)::bigint AS events,
  EXISTS (
    SELECT 1 FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = 'jobs'::regclass AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
      AND i.indnkeyatts = 1 AND a.attname = 'idempotency_key') AS keyed
