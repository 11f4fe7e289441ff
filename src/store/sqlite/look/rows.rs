//! Rows of look-ups as the `Raw…` types of [`crate::store::look::row`] want them.
//!
//! Text is only shown, so bytes that are no text are replaced; an id that is none names its row as
//! unreadable. The outer error ends the reading, the inner one names a row. Next:
//! [`crate::store::look::row`].

use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::session::Fault;
use crate::ledger::view::{AuditCursor, JobCursor, ListedJob, OperatorAct, Relative};
use crate::store::StoreError;
use crate::store::look::row::{RawAct, RawLetter, RawListed, RawRelative};
use crate::store::row::{RawJob, corrupt};
use crate::store::sqlite::columns::Columns;

type Read<T> = Result<T, sqlx::Error>;

/// The id in a column, or the name of what stands there instead.
fn id(columns: Columns<'_>, column: &'static str) -> Read<Result<Uuid, StoreError>> {
    let text = columns.shown(column)?;
    Ok(Uuid::try_parse(&text).map_err(|_not_an_id| corrupt(&text, column, &text)))
}

/// A listed job.
pub(super) fn listed(row: &SqliteRow) -> Read<Result<ListedJob, StoreError>> {
    let columns = Columns(row);
    let id = match id(columns, "id")? {
        Ok(id) => id,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let (error_class, reason) = (
        columns.shown_if("error_class")?,
        columns.shown_if("reason")?,
    );
    let (error, worker) = (columns.shown_if("error")?, columns.shown_if("worker")?);
    let output_ref = columns.shown_if("output_ref")?;
    let raw = RawListed {
        job: RawJob {
            id,
            idempotency_key: &columns.shown("idempotency_key")?,
            queue: &columns.shown("queue")?,
            kind: &columns.shown("kind")?,
            tenant: &columns.shown("tenant")?,
            state: &columns.shown("state")?,
            state_since: columns.moment("state_since")?,
            version: columns.integer("version")?,
            fence: columns.integer("fence")?,
            attempt: columns.integer("attempt")?,
            redrives: columns.integer("redrives")?,
            available_at: columns.moment("available_at")?,
            output_ref: output_ref.as_deref(),
        },
        created_at: columns.moment("created_at")?,
        error_class: error_class.as_deref(),
        reason: reason.as_deref(),
        error: error.as_deref(),
        worker: worker.as_deref(),
        lease_expires_at: columns.moment_if("lease_expires_at")?,
        policy: &columns.shown("policy")?,
        policy_version: columns.integer("policy_version")?,
        unsettled: columns.integer("unsettled")?,
    };
    Ok(raw.check())
}

/// Where a page ends with these rows: at the last whose id is one.
pub(super) fn cursor(rows: &[SqliteRow], moment: &'static str) -> Read<Option<JobCursor>> {
    for row in rows.iter().rev() {
        let columns = Columns(row);
        if let Ok(id) = id(columns, "id")? {
            return Ok(Some(JobCursor {
                since_us: columns.integer(moment)?.saturating_mul(1_000),
                id,
            }));
        }
    }
    Ok(None)
}

/// A dead letter, handed to `take`.
pub(super) fn letter(
    row: &SqliteRow,
    take: impl FnOnce(Result<RawLetter<'_>, StoreError>) -> Result<(), StoreError>,
) -> Result<(), Fault> {
    let columns = Columns(row);
    let id = match id(columns, "id")? {
        Ok(id) => id,
        Err(unreadable) => return Ok(take(Err(unreadable))?),
    };
    let (error_class, reason) = (
        columns.shown_if("error_class")?,
        columns.shown_if("reason")?,
    );
    let error = columns.shown_if("error")?;
    let raw = RawLetter {
        id,
        state: &columns.shown("state")?,
        since: columns.moment("state_since")?,
        error_class: error_class.as_deref(),
        reason: reason.as_deref(),
        error: error.as_deref(),
        queue: &columns.shown("queue")?,
        tenant: &columns.shown("tenant")?,
        policy: &columns.shown("policy")?,
        policy_version: columns.integer("policy_version")?,
        redrives: columns.integer("redrives")?,
        unsettled: columns.integer("unsettled")?,
    };
    Ok(take(Ok(raw))?)
}

/// An operator's act.
pub(super) fn act(row: &SqliteRow) -> Read<Result<OperatorAct, StoreError>> {
    let columns = Columns(row);
    let job = match id(columns, "job_id")? {
        Ok(job) => job,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let plan = match columns.shown_if("plan")? {
        Some(text) => match Uuid::try_parse(&text) {
            Ok(plan) => Some(plan),
            Err(_not_an_id) => return Ok(Err(corrupt(job, "plan", &text))),
        },
        None => None,
    };
    let (from_state, note) = (columns.shown_if("from_state")?, columns.shown_if("note")?);
    let operation = columns.shown_if("operation")?;
    let raw = RawAct {
        at: columns.moment("at")?,
        job,
        version: columns.integer("version")?,
        queue: &columns.shown("queue")?,
        event: &columns.shown("event")?,
        from_state: from_state.as_deref(),
        to_state: &columns.shown("to_state")?,
        actor: &columns.shown("actor")?,
        // SQLite has no roles.
        db_user: None,
        note: note.as_deref(),
        plan,
        of_plan: match (operation.as_deref(), columns.integer_if("jobs")?) {
            (Some(operation), Some(jobs)) => Some((operation, jobs)),
            (None, _) | (_, None) => None,
        },
    };
    Ok(raw.check())
}

/// Where a page of acts ends with these rows.
pub(super) fn act_cursor(rows: &[SqliteRow]) -> Read<Option<AuditCursor>> {
    for row in rows.iter().rev() {
        let columns = Columns(row);
        if let Ok(id) = id(columns, "job_id")? {
            return Ok(Some(AuditCursor {
                at_us: columns.integer("at")?.saturating_mul(1_000),
                id,
                version: columns.integer("version")?,
            }));
        }
    }
    Ok(None)
}

/// A child.
pub(super) fn child(row: &SqliteRow) -> Read<Result<Relative, StoreError>> {
    let columns = Columns(row);
    let job = match id(columns, "id")? {
        Ok(job) => job,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let raw = RawRelative {
        key: &columns.shown("idempotency_key")?,
        required: columns.integer("required")? == 1,
        job: Some((job, &columns.shown("state")?)),
    };
    Ok(raw.check())
}

/// The parent that a job names, if it does.
pub(super) fn parent(row: &SqliteRow) -> Read<Option<Result<Relative, StoreError>>> {
    let columns = Columns(row);
    let Some(key) = columns.shown_if("parent_key")? else {
        return Ok(None);
    };
    let state = columns.shown_if("parent_state")?;
    let id = match columns.shown_if("parent_id")? {
        Some(text) => match Uuid::try_parse(&text) {
            Ok(id) => Some(id),
            Err(_not_an_id) => return Ok(Some(Err(corrupt(&text, "id", &text)))),
        },
        None => None,
    };
    let raw = RawRelative {
        key: &key,
        required: columns.integer("required")? == 1,
        job: id.zip(state.as_deref()),
    };
    Ok(Some(raw.check()))
}
