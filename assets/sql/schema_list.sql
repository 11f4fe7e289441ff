-- The migrations that were applied, oldest first, each with the digest of its text. Where the table has no
-- such column, because a version of this program before the first release made it, the name `digest` means
-- the NULL beside it. Reads a tiny table, no lock.
SELECT s.version, (SELECT digest FROM ledgertop_schema n WHERE n.version = s.version) AS digest
FROM ledgertop_schema s CROSS JOIN (SELECT CAST(NULL AS text) AS digest) absent
ORDER BY s.version
