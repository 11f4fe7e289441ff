//! Rows of look-ups as the `Raw…` types of [`crate::store::look::row`] want them.
//!
//! The outer error ends the reading, the inner one names a row that cannot be understood. Next:
//! [`crate::store::look::row`].

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::ledger::time::Timestamp;
use crate::ledger::view::{AuditCursor, JobCursor, ListedJob, OperatorAct, Relative};
use crate::store::StoreError;
use crate::store::look::row::{RawAct, RawLetter, RawListed, RawRelative};
use crate::store::postgres::moment::Moment;
use crate::store::postgres::rows::{int, maybe_moment, moment, raw_job};

type Read<T> = Result<T, sqlx::Error>;

/// A listed job.
pub(super) fn listed(row: &PgRow) -> Read<Result<ListedJob, StoreError>> {
    let raw = RawListed {
        job: raw_job(row)?,
        created_at: moment(row, "created_at")?,
        error_class: row.try_get("error_class")?,
        reason: row.try_get("reason")?,
        error: row.try_get("error")?,
        worker: row.try_get("worker")?,
        lease_expires_at: maybe_moment(row, "lease_expires_at")?,
        policy: row.try_get("policy")?,
        policy_version: int(row, "policy_version")?,
        unsettled: int(row, "unsettled")?,
    };
    Ok(raw.check())
}

/// Where a page ends with this row.
pub(super) fn cursor(row: &PgRow, moment: &str) -> Read<JobCursor> {
    let since: Moment = row.try_get(moment)?;
    Ok(JobCursor {
        since_us: since.micros(),
        id: row.try_get("id")?,
    })
}

/// A dead letter.
pub(super) fn letter(row: &PgRow) -> Read<RawLetter<'_>> {
    Ok(RawLetter {
        id: row.try_get("id")?,
        state: row.try_get("state")?,
        since: moment(row, "state_since")?,
        error_class: row.try_get("error_class")?,
        reason: row.try_get("reason")?,
        error: row.try_get("error")?,
        queue: row.try_get("queue")?,
        tenant: row.try_get("tenant")?,
        policy: row.try_get("policy")?,
        policy_version: int(row, "policy_version")?,
        redrives: int(row, "redrives")?,
        unsettled: int(row, "unsettled")?,
    })
}

/// An operator's act.
pub(super) fn act(row: &PgRow) -> Read<Result<OperatorAct, StoreError>> {
    let raw = RawAct {
        at: moment(row, "at")?,
        job: row.try_get("job_id")?,
        version: int(row, "version")?,
        queue: row.try_get("queue")?,
        event: row.try_get("event")?,
        from_state: row.try_get("from_state")?,
        to_state: row.try_get("to_state")?,
        actor: row.try_get("actor")?,
        db_user: row.try_get("db_user")?,
        note: row.try_get("note")?,
        plan: row.try_get("plan")?,
        of_plan: match (row.try_get("operation")?, row.try_get("jobs")?) {
            (Some(operation), Some(jobs)) => Some((operation, jobs)),
            (None, _) | (_, None) => None,
        },
    };
    Ok(raw.check())
}

/// Where a page of acts ends with this row.
pub(super) fn act_cursor(row: &PgRow) -> Read<AuditCursor> {
    let at: Moment = row.try_get("at")?;
    Ok(AuditCursor {
        at_us: at.micros(),
        id: row.try_get("job_id")?,
        version: int(row, "version")?,
    })
}

/// A child.
pub(super) fn child(row: &PgRow) -> Read<Result<Relative, StoreError>> {
    let raw = RawRelative {
        key: row.try_get("idempotency_key")?,
        required: row.try_get("required")?,
        job: Some((row.try_get("id")?, row.try_get("state")?)),
    };
    Ok(raw.check())
}

/// The parent that a job names, if it does.
pub(super) fn parent(row: &PgRow) -> Read<Option<Result<Relative, StoreError>>> {
    let Some(key) = row.try_get::<Option<&str>, _>("parent_key")? else {
        return Ok(None);
    };
    let id: Option<uuid::Uuid> = row.try_get("parent_id")?;
    let state: Option<&str> = row.try_get("parent_state")?;
    let raw = RawRelative {
        key,
        required: row.try_get("required")?,
        job: id.zip(state),
    };
    Ok(Some(raw.check()))
}

/// The moment of the reading.
pub(super) fn now(row: &PgRow) -> Read<Timestamp> {
    moment(row, "now")
}
