-- The plan of a seeded ledger: a row for each step of each job, in the order of their commits. A slot
-- is one transaction of a hundred jobs, and every slot takes the same time, so that a larger ledger has
-- a longer past, not denser traffic. A step has one moment for its slot, as a batch of a real worker
-- has: step 0 enqueues, step 1 claims two slots later, step 2 settles two more later.
-- Needs the one row of the temporary table `seed` (jobs, start_ms, slot_ms, first_tx, now).
CREATE TEMPORARY VIEW plan AS
SELECT
  step, n, slot, fate, created, claimed, settled,
  (lpad(to_hex(start_ms + slot * slot_ms), 12, '0')
    || '7' || lpad(to_hex(n * 2654435761 % 4096), 3, '0')
    || '8' || lpad(to_hex(n * 1099511627689 % 1152921504606846976), 15, '0'))::uuid AS id,
  'queue_' || lpad(((n + n / 50) % 50)::text, 2, '0') AS queue,
  'worker_' || n % 8 AS worker,
  CASE fate WHEN 'dead' THEN 'once' ELSE 'default' END AS policy,
  CASE fate WHEN 'quarantined' THEN 'permanent' ELSE 'transient' END AS class,
  CASE fate WHEN 'quarantined'
    THEN (ARRAY['schema_violation', 'invalid_signature', 'unsupported_format'])[1 + n / 50 % 3]
    ELSE (ARRAY['timeout', 'rate_limited', 'connection_refused'])[1 + n / 50 % 3] END AS reason
FROM (
  SELECT
    step, n, slot, start_ms, slot_ms,
    CASE
      WHEN n % 5 = 0 THEN 'ready'
      WHEN n % 100 = 1 THEN 'dead'
      WHEN n % 100 = 51 THEN 'quarantined'
      WHEN n % 250 = 2 THEN 'retry_wait'
      WHEN n % 25 = 3 AND n >= jobs - 5000 THEN 'running'
      ELSE 'succeeded' END AS fate,
    to_timestamp(0) + (start_ms + slot * slot_ms) * interval '1 millisecond' AS created,
    to_timestamp(0) + (start_ms + (slot + 2) * slot_ms + slot_ms / 3)
      * interval '1 millisecond' AS claimed,
    to_timestamp(0) + (start_ms + (slot + 4) * slot_ms + slot_ms * 2 / 3)
      * interval '1 millisecond' AS settled
  FROM seed,
    generate_series(0, jobs / 100 * 3 + 11) AS part,
    LATERAL (SELECT part % 3 AS step, part / 3 - part % 3 * 2 AS slot) AS parts,
    LATERAL generate_series(slot * 100, slot * 100 + 99) AS n
  WHERE n BETWEEN 0 AND jobs - 1
) AS steps
