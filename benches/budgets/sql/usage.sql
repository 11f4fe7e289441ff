-- What the server did for one user's statements.
SELECT
  coalesce(sum(calls), 0)::double precision AS statements,
  coalesce(sum(total_plan_time + total_exec_time), 0) AS server_ms,
  coalesce(sum(shared_blks_hit + shared_blks_read), 0)::double precision AS buffers
FROM pg_stat_statements
JOIN pg_roles ON pg_roles.oid = userid
WHERE rolname = $1
