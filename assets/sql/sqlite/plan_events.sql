-- The last moves of a plan, the newest first. ?1 plan, ?2 at most so many.
-- Index: plan_events (plan, number). Lock: none.
SELECT e.number, e.event, e.to_state, e.at, e.actor, e.note
FROM plan_events e WHERE e.plan = ?1 ORDER BY e.number DESC LIMIT ?2 + 0
