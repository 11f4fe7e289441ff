-- The plan of a seeded ledger: a row for each step of each job, in the order of their commits. A slot
-- is one transaction of a hundred jobs, and every slot takes the same time, so that a larger ledger has
-- a longer past, not denser traffic. A step has one moment for its slot, as a batch of a real worker
-- has: step 0 enqueues, step 1 claims two slots later, step 2 settles two more later. The twin of
-- plan_postgres.sql. Needs the one row of the temporary table `seed` (jobs, start_ms, slot_ms, now).
CREATE TEMPORARY VIEW plan AS
WITH RECURSIVE
  part (part) AS (
    SELECT 0 UNION ALL SELECT part + 1 FROM part, seed WHERE part < jobs / 100 * 3 + 11),
  hundred (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM hundred WHERE i < 99),
  numbers (step, slot, n, jobs, start_ms, slot_ms, now) AS (
    SELECT part % 3, part / 3 - part % 3 * 2, (part / 3 - part % 3 * 2) * 100 + i, jobs, start_ms,
      slot_ms, now
    FROM seed CROSS JOIN part CROSS JOIN hundred),
  steps (step, n, slot, now, fate, created, claimed, settled) AS (
    SELECT
      step, n, slot, now,
      CASE
        WHEN n % 5 = 0 THEN 'ready'
        WHEN n % 100 = 1 THEN 'dead'
        WHEN n % 100 = 51 THEN 'quarantined'
        WHEN n % 250 = 2 THEN 'retry_wait'
        WHEN n % 25 = 3 AND n >= jobs - 5000 THEN 'running'
        ELSE 'succeeded' END,
      start_ms + slot * slot_ms,
      start_ms + (slot + 2) * slot_ms + slot_ms / 3,
      start_ms + (slot + 4) * slot_ms + slot_ms * 2 / 3
    FROM numbers WHERE n BETWEEN 0 AND jobs - 1)
SELECT
  step, n, slot, now, fate, created, claimed, settled,
  printf('%08x-%04x-7%03x-8%03x-%012x', created / 65536, created % 65536, n * 2654435761 % 4096,
    n * 1099511627689 % 1152921504606846976 / 281474976710656,
    n * 1099511627689 % 281474976710656) AS id,
  printf('queue_%02d', (n + n / 50) % 50) AS queue,
  'worker_' || (n % 8) AS worker,
  CASE fate WHEN 'dead' THEN 'once' ELSE 'default' END AS policy,
  CASE fate WHEN 'quarantined' THEN 'permanent' ELSE 'transient' END AS class,
  CASE WHEN fate = 'quarantined' THEN CASE n / 50 % 3 WHEN 0 THEN 'schema_violation'
      WHEN 1 THEN 'invalid_signature' ELSE 'unsupported_format' END
    ELSE CASE n / 50 % 3 WHEN 0 THEN 'timeout' WHEN 1 THEN 'rate_limited'
      ELSE 'connection_refused' END END AS reason
FROM steps
