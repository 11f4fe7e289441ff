-- Whether this very act stands as the event after the version that was seen: its answer was lost, and it is asked
-- for again. ?1: the job; ?2: the version that was seen; ?3: the event; ?4: the operator; ?5: why.
-- Index: job_events (job_id, version). Lock: none beyond the transaction's.
SELECT to_state AS state, version FROM job_events
WHERE job_id = ?1 AND event = ?3
  AND (version = ?2 + 1 OR ?3 = 'revoke' AND version > ?2 AND fence = 1 + (
    SELECT s.fence FROM job_events s
    WHERE s.job_id = ?1 AND s.version = ?2 AND s.to_state = 'running'))
  AND actor_kind = 'operator' AND actor = ?4
  AND note IS ?5
