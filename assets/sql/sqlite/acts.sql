-- What operators did, the newest first. ?1, ?2, ?3: moment, job and version of the last act that was read;
-- ?4: at most so many. Index: job_events_operator. Lock: none.
SELECT at, job_id, version, queue, event, from_state, to_state, actor, note, plan
FROM job_events
WHERE actor_kind = 'operator' AND (at, job_id, version) < (?1, ?2, ?3)
ORDER BY at DESC, job_id DESC, version DESC LIMIT ?4 + 0
