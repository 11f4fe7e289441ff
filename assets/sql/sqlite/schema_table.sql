-- Makes the list of applied migrations where it is missing. Run inside the transaction of `init`.
CREATE TABLE IF NOT EXISTS ledgertop_schema (
  version    INTEGER NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL,
  -- SHA-256 of the text that was run, in hex: tells a ledger of another text under the same number
  digest     TEXT    NOT NULL,
  applied_at INTEGER NOT NULL
    DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
) STRICT;
