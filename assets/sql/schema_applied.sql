-- Notes one migration as applied: $1 version, $2 name. Same transaction as the migration itself.
INSERT INTO ledgertop_schema (version, name) VALUES ($1, $2)
