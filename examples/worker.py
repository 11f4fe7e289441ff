"""A worker in Python that knows SQL and nothing of ledgertop. It shares a SQLite ledger with any other
workers, and the ledger's triggers hold it to the same rules. One job at a time: start as many as you
like. Some `ledgertop work` must run beside it, on any queue: it wakes what is due and takes back the
leases of workers that died. Needs Python with SQLite 3.38 or later, and nothing else.

    python3 worker.py jobs.db QUEUE [KEY...]

A KEY is a job that was delivered some other way, by a broker say: it is begun, or what became of it is
said. SIGTERM ends the worker after the job in hand.
"""

import json
import os
import signal
import socket
import sqlite3
import sys
import threading
import time

path, queue, *delivered = sys.argv[1:]
lease_ms = int(float(os.environ.get("LEASE_SECONDS", 30)) * 1000)
me = os.environ.get("WORKER_NAME", f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}")
NOW = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"  # the ledger's clock


class Failure(Exception):
    """The class (transient, permanent, unknown) decides what follows; the reason is a registered word."""

    def __init__(self, failure_class, reason, message):
        super().__init__(message)
        self.failure_class, self.reason = failure_class, reason


def handle(job, lost):
    """The work, here sending a mail: replace it. It may run more than once, so its effect carries the
    key. `lost` is set when the lease is lost: a long handler looks at it and stops."""
    if "to" not in job["payload"]:
        raise Failure("permanent", "missing_field", "the payload has no 'to'")
    if job["payload"].get("busy") and job["attempt"] == 1:
        raise Failure("transient", "rate_limited", "come back later")
    if lost.wait(job["payload"].get("seconds", 0)):
        raise Failure("transient", "lease_expired", "the lease is lost")
    sent = os.path.join(os.environ.get("OUTBOX", "."), job["idempotency_key"])
    try:
        with open(sent, "x") as mail:  # fails where it is there
            mail.write(f"to {job['payload']['to']}\n")
    except FileExistsError:
        pass  # an attempt before this one has sent it
    return f"file:{sent}"


def connect():
    """A connection on which each statement is a transaction, and waits for its turn."""
    ledger = sqlite3.connect(path, timeout=60, isolation_level=None)
    ledger.row_factory = sqlite3.Row
    return ledger


# RETURNING shows what the statement itself writes, so it counts the attempt and raises the fence.
CLAIM = f"""
  UPDATE jobs SET event = 'claim', state = 'running', actor_kind = 'worker', actor = :me,
    fence = fence + 1, attempt = attempt + 1, lease_expires_at = {NOW} + :lease, version = version + 1"""
JOB = "RETURNING id, fence, attempt, idempotency_key, kind, tenant, payload"


def job_of(rows):
    """The job that was claimed, if one was."""
    jobs = [{**row, "payload": json.loads(row["payload"])} for row in map(dict, rows)]
    return jobs[0] if jobs else None


def claim(ledger, last_tenant):
    """Takes the oldest ready job of the tenant whose turn it is: the next one after the last."""
    return job_of(ledger.execute(
        f"""{CLAIM} WHERE id = (
          SELECT id FROM jobs WHERE state = 'ready' AND queue = :queue AND tenant = coalesce(
            (SELECT tenant FROM jobs WHERE state = 'ready' AND queue = :queue AND tenant > :last
             ORDER BY tenant LIMIT 1),
            (SELECT tenant FROM jobs WHERE state = 'ready' AND queue = :queue
             ORDER BY tenant LIMIT 1))
          ORDER BY state_since, id LIMIT 1) {JOB}""",
        {"me": me, "lease": lease_ms, "queue": queue, "last": last_tenant}).fetchall())


def begin(ledger, key):
    """Begins the job of a delivery; else records the delivery as one too many, and says why."""
    job = job_of(ledger.execute(
        f"{CLAIM} WHERE idempotency_key = :key AND state = 'ready' {JOB}",
        {"me": me, "lease": lease_ms, "key": key}).fetchall())
    if job:
        return "run", job
    found = ledger.execute(
        """UPDATE jobs SET event = 'duplicate', actor_kind = 'worker', actor = :me, version = version + 1
        WHERE idempotency_key = :key AND state <> 'ready' RETURNING state""",
        {"me": me, "key": key}).fetchall()
    if not found:
        known = ledger.execute("SELECT 1 FROM jobs WHERE idempotency_key = ?", (key,)).fetchall()
        # What is known has become ready just now.
        return begin(ledger, key) if known else ("not found", None)
    state = found[0]["state"]
    if state in ("pending", "retry_wait"):
        return "already scheduled", None
    if state in ("running", "succeeded"):
        return f"already {state}", None
    return f"set aside ({state})", None


def change(ledger, job, what, **values):
    """Changes the job in hand, if it still is: after its lease ran out it may be another worker's."""
    return ledger.execute(
        f"""UPDATE jobs SET {what}, actor_kind = 'worker', actor = :me, version = version + 1
        WHERE id = :id AND fence = :fence AND worker = :me AND state = 'running'""",
        {"me": me, "id": job["id"], "fence": job["fence"], **values}).rowcount == 1


def renew(ledger, job):
    moved = f"event = 'renew', lease_expires_at = max(lease_expires_at, {NOW} + :lease)"
    return change(ledger, job, moved, lease=lease_ms)


def succeed(ledger, job, output):
    done = "event = 'succeed', state = 'succeeded', output_ref = :output"
    return change(ledger, job, done, output=output)


def reject(ledger, job, failure):
    """It would fail again: to quarantine, and no budget is spent."""
    aside = """event = 'reject', state = 'quarantined', error_class = 'permanent',
      reason = :reason, error = :error"""
    return change(ledger, job, aside, reason=failure.reason, error=str(failure)[:500])


def retry(ledger, job, failure_class, reason, error):
    """It may succeed later: after a wait drawn from 0 to min(cap, base * 2^(attempt - 1)), or never,
    where the budgets of the job's policy are spent. What is unknown and to be held is left to its
    lease."""
    return ledger.execute(
        f"""UPDATE jobs SET event = CASE WHEN spent THEN 'exhaust' ELSE 'retry' END,
          state = CASE WHEN spent THEN 'dead' ELSE 'retry_wait' END, available_at = until,
          error_class = :class, reason = :reason, error = :error,
          actor_kind = 'worker', actor = :me, version = version + 1
        FROM (
          SELECT w.id AS failed, until,
            w.attempt >= max_attempts OR until > w.first_attempt_at + max_age_ms AS spent
          FROM (
            SELECT j.id, j.attempt, j.first_attempt_at, p.max_attempts, p.max_age_ms,
              {NOW} + CAST((random() / 18446744073709551616.0 + 0.5)
                * min(p.backoff_cap_ms, p.backoff_base_ms << min(j.attempt - 1, 20)) AS INTEGER) AS until
            FROM jobs j JOIN policies p ON p.name = j.policy AND p.version = j.policy_version
            WHERE j.id = :id AND j.fence = :fence AND j.worker = :me AND j.state = 'running'
              AND NOT (:class = 'unknown' AND p.on_unknown = 'hold')) w)
        WHERE id = failed""",
        {"me": me, "id": job["id"], "fence": job["fence"], "class": failure_class, "reason": reason,
         "error": error[:500]}).rowcount == 1


def keep(job, over, lost):
    """Renews the lease until the job is over or the lease is lost, on a connection of its own."""
    ledger = connect()
    while not over.wait(lease_ms / 3000):
        if not renew(ledger, job):
            lost.set()
            break
    ledger.close()


def run(ledger, job):
    """Runs one job; its lease is renewed meanwhile."""
    over, lost = threading.Event(), threading.Event()
    keeper = threading.Thread(target=keep, args=(job, over, lost))
    keeper.start()
    try:
        output, failure = handle(job, lost), None
    except Exception as error:  # pylint: disable=broad-except
        failure = error
    over.set()
    keeper.join()
    if failure is None:
        settled = succeed(ledger, job, output)
    elif isinstance(failure, Failure) and failure.failure_class == "permanent":
        settled = reject(ledger, job, failure)
    elif isinstance(failure, Failure):
        settled = retry(ledger, job, failure.failure_class, failure.reason, str(failure))
    else:
        settled = retry(ledger, job, "unknown", "unclassified", repr(failure))
    if not settled:
        print(f"{job['idempotency_key']}: not settled, its lease decides", flush=True)


def main():
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    ledger, tenant = connect(), ""
    for key in delivered:
        disposition, job = begin(ledger, key)
        print(f"{key}: {disposition}", flush=True)
        if job:
            run(ledger, job)
    while not ending.is_set():
        job = claim(ledger, tenant)
        if job:
            tenant = job["tenant"]
            run(ledger, job)
        else:
            ending.wait(0.2)


main()
