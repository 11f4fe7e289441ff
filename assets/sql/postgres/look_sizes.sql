-- About how many jobs there are, and how many each partial index holds, as of the last vacuum or analyze;
-- -1 where there was none. No table but the catalogue's, no lock.
SELECT c.relname::text AS name, c.reltuples::bigint AS jobs FROM pg_class c
WHERE c.oid IN (to_regclass('jobs'), to_regclass('jobs_ready'), to_regclass('jobs_waiting'),
  to_regclass('jobs_parents'), to_regclass('jobs_leases'), to_regclass('jobs_dead_letters'))
