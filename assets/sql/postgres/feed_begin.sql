-- The snapshot, the clock, and whether this server follows another one (then its snapshots do not name the
-- transactions in progress). Lock: none.
SELECT pg_current_snapshot()::text AS snapshot, clock_timestamp() AS now,
  pg_is_in_recovery() AS follows
