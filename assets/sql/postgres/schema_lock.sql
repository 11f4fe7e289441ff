-- One `init` at a time in this database: a lock that the transaction's end gives back. The number is
-- arbitrary and means this and nothing else.
SELECT pg_advisory_xact_lock(7021300001)
