-- The newest event.
-- Index: the end of the rowid of job_events. Lock: none; read first in a transaction, it fixes the instant.
SELECT coalesce(max(seq), 0) FROM job_events
