-- The ledger: jobs, their events, the table of transitions, retry policies, and the triggers that hold
-- every writer to the rules, whatever language it is written in. A change of a job says what happened in
-- the row itself; the triggers check it against the table of transitions and append the event in the same
-- transaction. Moments are milliseconds since 1970-01-01 UTC by SQLite's clock; ids are UUIDv7 as text.
-- Keeps to what SQLite 3.38 and later understand: a worker brings its own library. Messages that name a
-- job go through json_extract, the only function whose error text carries a value there (RAISE takes
-- literals only before 3.47): they read  JSON path error near 'ledger: job ...'.
-- Cost: creates empty tables; at once.

CREATE TABLE transitions (
  event          TEXT    NOT NULL,
  from_state     TEXT    NOT NULL, -- '' for the event that creates the job
  to_state       TEXT    NOT NULL,
  actor_kind     TEXT    NOT NULL,
  fence_step     INTEGER NOT NULL CHECK (fence_step IN (0, 1)),
  attempt_step   TEXT    NOT NULL CHECK (attempt_step IN ('keep', 'next', 'give_back', 'reset')),
  failure        TEXT    NOT NULL CHECK (failure IN ('silent', 'entered', 'carried')),
  -- 1 where it ends an attempt of which its worker never said how it went
  unsettled_step INTEGER NOT NULL CHECK (unsettled_step IN (0, 1)),
  PRIMARY KEY (event, from_state, to_state, actor_kind)
) STRICT, WITHOUT ROWID;

INSERT INTO transitions
  (event, from_state, to_state, actor_kind, fence_step, attempt_step, failure, unsettled_step)
VALUES
  ('enqueue', '', 'ready', 'producer', 0, 'keep', 'silent', 0),
  ('enqueue', '', 'pending', 'producer', 0, 'keep', 'silent', 0),
  ('children_done', 'pending', 'ready', 'system', 0, 'keep', 'silent', 0),
  ('claim', 'ready', 'running', 'worker', 1, 'next', 'silent', 0),
  ('renew', 'running', 'running', 'worker', 0, 'keep', 'silent', 0),
  ('succeed', 'running', 'succeeded', 'worker', 0, 'keep', 'silent', 0),
  ('retry', 'running', 'retry_wait', 'worker', 0, 'keep', 'entered', 0),
  ('exhaust', 'running', 'dead', 'worker', 0, 'keep', 'entered', 0),
  ('exhaust', 'running', 'dead', 'system', 0, 'keep', 'entered', 1),
  ('reject', 'running', 'quarantined', 'worker', 0, 'keep', 'entered', 0),
  ('release', 'running', 'ready', 'worker', 0, 'give_back', 'silent', 0),
  ('lease_expire', 'running', 'ready', 'system', 0, 'keep', 'entered', 1),
  ('lease_expire', 'running', 'dead', 'system', 0, 'keep', 'entered', 1),
  ('due', 'retry_wait', 'ready', 'system', 0, 'keep', 'carried', 0),
  ('due', 'pending', 'ready', 'system', 0, 'keep', 'silent', 0),
  ('promote', 'retry_wait', 'ready', 'operator', 0, 'keep', 'carried', 0),
  ('quarantine', 'pending', 'quarantined', 'operator', 0, 'keep', 'carried', 0),
  ('quarantine', 'ready', 'quarantined', 'operator', 0, 'keep', 'carried', 0),
  ('quarantine', 'retry_wait', 'quarantined', 'operator', 0, 'keep', 'carried', 0),
  ('quarantine', 'dead', 'quarantined', 'operator', 0, 'keep', 'carried', 0),
  ('revoke', 'running', 'quarantined', 'operator', 1, 'keep', 'carried', 1),
  ('redrive', 'dead', 'ready', 'operator', 0, 'reset', 'carried', 0),
  ('redrive', 'quarantined', 'ready', 'operator', 0, 'reset', 'carried', 0),
  ('discard', 'dead', 'discarded', 'operator', 0, 'keep', 'carried', 0),
  ('discard', 'quarantined', 'discarded', 'operator', 0, 'keep', 'carried', 0),
  ('duplicate', 'pending', 'pending', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'pending', 'pending', 'producer', 0, 'keep', 'silent', 0),
  ('duplicate', 'ready', 'ready', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'ready', 'ready', 'producer', 0, 'keep', 'silent', 0),
  ('duplicate', 'running', 'running', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'running', 'running', 'producer', 0, 'keep', 'silent', 0),
  ('duplicate', 'retry_wait', 'retry_wait', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'retry_wait', 'retry_wait', 'producer', 0, 'keep', 'silent', 0),
  ('duplicate', 'succeeded', 'succeeded', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'succeeded', 'succeeded', 'producer', 0, 'keep', 'silent', 0),
  ('duplicate', 'dead', 'dead', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'dead', 'dead', 'producer', 0, 'keep', 'silent', 0),
  ('duplicate', 'quarantined', 'quarantined', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'quarantined', 'quarantined', 'producer', 0, 'keep', 'silent', 0),
  ('duplicate', 'discarded', 'discarded', 'worker', 0, 'keep', 'silent', 0),
  ('duplicate', 'discarded', 'discarded', 'producer', 0, 'keep', 'silent', 0),
  ('stale_refused', 'pending', 'pending', 'worker', 0, 'keep', 'silent', 0),
  ('stale_refused', 'ready', 'ready', 'worker', 0, 'keep', 'silent', 0),
  ('stale_refused', 'running', 'running', 'worker', 0, 'keep', 'silent', 0),
  ('stale_refused', 'retry_wait', 'retry_wait', 'worker', 0, 'keep', 'silent', 0),
  ('stale_refused', 'succeeded', 'succeeded', 'worker', 0, 'keep', 'silent', 0),
  ('stale_refused', 'dead', 'dead', 'worker', 0, 'keep', 'silent', 0),
  ('stale_refused', 'quarantined', 'quarantined', 'worker', 0, 'keep', 'silent', 0),
  ('stale_refused', 'discarded', 'discarded', 'worker', 0, 'keep', 'silent', 0);

CREATE TABLE policies (
  name               TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
  version            INTEGER NOT NULL CHECK (version >= 1),
  max_attempts       INTEGER NOT NULL CHECK (max_attempts BETWEEN 1 AND 2147483647),
  max_age_ms         INTEGER NOT NULL CHECK (max_age_ms BETWEEN 0 AND 3155760000000),
  backoff_base_ms    INTEGER NOT NULL CHECK (backoff_base_ms BETWEEN 0 AND 3155760000000),
  backoff_cap_ms     INTEGER NOT NULL CHECK (backoff_cap_ms BETWEEN 0 AND 3155760000000),
  retry_after_cap_ms INTEGER NOT NULL CHECK (retry_after_cap_ms BETWEEN 0 AND 3155760000000),
  on_unknown         TEXT    NOT NULL CHECK (on_unknown IN ('bounded_retry', 'hold')),
  created_at         INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)),
  created_by         TEXT    NOT NULL DEFAULT 'sql',
  PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

INSERT INTO policies
  (name, version, max_attempts, max_age_ms, backoff_base_ms, backoff_cap_ms, retry_after_cap_ms,
   on_unknown)
VALUES ('default', 1, 6, 86400000, 5000, 900000, 3600000, 'bounded_retry');

CREATE TABLE jobs (
  -- A UUIDv7 (RFC 9562, section 5.7): 48 bits of milliseconds, then random bits.
  id               TEXT    NOT NULL PRIMARY KEY DEFAULT (lower(
    substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)), 1, 8)
    || '-' || substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)), 9, 4)
    || '-7' || substr(hex(randomblob(2)), 2)
    || '-' || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(6)))),
  idempotency_key  TEXT    NOT NULL UNIQUE,
  queue            TEXT    NOT NULL,
  kind             TEXT    NOT NULL,
  tenant           TEXT    NOT NULL DEFAULT '',
  event_id         TEXT,
  schema_version   TEXT,
  payload          TEXT    NOT NULL DEFAULT '{}',
  parent_key       TEXT,
  required         INTEGER NOT NULL DEFAULT 1 CHECK (required IN (0, 1)),
  awaits_children  INTEGER NOT NULL DEFAULT 0 CHECK (awaits_children IN (0, 1)),
  created_at       INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)),
  -- the current state; what SQL written by hand leaves out ('' and 0) is filled in by the triggers
  state            TEXT    NOT NULL DEFAULT '',
  state_since      INTEGER NOT NULL DEFAULT 0,
  updated_at       INTEGER NOT NULL DEFAULT 0,
  version          INTEGER NOT NULL DEFAULT 1,
  fence            INTEGER NOT NULL DEFAULT 0,
  attempt          INTEGER NOT NULL DEFAULT 0,
  redrives         INTEGER NOT NULL DEFAULT 0,
  -- attempts that began and were never settled by their worker: their effects may have happened
  unsettled        INTEGER NOT NULL DEFAULT 0,
  available_at     INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)),
  first_attempt_at INTEGER,
  worker           TEXT,
  lease_expires_at INTEGER,
  policy           TEXT    NOT NULL DEFAULT 'default',
  policy_version   INTEGER NOT NULL DEFAULT 0,
  output_ref       TEXT,
  -- the last failure
  error_class      TEXT,
  reason           TEXT,
  error            TEXT,
  -- what happened last, and who did it
  event            TEXT    NOT NULL DEFAULT 'enqueue',
  actor_kind       TEXT    NOT NULL DEFAULT 'producer',
  actor            TEXT    NOT NULL DEFAULT 'sql',
  note             TEXT,
  plan             TEXT,
  CONSTRAINT jobs_version_is_positive CHECK (version >= 1 AND fence >= 0 AND attempt >= 0),
  CONSTRAINT jobs_reason_is_a_registered_word CHECK
    (reason IS NULL OR reason GLOB '[a-z]*' AND reason NOT GLOB '*[^a-z0-9_]*'
     AND length(reason) <= 64),
  CONSTRAINT jobs_error_class_is_known CHECK
    (error_class IS NULL OR error_class IN ('transient', 'permanent', 'unknown')),
  CONSTRAINT jobs_names_are_bounded CHECK
    (length(CAST(actor AS BLOB)) BETWEEN 1 AND 200
     AND (worker IS NULL OR length(CAST(worker AS BLOB)) BETWEEN 1 AND 200)),
  CONSTRAINT jobs_texts_are_bounded CHECK
    ((error IS NULL OR length(CAST(error AS BLOB)) <= 2000)
     AND (note IS NULL OR length(CAST(note AS BLOB)) <= 2000)
     AND (output_ref IS NULL OR length(CAST(output_ref AS BLOB)) <= 2000))
) STRICT;

CREATE TABLE job_events (
  -- In the order of commits: SQLite has one writer at a time, and no event is ever removed.
  seq                   INTEGER PRIMARY KEY,
  job_id                TEXT    NOT NULL,
  version               INTEGER NOT NULL,
  event                 TEXT    NOT NULL,
  from_state            TEXT,
  to_state              TEXT    NOT NULL,
  at                    INTEGER NOT NULL,
  from_since            INTEGER,
  queue                 TEXT    NOT NULL,
  attempt               INTEGER NOT NULL,
  fence                 INTEGER NOT NULL,
  actor_kind            TEXT    NOT NULL,
  actor                 TEXT    NOT NULL,
  worker                TEXT,
  error_class           TEXT,
  reason                TEXT,
  error                 TEXT,
  note                  TEXT,
  policy                TEXT    NOT NULL,
  policy_version        INTEGER NOT NULL,
  first_attempt_at      INTEGER,
  available_at          INTEGER,
  lease_expires_at      INTEGER,
  from_lease_expires_at INTEGER,
  output_ref            TEXT,
  plan                  TEXT,
  -- Of the event that creates a job only. Unique, so that INSERT OR REPLACE cannot put a job in the place
  -- of another: SQLite fires no trigger for the row that it replaces.
  idempotency_key       TEXT    UNIQUE,
  UNIQUE (job_id, version)
) STRICT;

-- Claims, the oldest ready job of a queue, and the count of ready jobs by second.
CREATE INDEX jobs_ready ON jobs (queue, tenant, state_since, id) WHERE state = 'ready';
-- What becomes due next, and the waiting jobs of a base load: a parent waits for its children only once,
-- but for each of its retries. A query must hold this very condition to use the index.
CREATE INDEX jobs_waiting ON jobs (available_at, id)
  WHERE state = 'retry_wait' OR state = 'pending' AND awaits_children = 0;
-- Parents that wait for children.
CREATE INDEX jobs_parents ON jobs (id) WHERE state = 'pending' AND awaits_children = 1;
-- Leases by the moment they end.
CREATE INDEX jobs_leases ON jobs (lease_expires_at, id) WHERE state = 'running';
-- Dead letters, oldest first.
CREATE INDEX jobs_dead_letters ON jobs (state, state_since, id)
  WHERE state IN ('dead', 'quarantined');
-- The required children of a parent that have not succeeded yet.
CREATE INDEX jobs_open_children ON jobs (parent_key)
  WHERE parent_key IS NOT NULL AND required = 1 AND state <> 'succeeded';
-- The family of a parent.
CREATE INDEX jobs_children ON jobs (parent_key, id) WHERE parent_key IS NOT NULL;
-- The jobs that a plan touched.
CREATE INDEX job_events_plan ON job_events (plan, job_id) WHERE plan IS NOT NULL;
-- What operators did, by time: a few events among millions.
CREATE INDEX job_events_operator ON job_events (at, job_id, version) WHERE actor_kind = 'operator';

-- The newest version of each policy, which a new job is put under.
CREATE VIEW newest_policies AS
  SELECT * FROM policies p
  WHERE p.version = (SELECT max(q.version) FROM policies q WHERE q.name = p.name);

-- The legal moves from a state, for messages.
CREATE VIEW legal_moves AS
  SELECT from_state,
    group_concat(event || ' to ' || to_state || ' (' || kinds || ')', ', ') AS moves
  FROM (SELECT from_state, event, to_state, group_concat(actor_kind, ' or ') AS kinds
        FROM transitions GROUP BY from_state, event, to_state)
  GROUP BY from_state;

-- What names a job never changes. Costs nothing where a statement does not name these columns.
CREATE TRIGGER jobs_keep_identity
BEFORE UPDATE OF id, idempotency_key, queue, kind, tenant, event_id, schema_version, payload,
  parent_key, required, created_at ON jobs
WHEN NEW.id IS NOT OLD.id OR NEW.idempotency_key IS NOT OLD.idempotency_key
  OR NEW.queue IS NOT OLD.queue OR NEW.kind IS NOT OLD.kind OR NEW.tenant IS NOT OLD.tenant
  OR NEW.event_id IS NOT OLD.event_id OR NEW.schema_version IS NOT OLD.schema_version
  OR NEW.payload IS NOT OLD.payload OR NEW.parent_key IS NOT OLD.parent_key
  OR NEW.required IS NOT OLD.required OR NEW.created_at IS NOT OLD.created_at
BEGIN
  SELECT json_extract('{}', 'ledger: job ' || OLD.id || ': id, idempotency_key, queue, kind, tenant, '
    || 'event_id, schema_version, payload, parent_key, required and created_at never change; '
    || 'nothing was changed');
END;

CREATE TRIGGER jobs_create AFTER INSERT ON jobs
BEGIN
  -- Fills in what SQL written by hand leaves out. A writer that sets updated_at sets all the rest too.
  UPDATE jobs SET
    updated_at = NEW.created_at,
    state_since = NEW.created_at,
    available_at = CASE WHEN NEW.available_at BETWEEN NEW.created_at AND CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
      THEN NEW.created_at ELSE NEW.available_at END,
    awaits_children = max(NEW.awaits_children, EXISTS (
      SELECT 1 FROM jobs c WHERE c.parent_key = NEW.idempotency_key AND c.required = 1
        AND c.state <> 'succeeded')),
    policy_version = CASE WHEN NEW.policy_version <> 0 THEN NEW.policy_version ELSE coalesce(
      (SELECT max(version) FROM policies WHERE name = NEW.policy), 0) END
  WHERE id = NEW.id AND NEW.updated_at = 0;
  UPDATE jobs SET
    state = CASE WHEN awaits_children = 1 OR available_at > created_at THEN 'pending'
      ELSE 'ready' END
  WHERE id = NEW.id AND NEW.state = '';

  INSERT INTO job_events
    (job_id, version, event, to_state, at, queue, attempt, fence, actor_kind, actor, note,
     policy, policy_version, available_at, plan, idempotency_key)
  SELECT
    n.id, n.version, n.event, n.state, n.updated_at, n.queue, 0, 0, n.actor_kind, n.actor, n.note,
    n.policy, n.policy_version, CASE WHEN n.state = 'pending' THEN n.available_at END, n.plan,
    n.idempotency_key
  FROM jobs n
  JOIN transitions t ON t.event = n.event AND t.from_state = '' AND t.to_state = n.state
    AND t.actor_kind = n.actor_kind
  JOIN policies p ON p.name = n.policy AND p.version = n.policy_version
  WHERE n.id = NEW.id
    AND n.version = 1 AND n.fence = 0 AND n.attempt = 0 AND n.redrives = 0 AND n.unsettled = 0
    AND n.state_since = n.created_at AND n.updated_at = n.created_at
    AND n.created_at = CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
    AND (n.state = 'ready') = (n.awaits_children = 0 AND n.available_at <= n.created_at)
    AND n.first_attempt_at IS NULL AND n.lease_expires_at IS NULL AND n.worker IS NULL
    AND n.output_ref IS NULL AND n.error_class IS NULL AND n.reason IS NULL AND n.error IS NULL
    AND n.id GLOB '????????-????-7???-[89ab]???-????????????' AND length(n.id) = 36
    AND n.id NOT GLOB '*[^0-9a-f-]*'
    AND json_valid(n.payload) AND length(CAST(n.payload AS BLOB)) <= 16384
    AND length(CAST(n.idempotency_key AS BLOB)) BETWEEN 1 AND 512
    AND length(CAST(n.queue AS BLOB)) BETWEEN 1 AND 200
    AND length(CAST(n.kind AS BLOB)) BETWEEN 1 AND 200
    AND length(CAST(n.tenant AS BLOB)) <= 200
    AND coalesce(length(CAST(n.event_id AS BLOB)) <= 200, 1)
    AND coalesce(length(CAST(n.schema_version AS BLOB)) <= 200, 1)
    AND coalesce(length(CAST(n.parent_key AS BLOB)) <= 512, 1)
    -- a parent that is there already must still be waiting
    AND (n.parent_key IS NULL OR n.required = 0 OR coalesce((
      SELECT parent.state = 'pending' AND parent.awaits_children = 1 FROM jobs parent
      WHERE parent.idempotency_key = n.parent_key), 1));

  SELECT json_extract('{}', 'ledger: job ' || n.id || ' (key "' || substr(n.idempotency_key, 1, 100)
    || '"): ' || CASE
    WHEN NOT EXISTS (SELECT 1 FROM transitions t WHERE t.event = n.event AND t.from_state = ''
                     AND t.to_state = n.state AND t.actor_kind = n.actor_kind)
      THEN 'event "' || n.event || '" may not create it in state ' || n.state || ' as '
        || n.actor_kind || '; legal: enqueue to ready or to pending (producer)'
    WHEN NOT EXISTS (SELECT 1 FROM policies p
                     WHERE p.name = n.policy AND p.version = n.policy_version)
      THEN 'there is no policy "' || n.policy || '"'
        || CASE WHEN n.policy_version > 0 THEN ' version ' || n.policy_version ELSE '' END
    WHEN n.id NOT GLOB '????????-????-7???-[89ab]???-????????????'
      OR n.id GLOB '*[^0-9a-f-]*'
      THEN 'its id is not a UUIDv7 in lower case; leave id out and the ledger makes one'
    WHEN NOT json_valid(n.payload) THEN 'its payload is not JSON'
    WHEN length(CAST(n.payload AS BLOB)) > 16384
      THEN 'its payload has ' || length(CAST(n.payload AS BLOB)) || ' bytes, at most 16384 are kept: '
        || 'store the body elsewhere and enqueue a reference'
    WHEN n.required = 1 AND EXISTS (SELECT 1 FROM jobs parent
        WHERE parent.idempotency_key = n.parent_key
          AND NOT (parent.state = 'pending' AND parent.awaits_children = 1))
      THEN 'its parent "' || n.parent_key || '" does not wait for it (it is ' || (
        SELECT parent.state FROM jobs parent WHERE parent.idempotency_key = n.parent_key)
        || '): enqueue children before or together with their parent'
    WHEN (n.state = 'ready') = (n.awaits_children = 1 OR n.available_at > n.created_at)
      THEN 'in state ' || n.state || ' it would be due at ' || n.available_at
        || CASE WHEN n.awaits_children THEN ' and await children' ELSE '' END
        || '; leave state out and the ledger sets it'
    ELSE 'a new job has version 1, fence, attempt, redrives and unsettled 0, state_since, updated_at '
      || 'and created_at alike and by SQLite''s clock, names of 1 to 200 bytes, a key of 1 to 512, '
      || 'and no failure, lease or output' END || '; nothing was changed')
  FROM jobs n
  WHERE n.id = NEW.id
    AND NOT EXISTS (SELECT 1 FROM job_events e WHERE e.job_id = n.id AND e.version = 1);
END;

-- Runs for a row whose event is written; the filling in of a row whose event is not is left alone.
CREATE TRIGGER jobs_change AFTER UPDATE ON jobs
WHEN EXISTS (SELECT 1 FROM job_events e WHERE e.job_id = OLD.id AND e.version = OLD.version)
BEGIN
  -- Fills in what SQL written by hand leaves out. A name or a note left over from the event before was
  -- not said about this one.
  UPDATE jobs SET
    updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), OLD.updated_at),
    state_since = CASE WHEN NEW.state = OLD.state THEN OLD.state_since
      ELSE max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), OLD.updated_at) END,
    worker = CASE WHEN NEW.state = 'running' THEN
      CASE WHEN NEW.event = 'claim' THEN coalesce(NEW.worker, NEW.actor) ELSE NEW.worker END END,
    lease_expires_at = CASE WHEN NEW.state = 'running' THEN NEW.lease_expires_at END,
    fence = CASE WHEN NEW.event IN ('claim', 'revoke') AND NEW.fence = OLD.fence
      THEN OLD.fence + 1 ELSE NEW.fence END,
    attempt = CASE
      WHEN NEW.event = 'claim' AND NEW.attempt = OLD.attempt THEN OLD.attempt + 1
      WHEN NEW.event = 'release' AND NEW.attempt = OLD.attempt THEN OLD.attempt - 1
      WHEN NEW.event = 'redrive' THEN 0 ELSE NEW.attempt END,
    first_attempt_at = CASE
      WHEN NEW.event = 'claim' THEN coalesce(OLD.first_attempt_at, max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), OLD.updated_at))
      WHEN NEW.event = 'redrive' THEN NULL ELSE NEW.first_attempt_at END,
    redrives = CASE WHEN NEW.event = 'redrive' THEN OLD.redrives + 1 ELSE NEW.redrives END,
    unsettled = CASE WHEN OLD.state = 'running' AND NEW.unsettled = OLD.unsettled
      THEN OLD.unsettled + coalesce((
        SELECT t.unsettled_step FROM transitions t WHERE t.event = NEW.event
          AND t.from_state = OLD.state AND t.to_state = NEW.state
          AND t.actor_kind = NEW.actor_kind), 0) ELSE NEW.unsettled END,
    available_at = CASE WHEN NEW.event IN ('promote', 'redrive')
      THEN min(NEW.available_at, max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), OLD.updated_at)) ELSE NEW.available_at END,
    actor = CASE WHEN NEW.actor = OLD.actor
      AND (NEW.actor_kind = 'operator' OR NEW.actor_kind <> OLD.actor_kind)
      THEN 'sql' ELSE NEW.actor END,
    note = CASE WHEN NEW.note = OLD.note THEN NULL ELSE NEW.note END,
    plan = CASE WHEN NEW.actor_kind = 'operator' AND NEW.plan = OLD.plan THEN NULL ELSE NEW.plan END
  WHERE id = NEW.id AND NEW.updated_at = OLD.updated_at AND NEW.version = OLD.version + 1;

  INSERT INTO job_events
    (job_id, version, event, from_state, to_state, at, from_since, queue, attempt, fence,
     actor_kind, actor, worker, error_class, reason, error, note, policy, policy_version,
     first_attempt_at, available_at, lease_expires_at, from_lease_expires_at, output_ref, plan)
  SELECT
    n.id, n.version, n.event, OLD.state, n.state, n.updated_at, OLD.state_since, n.queue,
    n.attempt, n.fence, n.actor_kind, n.actor, coalesce(n.worker, OLD.worker),
    CASE WHEN t.failure <> 'silent' THEN n.error_class END,
    CASE WHEN t.failure <> 'silent' THEN n.reason END,
    CASE WHEN t.failure = 'entered' THEN n.error END,
    n.note, n.policy, n.policy_version,
    coalesce(n.first_attempt_at, OLD.first_attempt_at),
    CASE WHEN n.state IN ('pending', 'retry_wait') THEN n.available_at
         WHEN OLD.state IN ('pending', 'retry_wait') THEN OLD.available_at END,
    coalesce(n.lease_expires_at, OLD.lease_expires_at),
    CASE WHEN n.event = 'renew' THEN OLD.lease_expires_at END,
    CASE WHEN n.event = 'succeed' THEN n.output_ref END,
    n.plan
  FROM jobs n
  JOIN transitions t ON t.event = n.event AND t.from_state = OLD.state AND t.to_state = n.state
    AND t.actor_kind = n.actor_kind
  JOIN policies p ON p.name = n.policy AND p.version = n.policy_version
  WHERE n.id = NEW.id
    AND n.version = OLD.version + 1
    AND n.awaits_children = OLD.awaits_children
    AND n.fence = OLD.fence + t.fence_step
    AND n.attempt = CASE t.attempt_step
      WHEN 'next' THEN OLD.attempt + 1 WHEN 'give_back' THEN OLD.attempt - 1 WHEN 'reset' THEN 0
      ELSE OLD.attempt END
    AND n.redrives = OLD.redrives + (n.event = 'redrive')
    AND n.unsettled = OLD.unsettled + t.unsettled_step
    AND (n.policy_version = OLD.policy_version AND n.policy = OLD.policy OR n.event = 'redrive')
    -- the database's clock, and never backwards
    AND n.updated_at = max(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), OLD.updated_at)
    AND n.state_since = CASE WHEN n.state = OLD.state THEN OLD.state_since ELSE n.updated_at END
    AND CASE t.failure WHEN 'entered' THEN n.error_class IS NOT NULL AND n.reason IS NOT NULL
      ELSE n.error_class IS OLD.error_class AND n.reason IS OLD.reason
        AND n.error IS OLD.error END
    AND n.first_attempt_at IS CASE n.event
      WHEN 'claim' THEN coalesce(OLD.first_attempt_at, n.updated_at)
      WHEN 'redrive' THEN NULL ELSE OLD.first_attempt_at END
    -- running holds a lease of at most a day, and nothing else does
    AND (n.state = 'running') = (n.lease_expires_at IS NOT NULL)
    AND (n.state = 'running') = (n.worker IS NOT NULL)
    AND coalesce(n.lease_expires_at <= n.updated_at + 86400000, 1)
    -- what is not due is never ready, and only these events move the due time
    AND (n.state <> 'ready' OR n.available_at <= n.updated_at)
    AND (n.available_at = OLD.available_at
      OR n.event IN ('retry', 'exhaust', 'promote', 'redrive', 'lease_expire'))
    -- only the holder of a lease settles or renews, and nothing else touches the lease
    AND (OLD.state <> 'running' OR n.state = 'running' AND n.event <> 'renew'
      OR n.actor_kind <> 'worker' OR n.actor = OLD.worker)
    AND (n.event IN ('claim', 'renew') OR n.state <> 'running'
      OR n.lease_expires_at = OLD.lease_expires_at AND n.worker = OLD.worker)
    AND (n.event <> 'renew'
      OR n.worker = OLD.worker AND n.lease_expires_at >= OLD.lease_expires_at)
    -- budgets are decided inside the settling transition
    AND CASE n.event
      WHEN 'retry' THEN n.attempt < p.max_attempts
        AND n.available_at <= OLD.first_attempt_at + p.max_age_ms
      WHEN 'exhaust' THEN n.attempt >= p.max_attempts
        OR max(n.available_at, n.updated_at) > OLD.first_attempt_at + p.max_age_ms
      WHEN 'lease_expire' THEN OLD.lease_expires_at <= n.updated_at
        AND (n.state = 'dead') = (n.attempt >= p.max_attempts
          OR n.updated_at > OLD.first_attempt_at + p.max_age_ms)
      ELSE 1 END
    -- a parent waits for its required children
    AND (OLD.state <> 'pending' OR n.state <> 'ready'
      OR CASE n.event WHEN 'children_done' THEN OLD.awaits_children = 1 AND NOT EXISTS (
           SELECT 1 FROM jobs c WHERE c.parent_key = n.idempotency_key AND c.required = 1
             AND c.state <> 'succeeded')
         ELSE OLD.awaits_children = 0 END);

  SELECT json_extract('{}', 'ledger: job ' || n.id || ': ' || CASE
    WHEN n.version = OLD.version AND n.state = OLD.state AND n.event = OLD.event
      THEN 'a change must say what happened: set event, state, actor_kind, actor and '
        || 'version = version + 1'
    WHEN t.event IS NULL
      THEN 'event "' || n.event || '" may not move it from ' || OLD.state || ' to ' || n.state
        || ' as ' || n.actor_kind || '; legal from ' || OLD.state || ': '
        || coalesce((SELECT moves FROM legal_moves WHERE from_state = OLD.state), 'nothing')
    WHEN n.version <> OLD.version + 1
      THEN 'version must rise by one, from ' || OLD.version || ' to ' || (OLD.version + 1)
        || ', not to ' || n.version
    WHEN n.fence <> OLD.fence + t.fence_step
      THEN 'fence must be ' || (OLD.fence + t.fence_step) || ' after ' || n.event || ', not '
        || n.fence
    WHEN n.unsettled <> OLD.unsettled + t.unsettled_step
      THEN 'unsettled must be ' || (OLD.unsettled + t.unsettled_step) || ' after ' || n.event
        || ', not ' || n.unsettled
    WHEN p.name IS NULL
      THEN 'there is no policy "' || n.policy || '" version ' || n.policy_version
    WHEN t.failure = 'entered' AND (n.error_class IS NULL OR n.reason IS NULL)
      THEN n.event || ' must say why: set error_class and reason'
    WHEN n.event = 'retry' AND (n.attempt >= p.max_attempts
        OR n.available_at > OLD.first_attempt_at + p.max_age_ms)
      THEN 'the budget of policy "' || p.name || '" version ' || p.version || ' is spent (attempt '
        || n.attempt || ' of ' || p.max_attempts || ', at most ' || p.max_age_ms
        || ' ms from the first attempt): exhaust it'
    WHEN n.event = 'exhaust'
      THEN 'the budget of policy "' || p.name || '" version ' || p.version
        || ' is not spent (attempt ' || n.attempt || ' of ' || p.max_attempts || ', at most '
        || p.max_age_ms || ' ms from the first attempt): retry it'
    WHEN n.event = 'lease_expire' AND OLD.lease_expires_at > n.updated_at
      THEN 'its lease runs until ' || OLD.lease_expires_at
    WHEN n.event = 'lease_expire'
      THEN 'with the budget of policy "' || p.name || '" version ' || p.version || ' it becomes '
        || CASE n.state WHEN 'ready' THEN 'dead' ELSE 'ready' END
    WHEN n.state = 'ready' AND n.available_at > n.updated_at
      THEN 'it is not due until ' || n.available_at || ', and what is not due is never ready'
    WHEN OLD.state = 'running' AND n.actor_kind = 'worker' AND n.actor <> OLD.worker
      THEN 'worker "' || OLD.worker || '" holds it, not "' || n.actor || '"'
    WHEN OLD.awaits_children = 1 AND n.state = 'ready'
      THEN 'it waits for required children that have not succeeded'
    ELSE n.event || ' may not change what this update changes (attempt, redrives, available_at, '
      || 'first_attempt_at, lease, policy, last failure, awaits_children, state_since or '
      || 'updated_at)' END || '; nothing was changed')
  FROM jobs n
  LEFT JOIN transitions t ON t.event = n.event AND t.from_state = OLD.state
    AND t.to_state = n.state AND t.actor_kind = n.actor_kind
  LEFT JOIN policies p ON p.name = n.policy AND p.version = n.policy_version
  WHERE n.id = NEW.id
    AND (n.version <> OLD.version + 1 OR NOT EXISTS (
      SELECT 1 FROM job_events e WHERE e.job_id = n.id AND e.version = n.version));
END;

-- What is written once stays as it was written.
CREATE TRIGGER jobs_stay BEFORE DELETE ON jobs
BEGIN SELECT RAISE(ABORT, 'ledger: a job is never removed by hand; discard it instead'); END;
CREATE TRIGGER job_events_stay BEFORE DELETE ON job_events
BEGIN SELECT RAISE(ABORT, 'ledger: history is append-only, an event is never removed'); END;
CREATE TRIGGER job_events_keep BEFORE UPDATE ON job_events
BEGIN SELECT RAISE(ABORT, 'ledger: history is append-only, an event never changes'); END;
-- The triggers on jobs write the event of the version that the row has just reached, once.
CREATE TRIGGER job_events_by_triggers_only BEFORE INSERT ON job_events
WHEN EXISTS (SELECT 1 FROM job_events e WHERE e.job_id = NEW.job_id AND e.version = NEW.version)
  OR EXISTS (SELECT 1 FROM job_events e WHERE e.seq = NEW.seq)
  OR EXISTS (SELECT 1 FROM job_events e WHERE e.idempotency_key = NEW.idempotency_key)
  OR NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = NEW.job_id AND j.version = NEW.version)
BEGIN SELECT RAISE(ABORT, 'ledger: history is written by the ledger alone'); END;
CREATE TRIGGER policies_stay BEFORE DELETE ON policies
BEGIN SELECT RAISE(ABORT, 'ledger: a policy version is never removed'); END;
CREATE TRIGGER policies_keep BEFORE UPDATE ON policies
BEGIN SELECT RAISE(ABORT, 'ledger: a policy version never changes; add a new version'); END;
CREATE TRIGGER policies_once BEFORE INSERT ON policies
WHEN EXISTS (SELECT 1 FROM policies p WHERE p.name = NEW.name AND p.version = NEW.version)
BEGIN SELECT RAISE(ABORT, 'ledger: a policy version never changes; add a new version'); END;
CREATE TRIGGER transitions_stay BEFORE DELETE ON transitions
BEGIN SELECT RAISE(ABORT, 'ledger: the table of transitions changes only with a migration'); END;
CREATE TRIGGER transitions_keep BEFORE UPDATE ON transitions
BEGIN SELECT RAISE(ABORT, 'ledger: the table of transitions changes only with a migration'); END;
CREATE TRIGGER transitions_closed BEFORE INSERT ON transitions
BEGIN SELECT RAISE(ABORT, 'ledger: the table of transitions changes only with a migration'); END;
