-- For each trigger and each index of the two large tables, what drops it and what makes it again.
-- Indexes of constraints have no text and stay.
SELECT 'DROP ' || type || ' ' || name, sql
FROM sqlite_schema
WHERE type IN ('trigger', 'index') AND tbl_name IN ('jobs', 'job_events') AND sql IS NOT NULL
ORDER BY type, rowid
