-- What operators did to jobs, and what was done to plans, the newest first. $1, $2, $3: moment, job or plan, and
-- version or number of the last act that was read; $4: at most so many. Of a plan the drafts, which changed
-- nothing yet, and the changes of executor are left out.
-- Index: job_events_operator, plan_events_at. Lock: none.
SELECT * FROM (
  (SELECT at, job_id, version, queue, event, from_state, to_state, actor, db_user, note, plan,
     NULL::text AS operation, NULL::bigint AS jobs
   FROM job_events
   WHERE actor_kind = 'operator' AND (at, job_id, version) < ($1, $2, $3)
   ORDER BY at DESC, job_id DESC, version DESC LIMIT $4)
  UNION ALL
  (SELECT at, plan, number, '', event, from_state, to_state, actor, db_user, note, plan, operation, jobs
   FROM plan_events
   WHERE event NOT IN ('draft', 'take') AND (at, plan) <= ($1, $2)
     AND (at, plan, number) < ($1, $2, $3)
   ORDER BY at DESC, plan DESC, number DESC LIMIT $4)
) acts
ORDER BY at DESC, job_id DESC, version DESC LIMIT $4
