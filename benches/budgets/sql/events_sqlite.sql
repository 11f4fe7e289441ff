-- Writes the events of every job of the plan, in the order of their commits.
INSERT INTO job_events
  (job_id, version, event, from_state, to_state, at, from_since, queue, attempt, fence, actor_kind,
   actor, worker, error_class, reason, error, policy, policy_version, first_attempt_at,
   available_at, lease_expires_at, output_ref, idempotency_key)
SELECT
  id, step + 1,
  CASE step WHEN 0 THEN 'enqueue' WHEN 1 THEN 'claim' ELSE CASE fate WHEN 'dead' THEN 'exhaust'
    WHEN 'quarantined' THEN 'reject' WHEN 'retry_wait' THEN 'retry' ELSE 'succeed' END END,
  CASE step WHEN 1 THEN 'ready' WHEN 2 THEN 'running' END,
  CASE step WHEN 0 THEN 'ready' WHEN 1 THEN 'running' ELSE fate END,
  CASE step WHEN 0 THEN created WHEN 1 THEN claimed ELSE settled END,
  CASE step WHEN 1 THEN created WHEN 2 THEN claimed END,
  queue, min(step, 1), min(step, 1),
  CASE step WHEN 0 THEN 'producer' ELSE 'worker' END,
  CASE step WHEN 0 THEN 'bench' ELSE worker END,
  CASE WHEN step > 0 THEN worker END,
  CASE WHEN step = 2 AND fate <> 'succeeded' THEN class END,
  CASE WHEN step = 2 AND fate <> 'succeeded' THEN reason END,
  CASE WHEN step = 2 AND fate <> 'succeeded'
    THEN 'the far side said no to invoice ' || n || ' of host 10.0.0.' || n % 250 || ' ' END,
  policy, 1,
  CASE WHEN step > 0 THEN claimed END,
  CASE WHEN step = 2 AND fate = 'retry_wait'
    THEN now + (60 + n / 250 % 3600) * 1000 END,
  CASE WHEN step > 0 THEN CASE fate WHEN 'running' THEN now + 3600000
    ELSE claimed + 30000 END END,
  CASE WHEN step = 2 AND fate = 'succeeded' THEN 'receipt:' || n END,
  CASE WHEN step = 0 THEN 'bench:' || n END
FROM plan
WHERE step = 0 OR fate <> 'ready' AND (step = 1 OR fate <> 'running')
