-- One job with its rules and its parent. ?1: its id, or null; ?2: its key, or null.
-- Index: id, idempotency_key, policies. Lock: none.
SELECT j.id, j.idempotency_key, j.queue, j.kind, j.tenant, j.state, j.state_since, j.version, j.fence, j.attempt,
  j.redrives, j.available_at, j.output_ref, j.created_at, j.error_class, j.reason, j.error, j.worker,
  j.lease_expires_at, j.policy, j.policy_version, j.unsettled, j.event_id, j.schema_version, j.payload,
  j.first_attempt_at, j.parent_key, j.required, parent.id AS parent_id, parent.state AS parent_state,
  p.max_attempts, p.max_age_ms, p.backoff_base_ms, p.backoff_cap_ms, p.retry_after_cap_ms, p.on_unknown,
  CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) AS now
FROM jobs j
LEFT JOIN policies p ON p.name = j.policy AND p.version = j.policy_version
LEFT JOIN jobs parent ON parent.idempotency_key = j.parent_key
WHERE j.id = ?1 OR j.idempotency_key = ?2
