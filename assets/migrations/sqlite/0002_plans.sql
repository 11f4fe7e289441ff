-- Plans: bulk operations on jobs that are frozen (id and version) before they are approved, carried out
-- step by step under a lease. The database holds every writer to the rules: what a plan may become, that
-- its jobs never change once it is approved, that a job is operated on at most once per plan, and that no
-- event of a job names a plan that is not under way. Traffic that names no plan pays one comparison a row.
-- The same as for PostgreSQL, but that counts of progress could be changed by hand here: a trigger cannot
-- tell who fired it. Moments are milliseconds since 1970-01-01 UTC by SQLite's clock.
-- Cost: creates empty tables and adds a trigger to jobs; at once.

CREATE TABLE plan_transitions (
  event      TEXT NOT NULL,
  from_state TEXT NOT NULL, -- '' for the event that creates the plan
  to_state   TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  PRIMARY KEY (event, from_state, to_state, actor_kind)
) STRICT, WITHOUT ROWID;

INSERT INTO plan_transitions (event, from_state, to_state, actor_kind) VALUES
  ('draft', '', 'draft', 'operator'),
  ('approve', 'draft', 'running', 'operator'),
  ('take', 'running', 'running', 'system'),
  ('pause', 'running', 'paused', 'operator'),
  ('resume', 'paused', 'running', 'operator'),
  ('resume', 'stopped', 'running', 'operator'),
  ('stop', 'running', 'stopped', 'system'),
  ('finish', 'running', 'done', 'system'),
  ('cancel', 'draft', 'cancelled', 'operator'),
  ('cancel', 'running', 'cancelled', 'operator'),
  ('cancel', 'paused', 'cancelled', 'operator'),
  ('cancel', 'stopped', 'cancelled', 'operator');

CREATE TABLE plans (
  id               TEXT    NOT NULL PRIMARY KEY
    CHECK (length(id) = 36 AND id NOT GLOB '*[^0-9a-f-]*'),
  operation        TEXT    NOT NULL CHECK
    (operation IN ('quarantine', 'revoke', 'redrive', 'promote', 'discard')),
  query            TEXT    NOT NULL CHECK (length(CAST(query AS BLOB)) <= 2000),
  reason           TEXT    NOT NULL CHECK (length(CAST(reason AS BLOB)) BETWEEN 1 AND 2000),
  created_by       TEXT    NOT NULL DEFAULT 'sql'
    CHECK (length(CAST(created_by AS BLOB)) BETWEEN 1 AND 200),
  created_at       INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)),
  -- how it advances
  canary           INTEGER NOT NULL DEFAULT 1 CHECK (canary IN (0, 1)),
  batch_max        INTEGER NOT NULL DEFAULT 1000 CHECK (batch_max BETWEEN 1 AND 1000),
  rate_per_s       INTEGER NOT NULL DEFAULT 0 CHECK (rate_per_s BETWEEN 0 AND 1000000),
  stop_percent     INTEGER NOT NULL DEFAULT 20 CHECK (stop_percent BETWEEN 0 AND 100),
  -- where it stands
  state            TEXT    NOT NULL DEFAULT 'draft',
  state_since      INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)),
  updated_at       INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)),
  version          INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
  batch            INTEGER NOT NULL DEFAULT 0 CHECK (batch >= 0),
  first_batch      INTEGER NOT NULL DEFAULT 0 CHECK (first_batch >= 0),
  batch_jobs       INTEGER NOT NULL DEFAULT 0 CHECK (batch_jobs >= 0),
  chunk            INTEGER NOT NULL DEFAULT 0 CHECK (chunk >= 0),
  chunk_at         INTEGER,
  -- how its jobs stand: kept by the triggers on plan_jobs
  total            INTEGER NOT NULL DEFAULT 0,
  waiting          INTEGER NOT NULL DEFAULT 0 CHECK (waiting >= 0),
  open             INTEGER NOT NULL DEFAULT 0 CHECK (open >= 0),
  applied          INTEGER NOT NULL DEFAULT 0,
  succeeded        INTEGER NOT NULL DEFAULT 0,
  failed           INTEGER NOT NULL DEFAULT 0,
  stale            INTEGER NOT NULL DEFAULT 0,
  refused          INTEGER NOT NULL DEFAULT 0,
  missing          INTEGER NOT NULL DEFAULT 0,
  -- who carries it out
  executor         TEXT CHECK (executor IS NULL OR length(CAST(executor AS BLOB)) BETWEEN 1 AND 200),
  lease_expires_at INTEGER,
  fence            INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
  -- what happened last, and who did it
  event            TEXT    NOT NULL DEFAULT 'draft',
  actor_kind       TEXT    NOT NULL DEFAULT 'operator',
  actor            TEXT    NOT NULL DEFAULT 'sql'
    CHECK (length(CAST(actor AS BLOB)) BETWEEN 1 AND 200),
  note             TEXT CHECK (note IS NULL OR length(CAST(note AS BLOB)) <= 2000),
  CONSTRAINT plans_executor_holds_a_lease CHECK ((executor IS NULL) = (lease_expires_at IS NULL))
) STRICT;

CREATE TABLE plan_jobs (
  plan          TEXT    NOT NULL REFERENCES plans (id),
  position      INTEGER NOT NULL CHECK (position >= 0),
  job_id        TEXT    NOT NULL,
  -- as they were frozen
  version       INTEGER NOT NULL CHECK (version >= 1),
  state         TEXT,
  error_class   TEXT,
  reason        TEXT,
  -- what became of it: NULL waits; open is redriven and not terminal again
  batch         INTEGER,
  outcome       TEXT CHECK (outcome IS NULL OR outcome IN
    ('open', 'applied', 'succeeded', 'failed', 'stale', 'refused', 'missing')),
  version_after INTEGER,
  result_class  TEXT,
  result_reason TEXT,
  settled_at    INTEGER,
  PRIMARY KEY (plan, position),
  CONSTRAINT plan_jobs_a_job_at_most_once_per_plan UNIQUE (plan, job_id)
) STRICT, WITHOUT ROWID;
-- The next jobs to be operated on.
CREATE INDEX plan_jobs_waiting ON plan_jobs (plan, position) WHERE outcome IS NULL;
-- The jobs whose end is waited for.
CREATE INDEX plan_jobs_open ON plan_jobs (plan, position) WHERE outcome = 'open';
-- The jobs that failed again.
CREATE INDEX plan_jobs_failed ON plan_jobs (plan, position) WHERE outcome = 'failed';

CREATE TABLE plan_events (
  plan       TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  event      TEXT    NOT NULL,
  from_state TEXT,
  to_state   TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  operation  TEXT    NOT NULL,
  jobs       INTEGER NOT NULL,
  waiting    INTEGER NOT NULL,
  actor_kind TEXT    NOT NULL,
  actor      TEXT    NOT NULL,
  note       TEXT,
  PRIMARY KEY (plan, number)
) STRICT, WITHOUT ROWID;
-- The audit, newest first.
CREATE INDEX plan_events_at ON plan_events (at, plan);
-- Plans that an executor may take, or whose jobs are waited for.
CREATE INDEX plans_under_way ON plans (id) WHERE state = 'running' OR open > 0;

CREATE TRIGGER plans_create AFTER INSERT ON plans
BEGIN
  SELECT json_extract('{}', 'ledger: plan ' || NEW.id
    || ': a new plan is a draft without jobs; nothing was changed')
  WHERE NOT (NEW.state = 'draft' AND NEW.event = 'draft' AND NEW.actor_kind = 'operator'
    AND NEW.version = 1 AND NEW.fence = 0 AND NEW.batch = 0 AND NEW.first_batch = 0
    AND NEW.batch_jobs = 0 AND NEW.total = 0 AND NEW.waiting = 0 AND NEW.open = 0
    AND NEW.applied = 0 AND NEW.succeeded = 0 AND NEW.failed = 0 AND NEW.stale = 0
    AND NEW.refused = 0 AND NEW.missing = 0 AND NEW.executor IS NULL);
  INSERT INTO plan_events
    (plan, number, event, to_state, at, operation, jobs, waiting, actor_kind, actor, note)
  VALUES
    (NEW.id, 1, NEW.event, NEW.state, CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), NEW.operation, 0, 0, NEW.actor_kind, NEW.actor, NEW.note);
END;

CREATE TRIGGER plans_change AFTER UPDATE ON plans
BEGIN
  SELECT json_extract('{}', 'ledger: plan ' || OLD.id || ': ' || CASE
    WHEN NEW.id IS NOT OLD.id OR NEW.operation IS NOT OLD.operation OR NEW.query IS NOT OLD.query
      OR NEW.reason IS NOT OLD.reason OR NEW.created_by IS NOT OLD.created_by
      OR NEW.created_at IS NOT OLD.created_at OR NEW.canary IS NOT OLD.canary
      OR NEW.batch_max IS NOT OLD.batch_max OR NEW.rate_per_s IS NOT OLD.rate_per_s
      OR NEW.stop_percent IS NOT OLD.stop_percent
      THEN 'what a plan does, why, and how it advances never changes; cancel it and make another'
    WHEN NEW.version = OLD.version AND (NEW.state IS NOT OLD.state OR NEW.event IS NOT OLD.event
      OR NEW.actor_kind IS NOT OLD.actor_kind OR NEW.actor IS NOT OLD.actor
      OR NEW.note IS NOT OLD.note OR NEW.fence IS NOT OLD.fence)
      THEN 'a change must say what happened: set event, state, actor_kind, actor and '
        || 'version = version + 1'
    WHEN NEW.version = OLD.version AND NEW.executor IS NOT OLD.executor AND NEW.executor IS NOT NULL
      THEN 'another executor takes it with the event take'
    WHEN NEW.version = OLD.version THEN ''
    WHEN NEW.version <> OLD.version + 1
      THEN 'version must rise by one, from ' || OLD.version || ' to ' || (OLD.version + 1)
        || ', not to ' || NEW.version
    WHEN NOT EXISTS (SELECT 1 FROM plan_transitions t WHERE t.event = NEW.event
        AND t.from_state = OLD.state AND t.to_state = NEW.state AND t.actor_kind = NEW.actor_kind)
      THEN 'event "' || NEW.event || '" may not move it from ' || OLD.state || ' to ' || NEW.state
        || ' as ' || NEW.actor_kind || '; legal from ' || OLD.state || ': ' || coalesce((
          SELECT group_concat(t.event || ' to ' || t.to_state || ' (' || t.actor_kind || ')', ', ')
          FROM plan_transitions t WHERE t.from_state = OLD.state), 'nothing')
    WHEN NEW.fence <> OLD.fence + (NEW.event = 'take')
      THEN 'fence must be ' || (OLD.fence + (NEW.event = 'take')) || ' after ' || NEW.event || ', not '
        || NEW.fence
    WHEN NEW.event = 'take' AND NEW.executor IS NULL THEN 'an executor takes it under a name'
    WHEN NEW.event = 'take' AND OLD.lease_expires_at > CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)
      THEN 'executor "' || OLD.executor || '" carries it out until ' || OLD.lease_expires_at
    WHEN NEW.event = 'approve' AND NEW.total = 0 THEN 'it holds no job'
    WHEN NEW.event = 'finish' AND (NEW.waiting > 0 OR NEW.open > 0)
      THEN NEW.waiting || ' jobs wait and ' || NEW.open || ' are under way'
    ELSE '' END || '; nothing was changed')
  WHERE NOT (
    NEW.id IS OLD.id AND NEW.operation IS OLD.operation AND NEW.query IS OLD.query
    AND NEW.reason IS OLD.reason AND NEW.created_by IS OLD.created_by
    AND NEW.created_at IS OLD.created_at AND NEW.canary IS OLD.canary
    AND NEW.batch_max IS OLD.batch_max AND NEW.rate_per_s IS OLD.rate_per_s
    AND NEW.stop_percent IS OLD.stop_percent
    AND CASE WHEN NEW.version = OLD.version
      THEN NEW.state IS OLD.state AND NEW.event IS OLD.event AND NEW.actor_kind IS OLD.actor_kind
        AND NEW.actor IS OLD.actor AND NEW.note IS OLD.note AND NEW.fence IS OLD.fence
        AND (NEW.executor IS OLD.executor OR NEW.executor IS NULL)
      ELSE NEW.version = OLD.version + 1
        AND EXISTS (SELECT 1 FROM plan_transitions t WHERE t.event = NEW.event
          AND t.from_state = OLD.state AND t.to_state = NEW.state AND t.actor_kind = NEW.actor_kind)
        AND NEW.fence = OLD.fence + (NEW.event = 'take')
        AND (NEW.event <> 'take' OR NEW.executor IS NOT NULL
          AND coalesce(OLD.lease_expires_at <= CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), 1))
        AND (NEW.event <> 'approve' OR NEW.total > 0)
        AND (NEW.event <> 'finish' OR NEW.waiting = 0 AND NEW.open = 0) END);

  -- After a stop the jobs that are left begin again with one, alone.
  UPDATE plans SET
    updated_at = CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER),
    state_since = CASE WHEN NEW.state = OLD.state THEN OLD.state_since ELSE CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) END,
    executor = CASE WHEN NEW.state = 'running' THEN NEW.executor END,
    lease_expires_at = CASE WHEN NEW.state = 'running' THEN NEW.lease_expires_at END,
    batch = NEW.batch + (NEW.event = 'resume' AND OLD.state = 'stopped'),
    first_batch = CASE WHEN NEW.event = 'resume' AND OLD.state = 'stopped' THEN NEW.batch + 1
      ELSE NEW.first_batch END,
    batch_jobs = CASE WHEN NEW.event = 'resume' AND OLD.state = 'stopped' THEN 0
      ELSE NEW.batch_jobs END
  WHERE id = NEW.id AND NEW.version = OLD.version + 1;

  INSERT INTO plan_events
    (plan, number, event, from_state, to_state, at, operation, jobs, waiting, actor_kind, actor, note)
  SELECT NEW.id, NEW.version, NEW.event, OLD.state, NEW.state, CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER), NEW.operation, NEW.total,
    NEW.waiting, NEW.actor_kind, NEW.actor, NEW.note
  WHERE NEW.version = OLD.version + 1;
END;

-- Freezes jobs into drafts only, and counts them.
CREATE TRIGGER plan_jobs_freeze AFTER INSERT ON plan_jobs
BEGIN
  SELECT json_extract('{}', 'ledger: plan ' || NEW.plan || ' is ' || p.state
    || ': its jobs were frozen when it was approved; nothing was changed')
  FROM plans p WHERE p.id = NEW.plan AND p.state <> 'draft';
  SELECT json_extract('{}', 'ledger: plan ' || NEW.plan || ': a job that is frozen into a plan waits: '
    || 'it has no batch and no outcome; nothing was changed')
  WHERE NEW.outcome IS NOT NULL OR NEW.batch IS NOT NULL OR NEW.version_after IS NOT NULL
    OR NEW.settled_at IS NOT NULL;
  UPDATE plans SET total = total + 1, waiting = waiting + 1 WHERE id = NEW.plan;
END;

-- Holds outcomes to their order (waiting, then open or an end; open, then an end) and counts them.
CREATE TRIGGER plan_jobs_change AFTER UPDATE ON plan_jobs
BEGIN
  SELECT json_extract('{}', 'ledger: plan ' || OLD.plan || ' (' || p.state || '): job ' || OLD.job_id
    || ' may not go from ' || coalesce(OLD.outcome, 'waiting') || ' to '
    || coalesce(NEW.outcome, 'waiting') || ', or what was frozen would change; a job is operated on '
    || 'at most once per plan; nothing was changed')
  FROM plans p WHERE p.id = OLD.plan AND NOT (
    NEW.plan IS OLD.plan AND NEW.position IS OLD.position AND NEW.job_id IS OLD.job_id
    AND NEW.version IS OLD.version AND NEW.state IS OLD.state
    AND NEW.error_class IS OLD.error_class AND NEW.reason IS OLD.reason
    AND CASE
      WHEN OLD.outcome IS NULL THEN NEW.outcome IS NOT NULL AND p.state = 'running'
        AND NEW.outcome NOT IN ('succeeded', 'failed')
        AND (NEW.outcome = 'open') = (NEW.outcome IN ('open', 'applied') AND p.operation = 'redrive')
        AND (NEW.version_after > NEW.version) IS
          (CASE WHEN NEW.outcome IN ('open', 'applied') THEN 1 END)
      WHEN OLD.outcome = 'open' THEN NEW.outcome IN ('succeeded', 'failed')
        AND NEW.version_after = OLD.version_after AND NEW.batch = OLD.batch
      ELSE 0 END);
  UPDATE plans SET
    waiting = waiting - (OLD.outcome IS NULL),
    open = open + (NEW.outcome = 'open') - coalesce(OLD.outcome = 'open', 0),
    applied = applied + (NEW.outcome = 'applied'),
    succeeded = succeeded + (NEW.outcome = 'succeeded'),
    failed = failed + (NEW.outcome = 'failed'),
    stale = stale + (NEW.outcome = 'stale'),
    refused = refused + (NEW.outcome = 'refused'),
    missing = missing + (NEW.outcome = 'missing')
  WHERE id = NEW.plan;
END;

-- An operator's event that names a plan is one that the plan has just made, in this transaction. A plan
-- left over from the event before is taken away by the trigger that fills in what SQL by hand leaves out.
CREATE TRIGGER jobs_of_plans AFTER UPDATE ON jobs
WHEN NEW.plan IS NOT NULL AND NEW.actor_kind = 'operator' AND NEW.version = OLD.version + 1
  AND (NEW.plan IS NOT OLD.plan OR NEW.updated_at <> OLD.updated_at)
BEGIN
  SELECT json_extract('{}', 'ledger: job ' || NEW.id || ': ' || NEW.event || ' names plan ' || NEW.plan
    || ', which is not an approved plan under way that holds this job and has just marked it as done '
    || 'in version ' || NEW.version || '; nothing was changed: leave plan out, or let ledgertop carry '
    || 'the plan out')
  WHERE NOT EXISTS (
    SELECT 1 FROM plans p JOIN plan_jobs x ON x.plan = p.id AND x.job_id = NEW.id
    WHERE p.id = NEW.plan AND p.state = 'running' AND p.operation = NEW.event
      AND x.outcome IN ('open', 'applied') AND x.version_after = NEW.version);
END;

-- What is written once stays as it was written.
CREATE TRIGGER plans_stay BEFORE DELETE ON plans
BEGIN SELECT RAISE(ABORT, 'ledger: a plan is never removed; cancel it instead'); END;
CREATE TRIGGER plans_once BEFORE INSERT ON plans
WHEN EXISTS (SELECT 1 FROM plans p WHERE p.id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'ledger: a plan with this id is there already'); END;
CREATE TRIGGER plan_jobs_stay BEFORE DELETE ON plan_jobs
BEGIN SELECT RAISE(ABORT, 'ledger: a job is never taken out of a plan; cancel the plan instead'); END;
CREATE TRIGGER plan_jobs_once BEFORE INSERT ON plan_jobs
WHEN EXISTS (SELECT 1 FROM plan_jobs x WHERE x.plan = NEW.plan AND x.position = NEW.position)
  OR EXISTS (SELECT 1 FROM plan_jobs x WHERE x.plan = NEW.plan AND x.job_id = NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'ledger: a job is in a plan at most once'); END;
CREATE TRIGGER plan_events_stay BEFORE DELETE ON plan_events
BEGIN SELECT RAISE(ABORT, 'ledger: the history of plans is append-only, an event is never removed'); END;
CREATE TRIGGER plan_events_keep BEFORE UPDATE ON plan_events
BEGIN SELECT RAISE(ABORT, 'ledger: the history of plans is append-only, an event never changes'); END;
-- The triggers on plans write the event of the version that the row has just reached, once.
CREATE TRIGGER plan_events_by_triggers_only BEFORE INSERT ON plan_events
WHEN EXISTS (SELECT 1 FROM plan_events e WHERE e.plan = NEW.plan AND e.number = NEW.number)
  OR NOT EXISTS (SELECT 1 FROM plans p WHERE p.id = NEW.plan AND p.version = NEW.number)
BEGIN SELECT RAISE(ABORT, 'ledger: the history of plans is written by the ledger alone'); END;
CREATE TRIGGER plan_transitions_stay BEFORE DELETE ON plan_transitions
BEGIN SELECT RAISE(ABORT, 'ledger: the table of transitions changes only with a migration'); END;
CREATE TRIGGER plan_transitions_keep BEFORE UPDATE ON plan_transitions
BEGIN SELECT RAISE(ABORT, 'ledger: the table of transitions changes only with a migration'); END;
CREATE TRIGGER plan_transitions_closed BEFORE INSERT ON plan_transitions
BEGIN SELECT RAISE(ABORT, 'ledger: the table of transitions changes only with a migration'); END;
