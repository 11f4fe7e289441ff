-- Operates on the next waiting jobs of a plan and marks each with what became of it, in one statement. A
-- revoke also goes through where only renewals came between: the claim is the same. $1 plan, $2 at most so
-- many, $3 batch, $4 event, $5 state after, $6 states before, $7 who, $8 why, $9 the mark of what is done.
-- Index: plan_jobs_waiting, jobs_pkey, job_events_pkey. Lock: the jobs, by ascending id.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now),
taken AS MATERIALIZED (
  SELECT x.position, x.job_id, x.version FROM plan_jobs x
  WHERE x.plan = $1 AND x.outcome IS NULL
  ORDER BY x.position LIMIT $2
),
held AS MATERIALIZED (
  SELECT j.id, j.version, j.state, j.fence FROM jobs j
  WHERE j.id = ANY (ARRAY(SELECT job_id FROM taken))
  ORDER BY j.id
  FOR NO KEY UPDATE
),
judged AS MATERIALIZED (
  SELECT t.position, t.job_id, h.version AS found,
    CASE
      WHEN h.id IS NULL THEN 'missing'
      WHEN h.version <> t.version AND NOT ($4 = 'revoke' AND h.version > t.version
        AND h.state = 'running' AND h.fence = (
          SELECT e.fence FROM job_events e
          WHERE e.job_id = t.job_id AND e.version = t.version AND e.to_state = 'running'))
        THEN 'stale'
      WHEN h.state <> ALL ($6::text[]) THEN 'refused'
      ELSE $9 END AS outcome
  FROM taken t LEFT JOIN held h ON h.id = t.job_id
),
changed AS (
  UPDATE jobs j SET
    event = $4,
    state = $5,
    version = j.version + 1,
    fence = CASE $4 WHEN 'revoke' THEN j.fence + 1 ELSE j.fence END,
    attempt = CASE $4 WHEN 'redrive' THEN 0 ELSE j.attempt END,
    unsettled = CASE $4 WHEN 'revoke' THEN j.unsettled + 1 ELSE j.unsettled END,
    redrives = CASE $4 WHEN 'redrive' THEN j.redrives + 1 ELSE j.redrives END,
    first_attempt_at = CASE $4 WHEN 'redrive' THEN NULL ELSE j.first_attempt_at END,
    available_at = CASE WHEN $4 IN ('redrive', 'promote')
      THEN least(j.available_at, greatest(stamp.now, j.updated_at)) ELSE j.available_at END,
    state_since = greatest(stamp.now, j.updated_at),
    updated_at = greatest(stamp.now, j.updated_at),
    worker = NULL,
    lease_expires_at = NULL,
    actor_kind = 'operator',
    actor = $7,
    note = $8,
    plan = $1
  FROM stamp
  WHERE j.id = ANY (ARRAY(SELECT job_id FROM judged WHERE outcome = $9))
)
UPDATE plan_jobs x SET
  batch = $3,
  outcome = judged.outcome,
  version_after = CASE WHEN judged.outcome = $9 THEN judged.found + 1 END,
  settled_at = CASE WHEN judged.outcome <> 'open' THEN stamp.now END
FROM judged CROSS JOIN stamp
WHERE x.plan = $1 AND x.position = judged.position
RETURNING x.outcome
