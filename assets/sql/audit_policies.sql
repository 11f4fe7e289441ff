-- Every version of every policy: what an audit holds budgets against.
-- Index: policies (name, version). Lock: none.
SELECT name, version, max_attempts, max_age_ms, backoff_base_ms, backoff_cap_ms,
  retry_after_cap_ms, on_unknown
FROM policies
