-- Writes the current state of every job of the plan.
INSERT INTO jobs
  (id, idempotency_key, queue, kind, payload, created_at, state, state_since, updated_at, version,
   fence, attempt, available_at, first_attempt_at, worker, lease_expires_at, policy, policy_version,
   output_ref, error_class, reason, error, event, actor_kind, actor)
SELECT
  id, 'bench:' || n, queue, 'collect_invoice', jsonb_build_object('invoice', n), created, fate,
  CASE fate WHEN 'ready' THEN created WHEN 'running' THEN claimed ELSE settled END,
  CASE fate WHEN 'ready' THEN created WHEN 'running' THEN claimed ELSE settled END,
  CASE fate WHEN 'ready' THEN 1 WHEN 'running' THEN 2 ELSE 3 END,
  (fate <> 'ready')::integer,
  (fate <> 'ready')::integer,
  CASE fate WHEN 'retry_wait' THEN now + (60 + n / 250 % 3600) * interval '1 second'
    ELSE created END,
  CASE WHEN fate <> 'ready' THEN claimed END,
  CASE WHEN fate = 'running' THEN worker END,
  CASE WHEN fate = 'running' THEN now + interval '1 hour' END,
  policy, 1,
  CASE WHEN fate = 'succeeded' THEN 'receipt:' || n END,
  CASE WHEN fate IN ('dead', 'quarantined', 'retry_wait') THEN class END,
  CASE WHEN fate IN ('dead', 'quarantined', 'retry_wait') THEN reason END,
  CASE WHEN fate IN ('dead', 'quarantined', 'retry_wait')
    THEN 'the far side said no to invoice ' || n || ' of host 10.0.0.' || n % 250 || ' ' END,
  CASE fate WHEN 'ready' THEN 'enqueue' WHEN 'running' THEN 'claim' WHEN 'dead' THEN 'exhaust'
    WHEN 'quarantined' THEN 'reject' WHEN 'retry_wait' THEN 'retry' ELSE 'succeed' END,
  CASE fate WHEN 'ready' THEN 'producer' ELSE 'worker' END,
  CASE fate WHEN 'ready' THEN 'bench' ELSE worker END
FROM plan, seed
WHERE step = 0
