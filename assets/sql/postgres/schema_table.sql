-- Makes the list of applied migrations where it is missing. Run under the lock of `init`.
CREATE TABLE IF NOT EXISTS ledgertop_schema (
  version    bigint      NOT NULL PRIMARY KEY,
  name       text        NOT NULL,
  -- SHA-256 of the text that was run, in hex: tells a ledger of another text under the same number
  digest     text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
