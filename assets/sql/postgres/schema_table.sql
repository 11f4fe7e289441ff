-- Makes the list of applied migrations where it is missing. Run under the lock of `init`.
CREATE TABLE IF NOT EXISTS ledgertop_schema (
  version    bigint      NOT NULL PRIMARY KEY,
  name       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
