-- What drops each trigger of the two large tables.
SELECT 'DROP TRIGGER ' || name
FROM sqlite_schema
WHERE type = 'trigger' AND tbl_name IN ('jobs', 'job_events')
