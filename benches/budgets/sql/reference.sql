-- One row of which the machine's rate of commits is measured.
CREATE TABLE IF NOT EXISTS bench_reference (id integer PRIMARY KEY, n bigint NOT NULL);
INSERT INTO bench_reference VALUES (1, 0) ON CONFLICT DO NOTHING;
