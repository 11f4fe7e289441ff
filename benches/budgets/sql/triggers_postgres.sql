-- What drops each trigger of the two large tables.
SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass)
FROM pg_trigger
WHERE tgrelid IN ('jobs'::regclass, 'job_events'::regclass) AND NOT tgisinternal
