-- The ledger: jobs, their events, the table of transitions, retry policies, and the triggers that hold
-- every writer to the rules, whatever language it is written in. A change of a job says what happened in
-- the row itself; the triggers check it against the table of transitions and append the event in the same
-- transaction, one insert a statement. Names are resolved in the schema in which this runs.
-- Cost: creates empty tables; at once.

CREATE TABLE transitions (
  event          text     NOT NULL,
  from_state     text     NOT NULL, -- '' for the event that creates the job
  to_state       text     NOT NULL,
  actor_kind     text     NOT NULL,
  fence_step     smallint NOT NULL CHECK (fence_step IN (0, 1)),
  attempt_step   text     NOT NULL CHECK (attempt_step IN ('keep', 'next', 'give_back', 'reset')),
  failure        text     NOT NULL CHECK (failure IN ('silent', 'entered', 'carried')),
  -- 1 where it ends an attempt of which its worker never said how it went
  unsettled_step smallint NOT NULL CHECK (unsettled_step IN (0, 1)),
  PRIMARY KEY (event, from_state, to_state, actor_kind)
);
COMMENT ON TABLE transitions IS
  'The one table of legal moves. What is not here is refused by triggers on jobs.';

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
  name               text        NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 200),
  version            integer     NOT NULL CHECK (version >= 1),
  max_attempts       integer     NOT NULL CHECK (max_attempts >= 1),
  max_age_ms         bigint      NOT NULL CHECK (max_age_ms BETWEEN 0 AND 3155760000000),
  backoff_base_ms    bigint      NOT NULL CHECK (backoff_base_ms BETWEEN 0 AND 3155760000000),
  backoff_cap_ms     bigint      NOT NULL CHECK (backoff_cap_ms BETWEEN 0 AND 3155760000000),
  retry_after_cap_ms bigint      NOT NULL CHECK (retry_after_cap_ms BETWEEN 0 AND 3155760000000),
  on_unknown         text        NOT NULL CHECK (on_unknown IN ('bounded_retry', 'hold')),
  created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_by         text        NOT NULL DEFAULT session_user,
  PRIMARY KEY (name, version)
);
COMMENT ON TABLE policies IS 'Retry rules: named, versioned, immutable. New rules are a new version.';

INSERT INTO policies
  (name, version, max_attempts, max_age_ms, backoff_base_ms, backoff_cap_ms, retry_after_cap_ms,
   on_unknown)
VALUES ('default', 1, 6, 86400000, 5000, 900000, 3600000, 'bounded_retry');

-- A UUIDv7 (RFC 9562, section 5.7): 48 bits of milliseconds, then random bits.
CREATE FUNCTION ledger_uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(
    set_bit(set_bit(
      overlay(
        uuid_send(gen_random_uuid())
        PLACING substring(
          int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
        FROM 1 FOR 6),
      52, 1), 53, 1),
    'hex')::uuid
$$;

-- The order of columns is for the write-ahead log: an update logs what lies between the first column that
-- changed and the last, so what never changes comes first, what changes at each event comes together, and
-- numbers stand where no padding is needed between them. There are no CHECKs here: parsing them again for
-- every statement took a seventh of the time of an exchange, so the triggers check what they did.
CREATE TABLE jobs (
  id               uuid        NOT NULL DEFAULT ledger_uuid_v7() PRIMARY KEY,
  created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  required         boolean     NOT NULL DEFAULT true,
  awaits_children  boolean     NOT NULL DEFAULT false,
  -- Compared by its bytes, so that keys that begin alike are found by the index.
  idempotency_key  text        COLLATE "C" NOT NULL,
  queue            text        NOT NULL,
  kind             text        NOT NULL,
  tenant           text        NOT NULL DEFAULT '',
  event_id         text,
  schema_version   text,
  payload          jsonb       NOT NULL DEFAULT '{}',
  parent_key       text        COLLATE "C",
  -- the current state
  policy           text        NOT NULL DEFAULT 'default',
  policy_version   integer     NOT NULL,
  redrives         integer     NOT NULL DEFAULT 0,
  available_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- attempts that began and were never settled by their worker: their effects may have happened
  unsettled        integer     NOT NULL DEFAULT 0,
  version          integer     NOT NULL DEFAULT 1,
  fence            integer     NOT NULL DEFAULT 0,
  attempt          integer     NOT NULL DEFAULT 0,
  state_since      timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  first_attempt_at timestamptz,
  lease_expires_at timestamptz,
  state            text        NOT NULL,
  worker           text,
  -- what happened last, and who did it
  event            text        NOT NULL DEFAULT 'enqueue',
  actor_kind       text        NOT NULL DEFAULT 'producer',
  actor            text        NOT NULL DEFAULT session_user,
  note             text,
  plan             uuid,
  output_ref       text,
  -- the last failure
  error_class      text,
  reason           text,
  error            text,
  CONSTRAINT jobs_idempotency_key_names_one_operation UNIQUE (idempotency_key)
) WITH (
  fillfactor = 85,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05
);
COMMENT ON TABLE jobs IS
  'Current state of each job. To change one: set event, state, actor_kind, actor, version = version + 1.';

CREATE TABLE job_events (
  job_id                uuid        NOT NULL,
  version               integer     NOT NULL,
  attempt               integer     NOT NULL,
  fence                 integer     NOT NULL,
  policy_version        integer     NOT NULL,
  tx                    xid8        NOT NULL,
  at                    timestamptz NOT NULL,
  from_since            timestamptz,
  first_attempt_at      timestamptz,
  available_at          timestamptz,
  lease_expires_at      timestamptz,
  from_lease_expires_at timestamptz,
  event                 text        NOT NULL,
  from_state            text,
  to_state              text        NOT NULL,
  queue                 text        NOT NULL,
  actor_kind            text        NOT NULL,
  actor                 text        NOT NULL,
  worker                text,
  policy                text        NOT NULL,
  error_class           text,
  reason                text,
  error                 text,
  note                  text,
  output_ref            text,
  plan                  uuid,
  db_user               text        NOT NULL,
  PRIMARY KEY (job_id, version)
) WITH (
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.05
);
COMMENT ON TABLE job_events IS
  'One row for every change of a job, written by triggers only; never updated or removed.';

-- Claims, the oldest ready job of a queue, and the count of ready jobs by second.
CREATE INDEX jobs_ready ON jobs (queue, tenant, state_since, id) WHERE state = 'ready';
-- What becomes due next, and the waiting jobs of a base load: a parent waits for its children only once,
-- but for each of its retries. A query must hold this very condition to use the index.
CREATE INDEX jobs_waiting ON jobs (available_at, id)
  WHERE state = 'retry_wait' OR state = 'pending' AND NOT awaits_children;
-- Parents that wait for children.
CREATE INDEX jobs_parents ON jobs (id) WHERE state = 'pending' AND awaits_children;
-- Leases by the moment they end.
CREATE INDEX jobs_leases ON jobs (lease_expires_at, id) WHERE state = 'running';
-- Dead letters, oldest first.
CREATE INDEX jobs_dead_letters ON jobs (state, state_since, id)
  WHERE state IN ('dead', 'quarantined');
-- The required children of a parent that have not succeeded yet.
CREATE INDEX jobs_open_children ON jobs (parent_key)
  WHERE parent_key IS NOT NULL AND required AND state <> 'succeeded';
-- The family of a parent.
CREATE INDEX jobs_children ON jobs (parent_key, id) WHERE parent_key IS NOT NULL;
-- The jobs that a plan touched.
CREATE INDEX job_events_plan ON job_events (plan, job_id) WHERE plan IS NOT NULL;
-- What operators did, by time: a few events among millions.
CREATE INDEX job_events_operator ON job_events (at, job_id, version) WHERE actor_kind = 'operator';
-- The feed: events of the transactions since a snapshot.
CREATE INDEX job_events_tx ON job_events (tx);
-- Events of a window of time; a few bytes for each 32 pages, nearly free to keep.
CREATE INDEX job_events_at ON job_events USING brin (at)
  WITH (pages_per_range = 32, autosummarize = on);

-- The newest version of each policy, which a new job is put under.
CREATE VIEW newest_policies AS
  SELECT DISTINCT ON (name) * FROM policies ORDER BY name, version DESC;

-- Fills in what SQL written by hand leaves out. A writer that sets updated_at itself sets all the rest
-- too and never comes here; either way the check below has the last word.
CREATE FUNCTION jobs_fill_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := coalesce(NEW.updated_at, NEW.created_at);
  NEW.state_since := coalesce(NEW.state_since, NEW.created_at);
  IF NEW.available_at BETWEEN NEW.created_at AND clock_timestamp() THEN
    NEW.available_at := NEW.created_at;
  END IF;
  NEW.awaits_children := NEW.awaits_children OR EXISTS (
    SELECT 1 FROM jobs c
    WHERE c.parent_key = NEW.idempotency_key AND c.required AND c.state <> 'succeeded');
  NEW.state := coalesce(NEW.state, CASE
    WHEN NEW.awaits_children OR NEW.available_at > NEW.created_at THEN 'pending' ELSE 'ready' END);
  NEW.policy_version := coalesce(NEW.policy_version, (
    SELECT max(p.version) FROM policies p WHERE p.name = NEW.policy), 0);
  RETURN NEW;
END $$;
CREATE TRIGGER jobs_fill_insert BEFORE INSERT ON jobs FOR EACH ROW
  WHEN (NEW.state IS NULL OR NEW.updated_at IS NULL OR NEW.state_since IS NULL
        OR NEW.policy_version IS NULL)
  EXECUTE FUNCTION jobs_fill_insert();

CREATE FUNCTION jobs_fill_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at);
  IF NEW.state <> OLD.state THEN
    NEW.state_since := NEW.updated_at;
  END IF;
  IF OLD.state = 'running' AND NEW.state <> 'running' THEN
    NEW.worker := NULL;
    NEW.lease_expires_at := NULL;
  END IF;
  IF NEW.event IN ('claim', 'revoke') AND NEW.fence = OLD.fence THEN
    NEW.fence := OLD.fence + 1;
  END IF;
  IF NEW.event = 'claim' THEN
    NEW.attempt := CASE WHEN NEW.attempt = OLD.attempt THEN OLD.attempt + 1 ELSE NEW.attempt END;
    NEW.first_attempt_at := coalesce(OLD.first_attempt_at, NEW.updated_at);
    NEW.worker := coalesce(NEW.worker, NEW.actor);
  ELSIF NEW.event = 'release' AND NEW.attempt = OLD.attempt THEN
    NEW.attempt := OLD.attempt - 1;
  ELSIF NEW.event = 'redrive' THEN
    NEW.attempt := 0;
    NEW.first_attempt_at := NULL;
    NEW.redrives := OLD.redrives + 1;
  END IF;
  IF OLD.state = 'running' AND NEW.state <> 'running' AND NEW.unsettled = OLD.unsettled THEN
    NEW.unsettled := OLD.unsettled + coalesce((
      SELECT t.unsettled_step FROM transitions t WHERE t.event = NEW.event
        AND t.from_state = OLD.state AND t.to_state = NEW.state
        AND t.actor_kind = NEW.actor_kind), 0);
  END IF;
  IF NEW.event IN ('promote', 'redrive') AND NEW.available_at > NEW.updated_at THEN
    NEW.available_at := NEW.updated_at;
  END IF;
  -- A name or a note left over from the event before was not said about this one.
  IF NEW.actor = OLD.actor
     AND (NEW.actor_kind = 'operator' OR NEW.actor_kind <> OLD.actor_kind) THEN
    NEW.actor := session_user;
  END IF;
  IF NEW.note = OLD.note THEN
    NEW.note := NULL;
  END IF;
  -- Nor did the plan of the event before have part in it: a plan acts on a job once.
  IF NEW.actor_kind = 'operator' AND NEW.plan = OLD.plan THEN
    NEW.plan := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER jobs_fill_update BEFORE UPDATE ON jobs FOR EACH ROW
  WHEN (NEW.updated_at = OLD.updated_at)
  EXECUTE FUNCTION jobs_fill_update();

-- What names a job never changes. Costs nothing where a statement does not name these columns.
CREATE FUNCTION jobs_keep_identity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = 'LT004',
    MESSAGE = format('job %s: id, idempotency_key, queue, kind, tenant, event_id, schema_version, '
      'payload, parent_key, required, awaits_children and created_at never change', OLD.id),
    HINT = 'Enqueue another job under another idempotency key.';
END $$;
CREATE TRIGGER jobs_keep_identity
  BEFORE UPDATE OF id, idempotency_key, queue, kind, tenant, event_id, schema_version, payload,
    parent_key, required, awaits_children, created_at ON jobs FOR EACH ROW
  WHEN ((OLD.id, OLD.idempotency_key, OLD.queue, OLD.kind, OLD.tenant, OLD.event_id,
         OLD.schema_version, OLD.payload, OLD.parent_key, OLD.required, OLD.awaits_children,
         OLD.created_at)
    IS DISTINCT FROM
        (NEW.id, NEW.idempotency_key, NEW.queue, NEW.kind, NEW.tenant, NEW.event_id,
         NEW.schema_version, NEW.payload, NEW.parent_key, NEW.required, NEW.awaits_children,
         NEW.created_at))
  EXECUTE FUNCTION jobs_keep_identity();

-- The legal moves from a state, for messages.
CREATE FUNCTION ledger_legal_from(state text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce(string_agg(format('%s to %s (%s)', event, to_state, kinds), ', '
                             ORDER BY event, to_state), 'nothing')
  FROM (SELECT t.event, t.to_state, string_agg(t.actor_kind, ' or ' ORDER BY t.actor_kind) AS kinds
        FROM transitions t WHERE t.from_state = state GROUP BY t.event, t.to_state) moves
$$;

-- Says of an offending update what is wrong with it; never returns. The rows come as JSON, because those of
-- a trigger have no named type.
CREATE FUNCTION ledger_refuse_update(before jsonb, after jsonb) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
DECLARE
  o jobs := jsonb_populate_record(NULL::jobs, before);
  n jobs := jsonb_populate_record(NULL::jobs, after);
  t transitions;
  p policies;
  why text;
  code text := 'LT003';
BEGIN
  SELECT * INTO t FROM transitions x WHERE x.event = n.event AND x.from_state = o.state
    AND x.to_state = n.state AND x.actor_kind = n.actor_kind;
  SELECT * INTO p FROM policies x WHERE x.name = n.policy AND x.version = n.policy_version;
  IF n.version = o.version AND n.state = o.state AND n.event = o.event THEN
    code := 'LT002';
    why := 'a change must say what happened: set event, state, actor_kind, actor and '
        || 'version = version + 1';
  ELSIF t.event IS NULL THEN
    code := 'LT001';
    why := format('event "%s" may not move it from %s to %s as %s; legal from %s: %s',
                  n.event, o.state, n.state, n.actor_kind, o.state, ledger_legal_from(o.state));
  ELSIF n.version <> o.version + 1 THEN
    code := 'LT002';
    why := format('version must rise by one, from %s to %s, not to %s', o.version, o.version + 1,
                  n.version);
  ELSIF n.fence <> o.fence + t.fence_step THEN
    why := format('fence must be %s after %s, not %s', o.fence + t.fence_step, n.event, n.fence);
  ELSIF n.unsettled <> o.unsettled + t.unsettled_step THEN
    why := format('unsettled must be %s after %s, not %s', o.unsettled + t.unsettled_step, n.event,
                  n.unsettled);
  ELSIF p.name IS NULL THEN
    why := format('there is no policy "%s" version %s', n.policy, n.policy_version);
  ELSIF t.failure = 'entered' AND (n.error_class IS NULL OR n.reason IS NULL) THEN
    why := format('%s must say why: set error_class and reason', n.event);
  ELSIF t.failure = 'entered' AND n.error_class NOT IN ('transient', 'permanent', 'unknown') THEN
    why := format('error_class is transient, permanent or unknown, not "%s"', left(n.error_class, 80));
  ELSIF t.failure = 'entered' AND n.reason !~ '^[a-z][a-z0-9_]{0,63}$' THEN
    why := format('reason "%s" is not a word of a-z, 0-9 and _, of at most 64', left(n.reason, 80));
  ELSIF octet_length(n.actor) NOT BETWEEN 1 AND 200 OR octet_length(n.worker) NOT BETWEEN 1 AND 200 THEN
    why := 'actor and worker have 1 to 200 bytes';
  ELSIF greatest(octet_length(n.error), octet_length(n.note), octet_length(n.output_ref)) > 2000 THEN
    why := 'error, note and output_ref have at most 2000 bytes each';
  ELSIF n.event = 'retry' AND (n.attempt >= p.max_attempts
        OR n.available_at > o.first_attempt_at + p.max_age_ms * interval '1 millisecond') THEN
    why := format('the budget of policy "%s" version %s is spent (attempt %s of %s, at most %s ms from '
      'the first attempt): exhaust it', p.name, p.version, n.attempt, p.max_attempts, p.max_age_ms);
  ELSIF n.event = 'exhaust' THEN
    why := format('the budget of policy "%s" version %s is not spent (attempt %s of %s, at most %s ms '
      'from the first attempt): retry it', p.name, p.version, n.attempt, p.max_attempts, p.max_age_ms);
  ELSIF n.event = 'lease_expire' AND o.lease_expires_at > n.updated_at THEN
    why := format('its lease runs until %s', o.lease_expires_at);
  ELSIF n.event = 'lease_expire' THEN
    why := format('with the budget of policy "%s" version %s it becomes %s', p.name, p.version,
                  CASE n.state WHEN 'ready' THEN 'dead' ELSE 'ready' END);
  ELSIF n.state = 'running' AND (n.worker IS NULL OR n.lease_expires_at IS NULL) THEN
    why := 'what runs has a worker and a lease';
  ELSIF n.lease_expires_at > n.updated_at + interval '24 hours' THEN
    why := format('its lease would run until %s; a lease lasts at most a day', n.lease_expires_at);
  ELSIF n.state = 'ready' AND n.available_at > n.updated_at THEN
    why := format('it is not due until %s, and what is not due is never ready', n.available_at);
  ELSIF o.state = 'running' AND n.actor_kind = 'worker' AND n.actor <> o.worker THEN
    why := format('worker "%s" holds it, not "%s"', o.worker, n.actor);
  ELSIF o.awaits_children AND n.state = 'ready' THEN
    why := 'it waits for required children that have not succeeded';
  ELSE
    why := format('%s may not change what this update changes (attempt, redrives, available_at, '
      'first_attempt_at, lease, policy, last failure, state_since or updated_at)', n.event);
  END IF;
  RAISE EXCEPTION USING ERRCODE = code, MESSAGE = format('job %s: %s', o.id, why),
    HINT = 'Nothing was changed. The table "transitions" holds every legal move.';
END $$;

-- The number of the lock between a parent that stops waiting and required children that are on their
-- way. Whoever enqueues such a child shares it until the end of the transaction, whoever ends the wait takes
-- it alone: else a parent could become ready beside a child that nobody sees yet, and both be committed.
CREATE FUNCTION ledger_family(parent_key text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(parent_key, 7021300002)
$$;

-- Holds every update to the table of transitions and appends the events, one insert a statement.
CREATE FUNCTION jobs_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  -- Before the statement below takes its snapshot, which then sees what was waited for.
  IF EXISTS (SELECT 1 FROM new_jobs n WHERE n.event = 'children_done') THEN
    PERFORM pg_advisory_xact_lock(ledger_family(n.idempotency_key))
    FROM new_jobs n WHERE n.event = 'children_done' ORDER BY n.id;
  END IF;
  INSERT INTO job_events
    (job_id, version, event, from_state, to_state, at, from_since, queue, attempt, fence,
     actor_kind, actor, worker, error_class, reason, error, note, policy, policy_version,
     first_attempt_at, available_at, lease_expires_at, from_lease_expires_at, output_ref, plan,
     tx, db_user)
  SELECT
    -- what is not known to be right is refused
    CASE WHEN n.version = o.version + 1
      AND n.fence = o.fence + t.fence_step
      AND n.attempt = CASE t.attempt_step
        WHEN 'next' THEN o.attempt + 1 WHEN 'give_back' THEN o.attempt - 1 WHEN 'reset' THEN 0
        ELSE o.attempt END
      AND n.redrives = o.redrives + (n.event = 'redrive')::integer
      AND n.unsettled = o.unsettled + t.unsettled_step
      AND (n.policy_version = o.policy_version AND n.policy = o.policy OR n.event = 'redrive')
      AND octet_length(n.actor) BETWEEN 1 AND 200
      AND (n.note IS NULL OR octet_length(n.note) <= 2000)
      AND (n.output_ref IS NULL OR octet_length(n.output_ref) <= 2000)
      -- the database's clock, and never backwards
      AND n.updated_at BETWEEN o.updated_at AND greatest(clock_timestamp(), o.updated_at)
      AND n.updated_at >= least(transaction_timestamp(), clock_timestamp())
      AND n.state_since = CASE WHEN n.state = o.state THEN o.state_since ELSE n.updated_at END
      AND CASE t.failure WHEN 'entered'
        THEN n.error_class IN ('transient', 'permanent', 'unknown')
          AND n.reason ~ '^[a-z][a-z0-9_]{0,63}$' AND coalesce(octet_length(n.error), 0) <= 2000
        ELSE n.error_class IS NOT DISTINCT FROM o.error_class
          AND n.reason IS NOT DISTINCT FROM o.reason AND n.error IS NOT DISTINCT FROM o.error END
      AND n.first_attempt_at IS NOT DISTINCT FROM CASE n.event
        WHEN 'claim' THEN coalesce(o.first_attempt_at, n.updated_at)
        WHEN 'redrive' THEN NULL ELSE o.first_attempt_at END
      -- what is not due is never ready, and only these events move the due time
      AND (n.state <> 'ready' OR n.available_at <= n.updated_at)
      AND (n.available_at = o.available_at
        OR n.event IN ('retry', 'exhaust', 'promote', 'redrive', 'lease_expire'))
      -- only the holder of a lease settles or renews
      AND (o.state <> 'running' OR n.state = 'running' AND n.event <> 'renew'
        OR n.actor_kind <> 'worker' OR n.actor = o.worker)
      -- what runs has a lease of at most a day, which only these events touch
      AND CASE WHEN n.state <> 'running' THEN n.worker IS NULL AND n.lease_expires_at IS NULL
        WHEN n.event = 'claim' THEN octet_length(n.worker) BETWEEN 1 AND 200
          AND n.lease_expires_at <= n.updated_at + interval '24 hours'
        WHEN n.event = 'renew' THEN n.worker = o.worker AND n.lease_expires_at
          BETWEEN o.lease_expires_at AND n.updated_at + interval '24 hours'
        ELSE n.worker = o.worker AND n.lease_expires_at = o.lease_expires_at END
      -- budgets are decided inside the settling transition
      AND (n.event NOT IN ('retry', 'exhaust', 'lease_expire', 'redrive') OR (
        SELECT CASE n.event
          WHEN 'retry' THEN n.attempt < p.max_attempts AND n.available_at
            <= o.first_attempt_at + p.max_age_ms * interval '1 millisecond'
          WHEN 'exhaust' THEN n.attempt >= p.max_attempts OR greatest(n.available_at, n.updated_at)
            > o.first_attempt_at + p.max_age_ms * interval '1 millisecond'
          WHEN 'lease_expire' THEN o.lease_expires_at <= n.updated_at
            AND (n.state = 'dead') = (n.attempt >= p.max_attempts OR n.updated_at
              > o.first_attempt_at + p.max_age_ms * interval '1 millisecond')
          ELSE true END
        FROM policies p WHERE p.name = n.policy AND p.version = n.policy_version))
      -- a parent waits for its required children
      AND (o.state <> 'pending' OR n.state <> 'ready'
        OR CASE n.event WHEN 'children_done' THEN o.awaits_children AND (
             SELECT c.id FROM jobs c WHERE c.parent_key = n.idempotency_key AND c.required
               AND c.state <> 'succeeded' LIMIT 1) IS NULL
           ELSE NOT o.awaits_children END)
      THEN n.id ELSE ledger_refuse_update(to_jsonb(o), to_jsonb(n)) END,
    n.version, n.event, o.state, n.state, n.updated_at, o.state_since, n.queue, n.attempt,
    n.fence, n.actor_kind, n.actor, coalesce(n.worker, o.worker),
    CASE WHEN t.failure <> 'silent' THEN n.error_class END,
    CASE WHEN t.failure <> 'silent' THEN n.reason END,
    CASE WHEN t.failure = 'entered' THEN n.error END,
    n.note, n.policy, n.policy_version,
    coalesce(n.first_attempt_at, o.first_attempt_at),
    CASE WHEN n.state IN ('pending', 'retry_wait') THEN n.available_at
         WHEN o.state IN ('pending', 'retry_wait') THEN o.available_at END,
    coalesce(n.lease_expires_at, o.lease_expires_at),
    CASE WHEN n.event = 'renew' THEN o.lease_expires_at END,
    CASE WHEN n.event = 'succeed' THEN n.output_ref END,
    n.plan, pg_current_xact_id(), session_user
  FROM new_jobs n
  JOIN old_jobs o ON o.id = n.id
  LEFT JOIN transitions t ON t.event = n.event AND t.from_state = o.state AND t.to_state = n.state
    AND t.actor_kind = n.actor_kind;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_change AFTER UPDATE ON jobs
  REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION jobs_change();

-- Says of the first offending insert what is wrong with it.
CREATE FUNCTION ledger_refuse_insert(n jobs) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  parent jobs;
  why text;
  code text := 'LT003';
BEGIN
  SELECT * INTO parent FROM jobs x WHERE x.idempotency_key = n.parent_key;
  IF NOT EXISTS (SELECT 1 FROM transitions x WHERE x.event = n.event AND x.from_state = ''
                 AND x.to_state = n.state AND x.actor_kind = n.actor_kind) THEN
    code := 'LT001';
    why := format('event "%s" may not create it in state %s as %s; legal: enqueue to ready or to '
      'pending (producer)', n.event, n.state, n.actor_kind);
  ELSIF NOT EXISTS (SELECT 1 FROM policies x
                    WHERE x.name = n.policy AND x.version = n.policy_version) THEN
    why := format('there is no policy "%s"%s', n.policy,
      CASE WHEN n.policy_version > 0 THEN ' version ' || n.policy_version ELSE '' END);
  ELSIF substr(n.id::text, 15, 1) <> '7' THEN
    why := 'its id is not a UUIDv7; leave id out and the ledger makes one';
  ELSIF octet_length(n.payload::text) > 16384 THEN
    why := format('its payload has %s bytes, at most 16384 are kept: store the body elsewhere and '
      'enqueue a reference', octet_length(n.payload::text));
  ELSIF parent.id IS NOT NULL AND n.required
        AND NOT (parent.state = 'pending' AND parent.awaits_children) THEN
    why := format('its parent "%s" does not wait for it (it is %s): enqueue children before or '
      'together with their parent', n.parent_key, parent.state);
  ELSIF (n.state = 'ready') = (n.awaits_children OR n.available_at > n.created_at) THEN
    why := format('in state %s it would be due at %s%s; leave state out and the ledger sets it',
      n.state, n.available_at, CASE WHEN n.awaits_children THEN ' and await children' ELSE '' END);
  ELSE
    why := 'a new job has version 1, fence, attempt, redrives and unsettled 0, state_since, updated_at '
      'and created_at alike and by the database''s clock, names of 1 to 200 bytes, a key of 1 to 512, '
      'and no failure, lease or output';
  END IF;
  RAISE EXCEPTION USING ERRCODE = code, MESSAGE = format('job %s (key "%s"): %s', n.id,
    left(n.idempotency_key, 100), why), HINT = 'Nothing was changed.';
END $$;

CREATE FUNCTION jobs_create() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  written bigint;
  bad record;
BEGIN
  -- Before the statement below takes its snapshot, which then sees what was waited for.
  IF EXISTS (SELECT 1 FROM new_jobs n WHERE n.parent_key IS NOT NULL AND n.required) THEN
    PERFORM pg_advisory_xact_lock_shared(ledger_family(n.parent_key))
    FROM new_jobs n WHERE n.parent_key IS NOT NULL AND n.required;
  END IF;
  INSERT INTO job_events
    (job_id, version, event, to_state, at, queue, attempt, fence, actor_kind, actor, note,
     policy, policy_version, available_at, plan, tx, db_user)
  SELECT
    n.id, n.version, n.event, n.state, n.updated_at, n.queue, 0, 0, n.actor_kind, n.actor, n.note,
    n.policy, n.policy_version, CASE WHEN n.state = 'pending' THEN n.available_at END, n.plan,
    pg_current_xact_id(), session_user
  FROM new_jobs n
  JOIN transitions t ON t.event = n.event AND t.from_state = '' AND t.to_state = n.state
    AND t.actor_kind = n.actor_kind
  JOIN policies p ON p.name = n.policy AND p.version = n.policy_version
  WHERE n.version = 1 AND n.fence = 0 AND n.attempt = 0 AND n.redrives = 0 AND n.unsettled = 0
    AND n.state_since = n.created_at AND n.updated_at = n.created_at
    AND n.created_at <= clock_timestamp()
    AND n.created_at >= least(transaction_timestamp(), clock_timestamp())
    AND (n.state = 'ready') = (NOT n.awaits_children AND n.available_at <= n.created_at)
    AND n.first_attempt_at IS NULL AND n.lease_expires_at IS NULL AND n.output_ref IS NULL
    AND n.error_class IS NULL AND n.reason IS NULL AND n.error IS NULL
    AND n.worker IS NULL
    AND octet_length(n.actor) BETWEEN 1 AND 200
    AND coalesce(octet_length(n.note) <= 2000, true)
    AND substr(n.id::text, 15, 1) = '7'
    AND octet_length(n.payload::text) <= 16384
    AND octet_length(n.idempotency_key) BETWEEN 1 AND 512
    AND octet_length(n.queue) BETWEEN 1 AND 200
    AND octet_length(n.kind) BETWEEN 1 AND 200
    AND octet_length(n.tenant) <= 200
    AND coalesce(octet_length(n.event_id) <= 200, true)
    AND coalesce(octet_length(n.schema_version) <= 200, true)
    AND coalesce(octet_length(n.parent_key) <= 512, true)
    -- a parent that is there already must still be waiting
    AND (n.parent_key IS NULL OR NOT n.required OR (
      SELECT parent.state = 'pending' AND parent.awaits_children FROM jobs parent
      WHERE parent.idempotency_key = n.parent_key) IS NOT FALSE);
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written <> (SELECT count(*) FROM new_jobs) THEN
    FOR bad IN
      SELECT jsonb_populate_record(NULL::jobs, to_jsonb(n)) AS n
      FROM new_jobs n
      WHERE NOT EXISTS (SELECT 1 FROM job_events e WHERE e.job_id = n.id)
      ORDER BY n.id LIMIT 1
    LOOP
      PERFORM ledger_refuse_insert(bad.n);
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'LT003', MESSAGE = 'the ledger refuses the insert';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_create AFTER INSERT ON jobs
  REFERENCING NEW TABLE AS new_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION jobs_create();

-- What is written once stays as it was written.
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'LT004',
    MESSAGE = format('%s of %s is refused: %s', TG_OP, TG_TABLE_NAME, CASE TG_TABLE_NAME
      WHEN 'job_events' THEN 'history is append-only and written by the ledger alone'
      WHEN 'jobs' THEN 'a job is never removed by hand; discard it instead'
      WHEN 'policies' THEN 'a policy version never changes; add a new version'
      ELSE 'the table of transitions changes only with a migration' END),
    HINT = 'Nothing was changed.';
END $$;
CREATE TRIGGER job_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON job_events
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER jobs_stay BEFORE DELETE OR TRUNCATE ON jobs
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER policies_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON policies
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER transitions_stay BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON transitions
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
-- Only the triggers on jobs write events: theirs is the depth below this one.
CREATE TRIGGER job_events_by_triggers_only BEFORE INSERT ON job_events
  FOR EACH STATEMENT WHEN (pg_trigger_depth() < 1)
  EXECUTE FUNCTION ledger_refuse_change();

-- Trigger functions run as the ledger's owner, so that events need no INSERT right; they find their tables
-- in this schema and nowhere else, whatever the search_path of the session.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN
    SELECT p.oid::regprocedure FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname IN ('jobs_fill_insert', 'jobs_fill_update', 'jobs_keep_identity',
        'jobs_change', 'jobs_create', 'ledger_legal_from', 'ledger_refuse_update',
        'ledger_refuse_insert', 'ledger_refuse_change')
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
  END LOOP;
END $$;
-- The plan is made once a session, perhaps for one row, and then serves batches of a thousand: a nested
-- loop over old and new rows would take 113 us a row there, a hash join takes 24.
ALTER FUNCTION jobs_change() SET enable_nestloop = off;
