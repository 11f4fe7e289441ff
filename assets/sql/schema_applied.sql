-- Notes one migration as applied: $1 version, $2 name, $3 the digest of its text. Same transaction as the
-- migration itself.
INSERT INTO ledgertop_schema (version, name, digest) VALUES ($1, $2, $3)
