-- The moment that ages are counted from. No table, no lock.
SELECT clock_timestamp()
