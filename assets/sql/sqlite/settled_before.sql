-- The state and version that a settlement brought, where this very attempt was settled in this very way before:
-- its answer was lost, and it is asked for again. ?1: JSON array of one, as for settle.sql; ?2: the worker.
-- Index: job_events (job_id, version), the events of one job. Lock: none beyond the transaction's.
SELECT e.to_state AS state, e.version AS version
FROM json_each(?1) v
CROSS JOIN job_events e ON e.job_id = v.value ->> 0
WHERE e.fence = v.value ->> 1 AND e.actor_kind = 'worker' AND e.actor = ?2
  AND (e.event = v.value ->> 2 OR e.event = 'exhaust' AND v.value ->> 2 = 'retry')
  AND CASE e.event
    WHEN 'succeed' THEN e.output_ref IS v.value ->> 7
    WHEN 'release' THEN 1
    ELSE e.error_class IS v.value ->> 3 AND e.reason IS v.value ->> 4 END
ORDER BY e.version DESC LIMIT 1
