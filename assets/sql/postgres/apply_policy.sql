-- Makes rules the newest version of their policy, unless the newest version has the same. $1 name, $2 most
-- attempts, $3 longest age, $4 and $5 base and cap of the backoff, $6 cap of Retry-After (all in ms), $7 on
-- unknown, $8 who. Returns that version; no row: another version was added at the same moment, ask again.
-- Index: policies_pkey. Lock: the new row; waits for a transaction that is adding the same version.
WITH newest AS MATERIALIZED (
  SELECT p.*,
    (max_attempts, max_age_ms, backoff_base_ms, backoff_cap_ms, retry_after_cap_ms, on_unknown)
      = ($2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::text) AS same
  FROM policies p WHERE name = $1 ORDER BY version DESC LIMIT 1
),
added AS (
  INSERT INTO policies
    (name, version, max_attempts, max_age_ms, backoff_base_ms, backoff_cap_ms, retry_after_cap_ms,
     on_unknown, created_by)
  SELECT $1, coalesce((SELECT version FROM newest), 0) + 1, $2, $3, $4, $5, $6, $7, $8
  WHERE NOT EXISTS (SELECT 1 FROM newest WHERE same)
  ON CONFLICT DO NOTHING
  RETURNING version
)
SELECT version FROM added UNION ALL SELECT version FROM newest WHERE same
