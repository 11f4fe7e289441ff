-- The newest migration that was applied; 0 for none. Reads the primary key of a tiny table, no lock.
SELECT coalesce(max(version), 0) FROM ledgertop_schema
