-- Keeps parents where they are until their new children are in: $1 keys of parents.
-- Index: the unique key. Lock: the parents' rows, shared, by ascending id.
SELECT id FROM jobs WHERE idempotency_key = ANY ($1::text[]) ORDER BY id FOR SHARE
