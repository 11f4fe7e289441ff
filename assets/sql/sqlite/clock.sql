-- The database's clock, in milliseconds since 1970-01-01 UTC. No table, no lock.
SELECT CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
