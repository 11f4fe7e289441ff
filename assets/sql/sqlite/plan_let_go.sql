-- An executor lets go of a plan before its lease ends, so that another may take it at once. ?1 id, ?2 fence.
-- Index: id. Lock: the writer's.
UPDATE plans SET executor = NULL, lease_expires_at = NULL
WHERE id = ?1 AND fence = ?2 AND executor IS NOT NULL
