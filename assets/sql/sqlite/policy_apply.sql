-- Adds a version of a policy, unless the newest has these very rules. ?1 to ?7: name, max_attempts,
-- max_age_ms, backoff_base_ms, backoff_cap_ms, retry_after_cap_ms, on_unknown; ?8: who.
-- Index: policies (name, version). Lock: the writer's.
INSERT INTO policies
  (name, version, max_attempts, max_age_ms, backoff_base_ms, backoff_cap_ms, retry_after_cap_ms,
   on_unknown, created_by)
SELECT ?1, coalesce((SELECT max(version) FROM policies WHERE name = ?1), 0) + 1,
  ?2, ?3, ?4, ?5, ?6, ?7, ?8
WHERE NOT EXISTS (
  SELECT 1 FROM newest_policies
  WHERE name = ?1 AND max_attempts = ?2 AND max_age_ms = ?3 AND backoff_base_ms = ?4
    AND backoff_cap_ms = ?5 AND retry_after_cap_ms = ?6 AND on_unknown = ?7)
