-- The children of a parent ($1: its key), required ones first, at most $2, and how many there are, counted up
-- to $3. Index: jobs_children. Lock: none.
SELECT c.id, c.idempotency_key, c.required, c.state,
  (SELECT count(*) FROM (SELECT 1 FROM jobs n WHERE n.parent_key = $1 LIMIT $3) counted) AS children
FROM jobs c WHERE c.parent_key = $1
ORDER BY c.required DESC, c.id LIMIT $2
