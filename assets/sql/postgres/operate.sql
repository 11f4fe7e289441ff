-- An operator's act on one job, where its version is the one that was seen and its state one that the table
-- of transitions lets the act leave. A revoke also goes through where only renewals came between: the claim is
-- the same. $1 id, $2 version, $3 event, $4 state after, $5 states before, $6
-- actor, $7 note. No row: read the job to learn why.
-- Index: jobs_pkey, job_events_pkey. Lock: the one row.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now)
UPDATE jobs j SET
  event = $3,
  state = $4,
  version = j.version + 1,
  fence = CASE $3 WHEN 'revoke' THEN j.fence + 1 ELSE j.fence END,
  attempt = CASE $3 WHEN 'redrive' THEN 0 ELSE j.attempt END,
  unsettled = CASE $3 WHEN 'revoke' THEN j.unsettled + 1 ELSE j.unsettled END,
  redrives = CASE $3 WHEN 'redrive' THEN j.redrives + 1 ELSE j.redrives END,
  first_attempt_at = CASE $3 WHEN 'redrive' THEN NULL ELSE j.first_attempt_at END,
  available_at = CASE WHEN $3 IN ('redrive', 'promote')
    THEN least(j.available_at, greatest(stamp.now, j.updated_at)) ELSE j.available_at END,
  state_since = greatest(stamp.now, j.updated_at),
  updated_at = greatest(stamp.now, j.updated_at),
  worker = NULL,
  lease_expires_at = NULL,
  actor_kind = 'operator',
  actor = $6,
  note = $7,
  plan = NULL
FROM stamp
WHERE j.id = $1 AND j.state = ANY ($5::text[])
  AND (j.version = $2 OR $3 = 'revoke' AND j.version > $2 AND j.fence = (
    SELECT e.fence FROM job_events e
    WHERE e.job_id = $1 AND e.version = $2 AND e.to_state = 'running'))
RETURNING j.state, j.version
