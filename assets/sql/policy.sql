-- One version of a policy. $1: its name; $2: the version.
-- Index: policies (name, version). Lock: none.
SELECT name, version, max_attempts, max_age_ms, backoff_base_ms, backoff_cap_ms,
  retry_after_cap_ms, on_unknown
FROM policies WHERE name = $1 AND version = $2
