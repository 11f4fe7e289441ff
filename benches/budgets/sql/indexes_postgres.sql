-- For each index of the two large tables, what drops it and what makes it again.
SELECT
  CASE WHEN c.conname IS NULL THEN format('DROP INDEX %I', i.indexrelid::regclass::text)
    ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, c.conname) END,
  CASE WHEN c.conname IS NULL THEN pg_get_indexdef(i.indexrelid)
    ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, c.conname,
      pg_get_constraintdef(c.oid)) END
FROM pg_index i
LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u')
WHERE i.indrelid IN ('jobs'::regclass, 'job_events'::regclass)
ORDER BY i.indexrelid
