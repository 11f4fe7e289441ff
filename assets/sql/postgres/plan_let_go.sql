-- An executor lets go of a plan before its lease ends, so that another may take it at once. $1 id, $2 fence.
-- Index: plans_pkey. Lock: the one row.
UPDATE plans p SET executor = NULL, lease_expires_at = NULL
WHERE p.id = $1 AND p.fence = $2 AND p.executor IS NOT NULL
