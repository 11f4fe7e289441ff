-- Of settlements that did not match: those that this very worker has settled the same way before, whose
-- answer was lost. $1 ids, $2 fences, $3 verdicts, $4 worker, $5 output references, $6 classes, $7 reasons.
-- Returns what the job became then, with
-- the place of the settlement in the arrays, from 1.
-- Index: job_events_pkey; reads the few events of each job. Lock: none.
SELECT DISTINCT ON (s.place) s.place, s.id, e.to_state AS state, e.version
FROM unnest($1::uuid[], $2::integer[], $3::text[], $5::text[], $6::text[], $7::text[])
  WITH ORDINALITY AS s (id, fence, verdict, output_ref, error_class, reason, place)
JOIN job_events e ON e.job_id = s.id AND e.fence = s.fence AND e.from_state = 'running'
  AND e.actor_kind = 'worker' AND e.actor = $4
  AND (e.event = s.verdict OR e.event = 'exhaust' AND s.verdict = 'retry')
  AND CASE e.event
    WHEN 'succeed' THEN e.output_ref IS NOT DISTINCT FROM s.output_ref
    WHEN 'release' THEN true
    ELSE e.error_class IS NOT DISTINCT FROM s.error_class AND e.reason IS NOT DISTINCT FROM s.reason END
ORDER BY s.place, e.version DESC
