-- Why an act changed nothing: the job as it is, and whether this very act (event, actor, note) stands as
-- the event after the version that was seen, because an earlier call's answer was lost. $1 id, $2 version
-- seen, $3 event, $4 actor, $5 note. No row: there is no such job.
-- Index: jobs_pkey, job_events_pkey. Lock: none.
SELECT j.state, j.version, e.to_state AS done_state, e.version AS done_version
FROM jobs j
LEFT JOIN job_events e ON e.job_id = j.id AND e.event = $3
  AND (e.version = $2::integer + 1 OR $3 = 'revoke' AND e.version > $2 AND e.fence = 1 + (
    SELECT s.fence FROM job_events s
    WHERE s.job_id = $1 AND s.version = $2 AND s.to_state = 'running'))
  AND e.actor_kind = 'operator' AND e.actor = $4 AND e.note IS NOT DISTINCT FROM $5
WHERE j.id = $1
