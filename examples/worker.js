// A worker in Node.js that knows SQL and nothing of ledgertop. It shares a PostgreSQL ledger with any
// other workers, and the ledger's triggers hold it to the same rules. One job at a time: start as
// many as you like. Some `ledgertop work` must run beside it, on any queue: it wakes what is due and
// takes back the leases of workers that died.
//
//     npm install pg
//     DATABASE_URL=postgres://... node worker.js QUEUE [KEY...]
//
// A KEY is a job that was delivered some other way, by a broker say: it is begun, or what became of
// it is said. SIGTERM ends the worker after the job in hand.
"use strict";
const { writeFile } = require("node:fs/promises");
const { hostname } = require("node:os");
const { setTimeout: sleep } = require("node:timers/promises");
const { Client } = require("pg");

const [queue, ...delivered] = process.argv.slice(2);
const leaseSeconds = Number(process.env.LEASE_SECONDS ?? 30);
const me = process.env.WORKER_NAME ?? `${hostname()}:${process.pid}:${Date.now()}`;
const ledger = new Client({ connectionString: process.env.DATABASE_URL });

class Failure extends Error {
  // The class (transient, permanent, unknown) decides what follows; the reason is a registered word.
  constructor(failureClass, reason, message) {
    super(message);
    Object.assign(this, { class: failureClass, reason });
  }
}

// The work, here sending a mail: replace it. It may run more than once, so its effect carries the key.
async function handle(job, lost) {
  const { to, busy, seconds = 0 } = job.payload;
  if (!to) throw new Failure("permanent", "missing_field", "the payload has no 'to'");
  if (busy && job.attempt === 1) throw new Failure("transient", "rate_limited", "come back later");
  await sleep(seconds * 1000, null, { signal: lost }); // stops here where the lease is lost
  const sent = `${process.env.OUTBOX ?? "."}/${job.idempotency_key}`;
  try {
    await writeFile(sent, `to ${to}\n`, { flag: "wx", signal: lost }); // fails where it is there
  } catch (error) {
    if (error.code !== "EEXIST") throw error; // else an attempt before this one has sent it
  }
  return `file:${sent}`;
}

const CLAIM = `
  UPDATE jobs SET event = 'claim', state = 'running', actor_kind = 'worker', actor = $1,
    lease_expires_at = clock_timestamp() + $2 * interval '1 second', version = version + 1`;
const JOB = "RETURNING id, fence, attempt, idempotency_key, kind, tenant, payload";

// Takes the oldest ready job of the tenant whose turn it is: the next one after the last.
let lastTenant = "";
async function claim() {
  const claimed = await ledger.query(
    `${CLAIM} WHERE id = (
       SELECT id FROM jobs WHERE state = 'ready' AND queue = $3 AND tenant = coalesce(
         (SELECT tenant FROM jobs WHERE state = 'ready' AND queue = $3 AND tenant > $4
          ORDER BY tenant LIMIT 1),
         (SELECT tenant FROM jobs WHERE state = 'ready' AND queue = $3 ORDER BY tenant LIMIT 1))
       ORDER BY state_since, id LIMIT 1 FOR UPDATE SKIP LOCKED) ${JOB}`,
    [me, leaseSeconds, queue, lastTenant],
  );
  const [job] = claimed.rows;
  if (job) lastTenant = job.tenant;
  return job;
}

// Begins the job of a delivery; else records the delivery as one too many, and says why.
async function begin(key) {
  const ready = `WHERE idempotency_key = $3 AND state = 'ready'`;
  const begun = await ledger.query(`${CLAIM} ${ready} ${JOB}`, [me, leaseSeconds, key]);
  if (begun.rows.length === 1) return { disposition: "run", job: begun.rows[0] };
  const found = await ledger.query(
    `UPDATE jobs SET event = 'duplicate', actor_kind = 'worker', actor = $1, version = version + 1
     WHERE idempotency_key = $2 AND state <> 'ready' RETURNING state`,
    [me, key],
  );
  if (found.rows.length === 0) {
    const known = await ledger.query("SELECT 1 FROM jobs WHERE idempotency_key = $1", [key]);
    // What is known has become ready just now.
    return known.rows.length === 0 ? { disposition: "not found" } : begin(key);
  }
  const { state } = found.rows[0];
  const waits = state === "pending" || state === "retry_wait";
  if (waits) return { disposition: "already scheduled" };
  if (state === "running") return { disposition: "already running" };
  if (state === "succeeded") return { disposition: "already succeeded" };
  return { disposition: `set aside (${state})` };
}

// Changes the job in hand, if it still is: after its lease ran out it may be another worker's.
async function change(job, what, ...values) {
  const changed = await ledger.query(
    `UPDATE jobs SET ${what}, actor_kind = 'worker', actor = $1, version = version + 1
     WHERE id = $2 AND fence = $3 AND worker = $1 AND state = 'running'`,
    [me, job.id, job.fence, ...values],
  );
  return changed.rowCount === 1;
}

const renew = (job) =>
  change(
    job,
    `event = 'renew',
     lease_expires_at = greatest(lease_expires_at, clock_timestamp() + $4 * interval '1 second')`,
    leaseSeconds,
  );

const succeed = (job, output) =>
  change(job, "event = 'succeed', state = 'succeeded', output_ref = $4", output);

// It would fail again: to quarantine, and no budget is spent.
const reject = (job, { reason, message }) =>
  change(
    job,
    `event = 'reject', state = 'quarantined', error_class = 'permanent', reason = $4, error = $5`,
    reason,
    message.slice(0, 500),
  );

// It may succeed later: after a wait drawn from 0 to min(cap, base * 2^(attempt - 1)), or never, where
// the budgets of the job's policy are spent. What is unknown and to be held is left to its lease.
async function retry(job, error) {
  const retried = await ledger.query(
    `WITH failed AS (
       SELECT j.id, wait.until, j.attempt >= p.max_attempts
           OR wait.until > j.first_attempt_at + p.max_age_ms * interval '1 millisecond' AS spent
       FROM jobs j JOIN policies p ON p.name = j.policy AND p.version = j.policy_version
       CROSS JOIN LATERAL (SELECT clock_timestamp() + interval '1 millisecond' * random()
         * least(p.backoff_cap_ms, p.backoff_base_ms * power(2, least(j.attempt - 1, 30)))) wait (until)
       WHERE j.id = $2 AND j.fence = $3 AND j.worker = $1 AND j.state = 'running'
         AND NOT ($4 = 'unknown' AND p.on_unknown = 'hold'))
     UPDATE jobs SET event = CASE WHEN spent THEN 'exhaust' ELSE 'retry' END,
       state = CASE WHEN spent THEN 'dead' ELSE 'retry_wait' END, available_at = until,
       error_class = $4, reason = $5, error = $6,
       actor_kind = 'worker', actor = $1, version = version + 1
     FROM failed WHERE jobs.id = failed.id`,
    [
      me, job.id, job.fence,
      error.class ?? "unknown", error.reason ?? "unclassified", error.message.slice(0, 500),
    ],
  );
  return retried.rowCount === 1;
}

// Runs one job. Its lease is renewed meanwhile, and the handler is told when it is lost.
async function run(job) {
  const lost = new AbortController();
  const renewing = setInterval(async () => {
    if (!(await renew(job))) lost.abort();
  }, (leaseSeconds * 1000) / 3);
  let settle;
  try {
    const output = await handle(job, lost.signal);
    settle = () => succeed(job, output);
  } catch (error) {
    settle = () => (error.class === "permanent" ? reject(job, error) : retry(job, error));
  }
  clearInterval(renewing);
  if (!(await settle())) console.log(`${job.idempotency_key}: not settled, its lease decides`);
}

// A connection that breaks ends the process, and its supervisor starts another: the lease of the job
// in hand runs out, and the next attempt finds the effect by its key.
async function main() {
  let ending = false;
  process.on("SIGTERM", () => (ending = true));
  await ledger.connect();
  for (const key of delivered) {
    const { disposition, job } = await begin(key);
    console.log(`${key}: ${disposition}`);
    if (job) await run(job);
  }
  while (!ending) {
    const job = await claim();
    if (job) await run(job);
    else await sleep(200);
  }
  await ledger.end();
}

main();
