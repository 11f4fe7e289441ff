-- Plans: bulk operations on jobs that are frozen (id and version) before they are approved, carried out
-- step by step under a lease. The database holds every writer to the rules: what a plan may become, that
-- its jobs never change once it is approved, that a job is operated on at most once per plan, and that no
-- event of a job names a plan that is not under way. Traffic that names no plan pays one comparison a row.
-- Cost: creates empty tables and adds a trigger to jobs; waits for no more than the transactions under way.

CREATE TABLE plan_transitions (
  event      text NOT NULL,
  from_state text NOT NULL, -- '' for the event that creates the plan
  to_state   text NOT NULL,
  actor_kind text NOT NULL,
  PRIMARY KEY (event, from_state, to_state, actor_kind)
);
COMMENT ON TABLE plan_transitions IS
  'The one table of legal moves of a plan. What is not here is refused by triggers on plans.';

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
  id               uuid        NOT NULL DEFAULT ledger_uuid_v7() PRIMARY KEY,
  operation        text        NOT NULL CHECK
    (operation IN ('quarantine', 'revoke', 'redrive', 'promote', 'discard')),
  query            text        NOT NULL CHECK (octet_length(query) <= 2000),
  reason           text        NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 2000),
  created_by       text        NOT NULL DEFAULT session_user
    CHECK (octet_length(created_by) BETWEEN 1 AND 200),
  created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- how it advances
  canary           boolean     NOT NULL DEFAULT true,
  batch_max        integer     NOT NULL DEFAULT 1000 CHECK (batch_max BETWEEN 1 AND 1000),
  rate_per_s       integer     NOT NULL DEFAULT 0 CHECK (rate_per_s BETWEEN 0 AND 1000000),
  stop_percent     integer     NOT NULL DEFAULT 20 CHECK (stop_percent BETWEEN 0 AND 100),
  -- where it stands
  state            text        NOT NULL DEFAULT 'draft',
  state_since      timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  version          integer     NOT NULL DEFAULT 1 CHECK (version >= 1),
  batch            integer     NOT NULL DEFAULT 0 CHECK (batch >= 0),
  first_batch      integer     NOT NULL DEFAULT 0 CHECK (first_batch >= 0),
  batch_jobs       integer     NOT NULL DEFAULT 0 CHECK (batch_jobs >= 0),
  chunk            integer     NOT NULL DEFAULT 0 CHECK (chunk >= 0),
  chunk_at         timestamptz,
  -- how its jobs stand: kept by the triggers on plan_jobs
  total            bigint      NOT NULL DEFAULT 0,
  waiting          bigint      NOT NULL DEFAULT 0 CHECK (waiting >= 0),
  open             bigint      NOT NULL DEFAULT 0 CHECK (open >= 0),
  applied          bigint      NOT NULL DEFAULT 0,
  succeeded        bigint      NOT NULL DEFAULT 0,
  failed           bigint      NOT NULL DEFAULT 0,
  stale            bigint      NOT NULL DEFAULT 0,
  refused          bigint      NOT NULL DEFAULT 0,
  missing          bigint      NOT NULL DEFAULT 0,
  -- who carries it out
  executor         text CHECK (octet_length(executor) BETWEEN 1 AND 200),
  lease_expires_at timestamptz,
  fence            integer     NOT NULL DEFAULT 0 CHECK (fence >= 0),
  -- what happened last, and who did it
  event            text        NOT NULL DEFAULT 'draft',
  actor_kind       text        NOT NULL DEFAULT 'operator',
  actor            text        NOT NULL DEFAULT session_user
    CHECK (octet_length(actor) BETWEEN 1 AND 200),
  note             text CHECK (octet_length(note) <= 2000),
  CONSTRAINT plans_executor_holds_a_lease CHECK ((executor IS NULL) = (lease_expires_at IS NULL)),
  CONSTRAINT plans_lease_is_at_most_a_day CHECK (lease_expires_at <= updated_at + interval '1 day'),
  CONSTRAINT plans_only_running_is_carried_out CHECK (executor IS NULL OR state = 'running')
);
COMMENT ON TABLE plans IS
  'Bulk operations. To move one: set event, state, actor_kind, actor, version = version + 1.';

CREATE TABLE plan_jobs (
  plan          uuid    NOT NULL REFERENCES plans (id),
  position      integer NOT NULL CHECK (position >= 0),
  job_id        uuid    NOT NULL,
  -- as they were frozen
  version       integer NOT NULL CHECK (version >= 1),
  state         text,
  error_class   text,
  reason        text,
  -- what became of it: NULL waits; open is redriven and not terminal again
  batch         integer,
  outcome       text CHECK (outcome IN
    ('open', 'applied', 'succeeded', 'failed', 'stale', 'refused', 'missing')),
  version_after integer,
  result_class  text,
  result_reason text,
  settled_at    timestamptz,
  PRIMARY KEY (plan, position),
  CONSTRAINT plan_jobs_a_job_at_most_once_per_plan UNIQUE (plan, job_id)
);
COMMENT ON TABLE plan_jobs IS
  'The jobs of each plan, frozen when it was approved, and what became of each.';
-- The next jobs to be operated on.
CREATE INDEX plan_jobs_waiting ON plan_jobs (plan, position) WHERE outcome IS NULL;
-- The jobs whose end is waited for.
CREATE INDEX plan_jobs_open ON plan_jobs (plan, position) WHERE outcome = 'open';
-- The jobs that failed again.
CREATE INDEX plan_jobs_failed ON plan_jobs (plan, position) WHERE outcome = 'failed';

CREATE TABLE plan_events (
  plan       uuid        NOT NULL,
  number     integer     NOT NULL,
  event      text        NOT NULL,
  from_state text,
  to_state   text        NOT NULL,
  at         timestamptz NOT NULL,
  operation  text        NOT NULL,
  jobs       bigint      NOT NULL,
  waiting    bigint      NOT NULL,
  actor_kind text        NOT NULL,
  actor      text        NOT NULL,
  note       text,
  db_user    text        NOT NULL,
  PRIMARY KEY (plan, number)
);
COMMENT ON TABLE plan_events IS
  'One row for every move of a plan, written by triggers only; never updated or removed.';
-- The audit, newest first.
CREATE INDEX plan_events_at ON plan_events (at, plan);
-- Plans that an executor may take, or whose jobs are waited for.
CREATE INDEX plans_under_way ON plans (id) WHERE state = 'running' OR open > 0;

-- Stamps what a writer cannot be trusted to stamp.
CREATE FUNCTION plans_fill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at);
  NEW.state_since := CASE WHEN NEW.state = OLD.state THEN OLD.state_since ELSE NEW.updated_at END;
  IF NEW.state <> 'running' THEN
    NEW.executor := NULL;
    NEW.lease_expires_at := NULL;
  END IF;
  -- After a stop the jobs that are left begin again with one, alone.
  IF NEW.event = 'resume' AND NEW.version = OLD.version + 1 AND OLD.state = 'stopped' THEN
    NEW.batch := OLD.batch + 1;
    NEW.first_batch := NEW.batch;
    NEW.batch_jobs := 0;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER plans_fill BEFORE UPDATE ON plans FOR EACH ROW EXECUTE FUNCTION plans_fill();

-- Says what is wrong with a change of a plan; NULL where nothing is.
CREATE FUNCTION plans_refusal(o plans, n plans) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN (o.id, o.operation, o.query, o.reason, o.created_by, o.created_at, o.canary, o.batch_max,
          o.rate_per_s, o.stop_percent)
      IS DISTINCT FROM (n.id, n.operation, n.query, n.reason, n.created_by, n.created_at, n.canary,
          n.batch_max, n.rate_per_s, n.stop_percent)
      THEN 'what a plan does, why, and how it advances never changes; cancel it and make another'
    WHEN (o.total, o.waiting, o.open, o.applied, o.succeeded, o.failed, o.stale, o.refused, o.missing)
      IS DISTINCT FROM (n.total, n.waiting, n.open, n.applied, n.succeeded, n.failed, n.stale,
          n.refused, n.missing) AND pg_trigger_depth() < 2
      THEN 'its progress is counted by the ledger alone'
    WHEN n.version = o.version AND (o.state, o.event, o.actor_kind, o.actor, o.note, o.fence)
      IS DISTINCT FROM (n.state, n.event, n.actor_kind, n.actor, n.note, n.fence)
      THEN 'a change must say what happened: set event, state, actor_kind, actor and '
        || 'version = version + 1'
    WHEN n.version = o.version AND n.executor IS DISTINCT FROM o.executor AND n.executor IS NOT NULL
      THEN 'another executor takes it with the event take'
    WHEN n.version = o.version THEN NULL
    WHEN n.version <> o.version + 1
      THEN format('version must rise by one, from %s to %s, not to %s', o.version, o.version + 1,
                  n.version)
    WHEN NOT EXISTS (SELECT 1 FROM plan_transitions t WHERE t.event = n.event
        AND t.from_state = o.state AND t.to_state = n.state AND t.actor_kind = n.actor_kind)
      THEN format('event "%s" may not move it from %s to %s as %s; legal from %s: %s', n.event,
        o.state, n.state, n.actor_kind, o.state, coalesce((
          SELECT string_agg(format('%s to %s (%s)', t.event, t.to_state, t.actor_kind), ', '
                            ORDER BY t.event, t.to_state)
          FROM plan_transitions t WHERE t.from_state = o.state), 'nothing'))
    WHEN n.fence <> o.fence + (n.event = 'take')::integer
      THEN format('fence must be %s after %s, not %s', o.fence + (n.event = 'take')::integer, n.event,
                  n.fence)
    WHEN n.event = 'take' AND n.executor IS NULL THEN 'an executor takes it under a name'
    WHEN n.event = 'take' AND o.lease_expires_at > n.updated_at
      THEN format('executor "%s" carries it out until %s', o.executor, o.lease_expires_at)
    WHEN n.event = 'approve' AND n.total = 0 THEN 'it holds no job'
    WHEN n.event = 'finish' AND (n.waiting > 0 OR n.open > 0)
      THEN format('%s jobs wait and %s are under way', n.waiting, n.open)
  END
$$;

CREATE FUNCTION plans_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  why text := plans_refusal(OLD, NEW);
BEGIN
  IF why IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'LT005', MESSAGE = format('plan %s: %s', OLD.id, why),
      HINT = 'Nothing was changed. The table "plan_transitions" holds every legal move.';
  END IF;
  IF NEW.version = OLD.version + 1 THEN
    INSERT INTO plan_events
      (plan, number, event, from_state, to_state, at, operation, jobs, waiting, actor_kind, actor,
       note, db_user)
    VALUES
      (NEW.id, NEW.version, NEW.event, OLD.state, NEW.state, NEW.updated_at, NEW.operation, NEW.total,
       NEW.waiting, NEW.actor_kind, NEW.actor, NEW.note, session_user);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER plans_change AFTER UPDATE ON plans FOR EACH ROW EXECUTE FUNCTION plans_change();

CREATE FUNCTION plans_create() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF (NEW.state, NEW.event, NEW.actor_kind, NEW.version, NEW.fence, NEW.batch, NEW.first_batch,
      NEW.batch_jobs, NEW.total, NEW.waiting, NEW.open, NEW.applied, NEW.succeeded, NEW.failed,
      NEW.stale, NEW.refused, NEW.missing, NEW.executor IS NULL)
    IS DISTINCT FROM ('draft', 'draft', 'operator', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, true)
  THEN
    RAISE EXCEPTION USING ERRCODE = 'LT005',
      MESSAGE = format('plan %s: a new plan is a draft without jobs', NEW.id),
      HINT = 'Nothing was changed.';
  END IF;
  INSERT INTO plan_events
    (plan, number, event, to_state, at, operation, jobs, waiting, actor_kind, actor, note, db_user)
  VALUES
    (NEW.id, 1, NEW.event, NEW.state, NEW.updated_at, NEW.operation, 0, 0, NEW.actor_kind, NEW.actor,
     NEW.note, session_user);
  RETURN NULL;
END $$;
CREATE TRIGGER plans_create AFTER INSERT ON plans FOR EACH ROW EXECUTE FUNCTION plans_create();

-- Freezes jobs into drafts only, and counts them.
CREATE FUNCTION plan_jobs_freeze() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  bad record;
BEGIN
  -- Holds the plan, so that an approval comes before or after.
  FOR bad IN
    SELECT p.id, p.state FROM plans p WHERE p.id IN (SELECT n.plan FROM new_plan_jobs n)
    ORDER BY p.id FOR UPDATE
  LOOP
    IF bad.state <> 'draft' THEN
      RAISE EXCEPTION USING ERRCODE = 'LT005',
        MESSAGE = format('plan %s is %s: its jobs were frozen when it was approved', bad.id, bad.state),
        HINT = 'Nothing was changed. Make another plan.';
    END IF;
  END LOOP;
  IF EXISTS (SELECT 1 FROM new_plan_jobs n WHERE n.outcome IS NOT NULL OR n.batch IS NOT NULL
             OR n.version_after IS NOT NULL OR n.settled_at IS NOT NULL) THEN
    RAISE EXCEPTION USING ERRCODE = 'LT005',
      MESSAGE = 'a job that is frozen into a plan waits: it has no batch and no outcome',
      HINT = 'Nothing was changed.';
  END IF;
  UPDATE plans p SET total = p.total + n.jobs, waiting = p.waiting + n.jobs
  FROM (SELECT plan, count(*) AS jobs FROM new_plan_jobs GROUP BY plan) n WHERE p.id = n.plan;
  RETURN NULL;
END $$;
CREATE TRIGGER plan_jobs_freeze AFTER INSERT ON plan_jobs
  REFERENCING NEW TABLE AS new_plan_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION plan_jobs_freeze();

-- Holds outcomes to their order (waiting, then open or an end; open, then an end) and counts them.
CREATE FUNCTION plan_jobs_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  bad record;
BEGIN
  SELECT n.plan, n.job_id, o.outcome AS before, n.outcome AS after, p.state INTO bad
  FROM new_plan_jobs n
  JOIN plans p ON p.id = n.plan
  LEFT JOIN old_plan_jobs o ON o.plan = n.plan AND o.position = n.position
  WHERE (o.job_id, o.version, o.state, o.error_class, o.reason)
      IS DISTINCT FROM (n.job_id, n.version, n.state, n.error_class, n.reason)
    OR NOT CASE
      WHEN o.outcome IS NULL THEN n.outcome IS NOT NULL AND p.state = 'running'
        AND (n.outcome NOT IN ('succeeded', 'failed'))
        AND (n.outcome = 'open') = (n.outcome IN ('open', 'applied') AND p.operation = 'redrive')
        AND (n.version_after > n.version) IS NOT DISTINCT FROM
          (CASE WHEN n.outcome IN ('open', 'applied') THEN true END)
      WHEN o.outcome = 'open' THEN n.outcome IN ('succeeded', 'failed')
        AND n.version_after = o.version_after AND n.batch = o.batch
      ELSE false END
  ORDER BY n.plan, n.position LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'LT005',
      MESSAGE = format('plan %s (%s): job %s may not go from %s to %s, or what was frozen would change',
        bad.plan, bad.state, bad.job_id, coalesce(bad.before, 'waiting'),
        coalesce(bad.after, 'waiting')),
      HINT = 'Nothing was changed. A job is operated on at most once per plan.';
  END IF;
  UPDATE plans p SET
    waiting = p.waiting - d.waiting, open = p.open + d.open, applied = p.applied + d.applied,
    succeeded = p.succeeded + d.succeeded, failed = p.failed + d.failed, stale = p.stale + d.stale,
    refused = p.refused + d.refused, missing = p.missing + d.missing
  FROM (
    SELECT n.plan,
      count(*) FILTER (WHERE o.outcome IS NULL) AS waiting,
      count(*) FILTER (WHERE n.outcome = 'open') - count(*) FILTER (WHERE o.outcome = 'open') AS open,
      count(*) FILTER (WHERE n.outcome = 'applied') AS applied,
      count(*) FILTER (WHERE n.outcome = 'succeeded') AS succeeded,
      count(*) FILTER (WHERE n.outcome = 'failed') AS failed,
      count(*) FILTER (WHERE n.outcome = 'stale') AS stale,
      count(*) FILTER (WHERE n.outcome = 'refused') AS refused,
      count(*) FILTER (WHERE n.outcome = 'missing') AS missing
    FROM new_plan_jobs n
    JOIN old_plan_jobs o ON o.plan = n.plan AND o.position = n.position
    GROUP BY n.plan) d
  WHERE p.id = d.plan;
  RETURN NULL;
END $$;
CREATE TRIGGER plan_jobs_change AFTER UPDATE ON plan_jobs
  REFERENCING OLD TABLE AS old_plan_jobs NEW TABLE AS new_plan_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION plan_jobs_change();

-- An operator's event that names a plan is one that the plan has just made, in this transaction.
CREATE FUNCTION jobs_of_plans() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM 1 FROM plans p
  JOIN plan_jobs x ON x.plan = p.id AND x.job_id = NEW.id
  WHERE p.id = NEW.plan AND p.state = 'running' AND p.operation = NEW.event
    AND x.outcome IN ('open', 'applied') AND x.version_after = NEW.version;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'LT005',
      MESSAGE = format('job %s: %s names plan %s, which is not an approved plan under way that holds '
        'this job and has just marked it as done in version %s', NEW.id, NEW.event, NEW.plan,
        NEW.version),
      HINT = 'Nothing was changed. Leave plan out, or let ledgertop carry the plan out.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_of_plans AFTER UPDATE ON jobs FOR EACH ROW
  WHEN (NEW.plan IS NOT NULL AND NEW.actor_kind = 'operator')
  EXECUTE FUNCTION jobs_of_plans();

-- What is written once stays as it was written.
CREATE FUNCTION plans_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'LT004',
    MESSAGE = format('%s of %s is refused: %s', TG_OP, TG_TABLE_NAME, CASE TG_TABLE_NAME
      WHEN 'plan_events' THEN 'the history of plans is append-only and written by the ledger alone'
      WHEN 'plan_transitions' THEN 'the table of transitions changes only with a migration'
      ELSE 'a plan is never removed; cancel it instead' END),
    HINT = 'Nothing was changed.';
END $$;
CREATE TRIGGER plan_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON plan_events
  FOR EACH STATEMENT EXECUTE FUNCTION plans_refuse_change();
CREATE TRIGGER plan_events_by_triggers_only BEFORE INSERT ON plan_events
  FOR EACH STATEMENT WHEN (pg_trigger_depth() < 1)
  EXECUTE FUNCTION plans_refuse_change();
CREATE TRIGGER plans_stay BEFORE DELETE OR TRUNCATE ON plans
  FOR EACH STATEMENT EXECUTE FUNCTION plans_refuse_change();
CREATE TRIGGER plan_jobs_stay BEFORE DELETE OR TRUNCATE ON plan_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION plans_refuse_change();
CREATE TRIGGER plan_transitions_stay BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON plan_transitions
  FOR EACH STATEMENT EXECUTE FUNCTION plans_refuse_change();

DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN
    SELECT p.oid::regprocedure FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname IN ('plans_fill', 'plans_refusal', 'plans_change', 'plans_create',
        'plan_jobs_freeze', 'plan_jobs_change', 'jobs_of_plans', 'plans_refuse_change')
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
  END LOOP;
END $$;
