-- Settles the attempts of a worker and claims its next jobs: two updates in one statement, so that the
-- trigger on jobs fires once for both. $1..$8 settlements as parallel arrays by ascending id (id, fence,
-- verdict, output reference, class, reason, error, delay in ms); $9 worker; $10..$12 lanes as parallel arrays
-- (queue, tenant, limit); $13 length of a lease in ms. Returns the settlements that matched, which have no
-- queue, and the jobs claimed; a settlement without a row was not current.
-- The plan is made once, for whatever arrays come: jobs are named by arrays of ids and never joined to the
-- lanes, whose limits the planner would take for a tenth of all ready jobs, and so scan the table. A
-- worker stands on running jobs only; naming the state too would lure the planner to jobs_leases.
-- Whatever is joined, computed or returned here is set up anew for each call, which is most of the time of a
-- small one: who called knows the order of its lanes, and keeps the policies, which never change.
-- Index: jobs_pkey to settle, jobs_ready to claim. Lock: the rows settled, by ascending id as every writer of
-- more than one row locks them, then the rows claimed; skips rows that other workers are claiming, waits for
-- nobody but a writer of one of its own jobs.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now),
settled AS (
  UPDATE jobs j SET
    (event, state) = (
      SELECT
        CASE WHEN s.verdict <> 'retry' THEN s.verdict WHEN spent THEN 'exhaust' ELSE 'retry' END,
        CASE s.verdict
          WHEN 'succeed' THEN 'succeeded' WHEN 'reject' THEN 'quarantined' WHEN 'release' THEN 'ready'
          ELSE CASE WHEN spent THEN 'dead' ELSE 'retry_wait' END END
      FROM (SELECT CASE s.verdict WHEN 'retry' THEN (
              SELECT j.attempt >= p.max_attempts
                OR greatest(stamp.now, j.updated_at) + s.delay_ms * interval '1 millisecond'
                   > j.first_attempt_at + p.max_age_ms * interval '1 millisecond'
              FROM policies p WHERE p.name = j.policy AND p.version = j.policy_version) END AS spent
            OFFSET 0) budget),
    available_at = CASE s.verdict
      WHEN 'retry' THEN greatest(stamp.now, j.updated_at) + s.delay_ms * interval '1 millisecond'
      ELSE j.available_at END,
    attempt = CASE s.verdict WHEN 'release' THEN j.attempt - 1 ELSE j.attempt END,
    output_ref = CASE s.verdict WHEN 'succeed' THEN s.output_ref ELSE j.output_ref END,
    error_class = CASE WHEN s.verdict IN ('retry', 'reject') THEN s.error_class ELSE j.error_class END,
    reason = CASE WHEN s.verdict IN ('retry', 'reject') THEN s.reason ELSE j.reason END,
    error = CASE WHEN s.verdict IN ('retry', 'reject') THEN s.error ELSE j.error END,
    version = j.version + 1,
    state_since = greatest(stamp.now, j.updated_at),
    updated_at = greatest(stamp.now, j.updated_at),
    worker = NULL,
    lease_expires_at = NULL,
    actor_kind = 'worker',
    actor = $9,
    note = NULL,
    plan = NULL
  FROM stamp CROSS JOIN
    unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
           $8::bigint[])
      AS s (id, fence, verdict, output_ref, error_class, reason, error, delay_ms)
  WHERE j.id = s.id AND j.fence = s.fence AND j.worker = $9
  RETURNING j.id, j.state, j.version, j.fence
),
picked AS MATERIALIZED (
  SELECT r.id
  FROM unnest($10::text[], $11::text[], $12::bigint[]) AS lane (queue, tenant, share)
  CROSS JOIN LATERAL (
    SELECT id FROM jobs
    WHERE state = 'ready' AND queue = lane.queue AND tenant = lane.tenant
    ORDER BY state_since, id
    LIMIT lane.share
    FOR NO KEY UPDATE SKIP LOCKED
  ) r
),
claimed AS (
  UPDATE jobs j SET
    event = 'claim',
    state = 'running',
    version = j.version + 1,
    fence = j.fence + 1,
    attempt = j.attempt + 1,
    first_attempt_at = coalesce(j.first_attempt_at, greatest(stamp.now, j.updated_at)),
    state_since = greatest(stamp.now, j.updated_at),
    updated_at = greatest(stamp.now, j.updated_at),
    worker = $9,
    lease_expires_at = greatest(stamp.now, j.updated_at) + $13::bigint * interval '1 millisecond',
    actor_kind = 'worker',
    actor = $9,
    note = NULL,
    plan = NULL
  FROM stamp
  WHERE j.id = ANY (ARRAY(SELECT id FROM picked))
  RETURNING j.id, j.state, j.version, j.fence, j.attempt, j.redrives, j.queue, j.kind, j.tenant,
    j.idempotency_key, j.payload, j.schema_version, j.updated_at AS claimed_at, j.lease_expires_at,
    j.first_attempt_at, j.policy, j.policy_version
)
SELECT * FROM claimed
UNION ALL
SELECT
  id, state, version, fence, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM settled
