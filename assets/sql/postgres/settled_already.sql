-- Of settlements that did not match: those that this very worker has settled the same way before, whose
-- answer was lost. $1 ids, $2 fences, $3 verdicts, $4 worker. Returns what the job became then.
-- Index: job_events_pkey; reads the few events of each job. Lock: none.
SELECT DISTINCT ON (s.id, s.fence) s.id, s.fence, e.to_state AS state, e.version
FROM unnest($1::uuid[], $2::integer[], $3::text[]) AS s (id, fence, verdict)
JOIN job_events e ON e.job_id = s.id AND e.fence = s.fence AND e.from_state = 'running'
  AND e.actor_kind = 'worker' AND e.actor = $4
  AND (e.event = s.verdict OR e.event = 'exhaust' AND s.verdict = 'retry')
ORDER BY s.id, s.fence, e.version
