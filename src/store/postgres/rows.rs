//! Columns of PostgreSQL as the `Raw…` types of [`crate::store::row`] want them.
//!
//! Owns names and widths of columns, nothing else. Next: [`crate::store::row`].

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::call::Fault;
use super::moment::Moment;
use crate::ledger::event::Event;
use crate::ledger::feed::Cell;
use crate::ledger::job::{Claimed, JobRow};
use crate::ledger::policy::Policy;
use crate::ledger::state::State;
use crate::ledger::time::Timestamp;
use crate::store::row::{self, RawCell, RawClaim, RawEvent, RawJob, RawPolicy};

/// A counter.
pub(super) fn int(row: &PgRow, column: &str) -> Result<i64, sqlx::Error> {
    row.try_get::<i32, _>(column).map(i64::from)
}

/// A moment, cut to milliseconds.
pub(super) fn moment(row: &PgRow, column: &str) -> Result<Timestamp, sqlx::Error> {
    row.try_get::<Moment, _>(column).map(Moment::timestamp)
}

/// A moment, where there is one.
pub(super) fn maybe_moment(row: &PgRow, column: &str) -> Result<Option<Timestamp>, sqlx::Error> {
    let read: Option<Moment> = row.try_get(column)?;
    Ok(read.map(Moment::timestamp))
}

fn maybe_second(row: &PgRow, column: &str) -> Result<Option<i64>, sqlx::Error> {
    Ok(maybe_moment(row, column)?.map(Timestamp::second))
}

/// State and version of a job, as the columns of those names say.
pub(super) fn standing(job: Uuid, row: &PgRow) -> Result<(State, u32), Fault> {
    let state = row::state(job, "state", row.try_get("state")?)?;
    Ok((state, row::counter(job, "version", int(row, "version")?)?))
}

/// What an act has become before, where `operated.sql` found it.
pub(super) fn done_before(job: Uuid, row: &PgRow) -> Result<Option<(State, u32)>, Fault> {
    let state: Option<&str> = row.try_get("done_state")?;
    let version: Option<i32> = row.try_get("done_version")?;
    match (state, version) {
        (Some(state), Some(version)) => Ok(Some((
            row::state(job, "to_state", state)?,
            row::counter(job, "version", i64::from(version))?,
        ))),
        (None, _) | (_, None) => Ok(None),
    }
}

/// The fence of a lease.
pub(super) fn fence(job: Uuid, row: &PgRow) -> Result<u32, Fault> {
    Ok(row::counter(job, "fence", int(row, "fence")?)?)
}

/// A row of `job_events`.
pub(super) fn event(row: &PgRow) -> Result<Event, Fault> {
    let raw = RawEvent {
        job: row.try_get("job_id")?,
        version: int(row, "version")?,
        event: row.try_get("event")?,
        at: moment(row, "at")?,
        queue: row.try_get("queue")?,
        from_state: row.try_get("from_state")?,
        from_since: maybe_moment(row, "from_since")?,
        to_state: row.try_get("to_state")?,
        attempt: int(row, "attempt")?,
        actor_kind: row.try_get("actor_kind")?,
        actor: row.try_get("actor")?,
        worker: row.try_get("worker")?,
        error_class: row.try_get("error_class")?,
        reason: row.try_get("reason")?,
        available_at: maybe_moment(row, "available_at")?,
        lease_expires_at: maybe_moment(row, "lease_expires_at")?,
        from_lease_expires_at: maybe_moment(row, "from_lease_expires_at")?,
        first_attempt_at: maybe_moment(row, "first_attempt_at")?,
        note: row.try_get("note")?,
    };
    Ok(raw.check()?)
}

/// A row of a base load.
pub(super) fn cell(row: &PgRow) -> Result<Cell, Fault> {
    let raw = RawCell {
        queue: row.try_get("queue")?,
        state: row.try_get("state")?,
        since_s: moment(row, "since")?.second(),
        error_class: row.try_get("error_class")?,
        reason: row.try_get("reason")?,
        available_s: maybe_second(row, "available")?,
        lease_expires_s: maybe_second(row, "lease_expires")?,
        worker: row.try_get("worker")?,
        count: row.try_get("count")?,
    };
    Ok(raw.check()?)
}

/// Name and version of the policy that a claimed job is under.
pub(super) fn policy_key(row: &PgRow) -> Result<(String, i64), sqlx::Error> {
    Ok((row.try_get("policy")?, int(row, "policy_version")?))
}

/// A claimed job, under its policy.
pub(super) fn claimed(row: &PgRow, policy: &Policy) -> Result<Claimed, Fault> {
    let raw = RawClaim {
        id: row.try_get("id")?,
        fence: int(row, "fence")?,
        version: int(row, "version")?,
        attempt: int(row, "attempt")?,
        redrives: int(row, "redrives")?,
        queue: row.try_get("queue")?,
        kind: row.try_get("kind")?,
        tenant: row.try_get("tenant")?,
        idempotency_key: row.try_get("idempotency_key")?,
        payload: row.try_get("payload")?,
        schema_version: row.try_get("schema_version")?,
        claimed_at: moment(row, "claimed_at")?,
        lease_expires_at: moment(row, "lease_expires_at")?,
        first_attempt_at: moment(row, "first_attempt_at")?,
        policy,
    };
    Ok(raw.check()?)
}

/// A row of `policies`.
pub(super) fn policy(row: &PgRow) -> Result<Policy, Fault> {
    Ok(raw_policy(row, "name", "version")?.check()?)
}

/// The columns of a policy.
pub(super) fn raw_policy<'r>(
    row: &'r PgRow,
    name: &str,
    version: &str,
) -> Result<RawPolicy<'r>, sqlx::Error> {
    Ok(RawPolicy {
        name: row.try_get(name)?,
        version: int(row, version)?,
        max_attempts: int(row, "max_attempts")?,
        max_age_ms: row.try_get("max_age_ms")?,
        backoff_base_ms: row.try_get("backoff_base_ms")?,
        backoff_cap_ms: row.try_get("backoff_cap_ms")?,
        retry_after_cap_ms: row.try_get("retry_after_cap_ms")?,
        on_unknown: row.try_get("on_unknown")?,
    })
}

/// A row of `jobs`.
pub(super) fn job(row: &PgRow) -> Result<JobRow, Fault> {
    Ok(raw_job(row)?.check()?)
}

/// The columns of a job that every list shows.
pub(super) fn raw_job(row: &PgRow) -> Result<RawJob<'_>, sqlx::Error> {
    Ok(RawJob {
        id: row.try_get("id")?,
        idempotency_key: row.try_get("idempotency_key")?,
        queue: row.try_get("queue")?,
        kind: row.try_get("kind")?,
        tenant: row.try_get("tenant")?,
        state: row.try_get("state")?,
        state_since: moment(row, "state_since")?,
        version: int(row, "version")?,
        fence: int(row, "fence")?,
        attempt: int(row, "attempt")?,
        redrives: int(row, "redrives")?,
        available_at: moment(row, "available_at")?,
        output_ref: row.try_get("output_ref")?,
    })
}
