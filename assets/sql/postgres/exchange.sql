-- Settles the attempts of a worker and claims its next jobs: two updates in one statement, so that the
-- trigger on jobs fires once for both. $1..$8 settlements as parallel arrays (id, fence, verdict, output
-- reference, class, reason, error, delay in ms); $9 worker; $10..$12 lanes as parallel arrays (queue,
-- tenant, limit); $13 length of a lease in ms. Returns the settlements that matched and the jobs claimed;
-- a settlement without a row was not current.
-- The plan is made once, for whatever arrays come: jobs are named by arrays of ids and never joined to the
-- lanes, whose limits the planner would take for a tenth of all ready jobs, and so scan the table. A
-- worker stands on running jobs only; naming the state too would lure the planner to jobs_leases.
-- Index: jobs_pkey to settle, jobs_ready to claim. Lock: the rows settled and claimed; skips rows that
-- other workers are claiming, waits for nobody but a writer of one of its own jobs.
WITH stamp AS MATERIALIZED (SELECT clock_timestamp() AS now),
asked AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[],
                       $7::text[], $8::bigint[])
    AS s (id, fence, verdict, output_ref, error_class, reason, error, delay_ms)
),
settled AS (
  UPDATE jobs j SET
    (event, state) = (
      SELECT
        CASE WHEN s.verdict <> 'retry' THEN s.verdict WHEN spent THEN 'exhaust' ELSE 'retry' END,
        CASE s.verdict
          WHEN 'succeed' THEN 'succeeded' WHEN 'reject' THEN 'quarantined' WHEN 'release' THEN 'ready'
          ELSE CASE WHEN spent THEN 'dead' ELSE 'retry_wait' END END
      FROM (SELECT j.attempt >= p.max_attempts
              OR greatest(stamp.now, j.updated_at) + s.delay_ms * interval '1 millisecond'
                 > j.first_attempt_at + p.max_age_ms * interval '1 millisecond' AS spent) budget),
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
  FROM asked s CROSS JOIN stamp CROSS JOIN policies p
  WHERE j.id = s.id AND j.fence = s.fence AND j.worker = $9
    AND p.name = j.policy AND p.version = j.policy_version
  RETURNING j.id, j.state, j.version
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
  RETURNING j.*
)
SELECT
  0::bigint AS position, s.id, s.state, s.version, NULL::integer AS fence, NULL::integer AS attempt,
  NULL::integer AS redrives, NULL::text AS queue, NULL::text AS kind, NULL::text AS tenant,
  NULL::text AS idempotency_key, NULL::jsonb AS payload, NULL::text AS schema_version,
  NULL::timestamptz AS claimed_at, NULL::timestamptz AS lease_expires_at,
  NULL::timestamptz AS first_attempt_at, NULL::text AS policy, NULL::integer AS policy_version,
  NULL::integer AS max_attempts, NULL::bigint AS max_age_ms, NULL::bigint AS backoff_base_ms,
  NULL::bigint AS backoff_cap_ms, NULL::bigint AS retry_after_cap_ms, NULL::text AS on_unknown
FROM settled s
UNION ALL
SELECT
  (SELECT min(lane.position)
   FROM unnest($10::text[], $11::text[]) WITH ORDINALITY AS lane (queue, tenant, position)
   WHERE lane.queue = c.queue AND lane.tenant = c.tenant),
  c.id, c.state, c.version, c.fence, c.attempt, c.redrives, c.queue, c.kind, c.tenant,
  c.idempotency_key, c.payload, c.schema_version, c.updated_at, c.lease_expires_at,
  c.first_attempt_at, c.policy, c.policy_version, p.max_attempts, p.max_age_ms, p.backoff_base_ms,
  p.backoff_cap_ms, p.retry_after_cap_ms, p.on_unknown
FROM claimed c JOIN policies p ON p.name = c.policy AND p.version = c.policy_version
