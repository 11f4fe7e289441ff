-- A new draft. $1 id, $2 operation, $3 filter, $4 reason, $5 who, $6 canary, $7 batch_max, $8 rate_per_s, $9
-- stop_percent. No row: it is there already.
-- Index: plans_pkey. Lock: none.
INSERT INTO plans
  (id, operation, query, reason, created_by, canary, batch_max, rate_per_s, stop_percent, actor)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $5)
ON CONFLICT (id) DO NOTHING
