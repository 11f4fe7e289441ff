-- A new draft. ?1 id, ?2 operation, ?3 filter, ?4 reason, ?5 who, ?6 canary, ?7 batch_max, ?8 rate_per_s, ?9
-- stop_percent. Changes nothing where it is there already.
-- Index: id. Lock: the writer's.
INSERT INTO plans
  (id, operation, query, reason, created_by, canary, batch_max, rate_per_s, stop_percent, actor)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?5
WHERE NOT EXISTS (SELECT 1 FROM plans p WHERE p.id = ?1)
