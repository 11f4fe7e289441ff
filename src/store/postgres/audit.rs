//! A whole ledger in PostgreSQL, page by page.
//!
//! Each page is one short transaction over one snapshot (repeatable read, read only), so that rows
//! and events belong together and no old snapshot keeps the server from cleaning up behind busy
//! workers. Next: [`crate::store::audit`], which puts a page together.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{Connection as _, Row as _};
use uuid::Uuid;

use super::call::Fault;
use super::session::Session;
use super::{moment, rows};
use crate::ledger::audit::{ApprovedPlan, CurrentRow, Moment, Outline, Rules, Twins, Unreadable};
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::store::StoreError;
use crate::store::audit::row::{RawCommon, RawEntry, RawRow};
use crate::store::audit::{
    Cursor, Known, PAGE_MAX, ReadEvent, Reading, Source, TWINS_MAX, shown_twins,
};

/// The longest that a page takes.
const DEADLINE: Duration = Duration::from_secs(12);
/// The longest that the search for keys without an index takes, here and on the server.
const TWINS_DEADLINE: Duration = Duration::from_mins(10);
const TWINS_TIMEOUT: &str = "SET LOCAL statement_timeout = '10min'";
/// One snapshot for all that a page reads.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

type Read<T> = Result<T, sqlx::Error>;

/// The reading of a database; connects again after an error.
#[derive(Debug)]
pub(super) struct PostgresAudit(Session);

impl PostgresAudit {
    pub(super) const fn new(options: PgConnectOptions, ledger: SafeText) -> Self {
        Self(Session::new(options, ledger))
    }
}

impl Source for PostgresAudit {
    type Job = Uuid;

    async fn outline(&mut self) -> Result<Known, StoreError> {
        let mut connection = self.0.take().await?;
        let read = outline(&mut connection);
        let known = self.0.within("audit", DEADLINE, read).await?;
        self.0.give_back(connection);
        Ok(known)
    }

    async fn read(&mut self, from: &Cursor<Uuid>) -> Result<(Reading<Uuid>, Rules), StoreError> {
        let mut connection = self.0.take().await?;
        let read = page(&mut connection, from);
        let page = self.0.within("audit", DEADLINE, read).await?;
        self.0.give_back(connection);
        Ok(page)
    }

    async fn twins(&mut self) -> Result<Vec<Twins>, StoreError> {
        let mut connection = self.0.take().await?;
        let read = twins(&mut connection);
        let twins = self.0.within("audit", TWINS_DEADLINE, read).await?;
        self.0.give_back(connection);
        Ok(twins)
    }
}

async fn outline(connection: &mut PgConnection) -> Result<Known, Fault> {
    let row = sqlx::query(include_str!(
        "../../../assets/sql/postgres/audit_outline.sql"
    ))
    .fetch_one(connection)
    .await?;
    let now: moment::Moment = row.try_get("now")?;
    let events: i64 = row.try_get("events")?;
    Ok(Known {
        outline: Outline {
            as_of: now.timestamp(),
            events: Some(num::unsigned(events)).filter(|events| *events > 0),
            last_event: None,
        },
        keyed: row.try_get("keyed")?,
    })
}

/// Reads the log, then the rows beside it, over one snapshot.
async fn page(
    connection: &mut PgConnection,
    from: &Cursor<Uuid>,
) -> Result<(Reading<Uuid>, Rules), Fault> {
    let limit = num::signed(num::count(PAGE_MAX));
    let (job, version) = match from {
        Cursor::Begin => (Uuid::nil(), i32::MIN),
        Cursor::Within(job, version) => (*job, i32::try_from(*version).unwrap_or(i32::MAX)),
        Cursor::After(job) => (*job, i32::MAX),
    };
    let mut transaction = connection.begin_with(BEGIN).await?;
    let events = sqlx::query(include_str!(
        "../../../assets/sql/postgres/audit_events.sql"
    ))
    .bind(job)
    .bind(version)
    .bind(limit)
    .fetch_all(&mut *transaction)
    .await?;
    let events = events.iter().map(event).collect::<Read<Vec<_>>>()?;
    let last = Reading::last_job(&events, PAGE_MAX);
    let beside = sqlx::query(include_str!("../../../assets/sql/postgres/audit_rows.sql"))
        .bind(job)
        .bind(last.unwrap_or(Uuid::max()))
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await?;
    let policies = sqlx::query(include_str!("../../../assets/sql/audit_policies.sql"))
        .fetch_all(&mut *transaction)
        .await?;
    let plans = sqlx::query(include_str!("../../../assets/sql/postgres/audit_plans.sql"))
        .fetch_all(&mut *transaction)
        .await?;
    transaction.rollback().await?;
    let reading = Reading {
        events,
        rows: beside.iter().map(row).collect::<Read<Vec<_>>>()?,
        limit: PAGE_MAX,
    };
    let rules = Rules {
        policies: policies
            .iter()
            .map(rows::policy)
            .collect::<Result<_, _>>()?,
        plans: plans.iter().map(plan).collect::<Read<_>>()?,
    };
    Ok((reading, rules))
}

async fn twins(connection: &mut PgConnection) -> Result<Vec<Twins>, Fault> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    sqlx::query(TWINS_TIMEOUT)
        .execute(&mut *transaction)
        .await?;
    let found = sqlx::query(include_str!("../../../assets/sql/audit_twins.sql"))
        .bind(TWINS_MAX)
        .fetch_all(&mut *transaction)
        .await?;
    transaction.rollback().await?;
    let twins = found.iter().map(|row| {
        Ok(shown_twins(
            row.try_get("idempotency_key")?,
            row.try_get("jobs")?,
            row.try_get("first")?,
            row.try_get("last")?,
        ))
    });
    twins.collect()
}

fn plan(row: &PgRow) -> Read<ApprovedPlan> {
    Ok(ApprovedPlan {
        id: SafeText::new(&text(row, "id")?),
        operation: SafeText::new(&text(row, "operation")?),
        approved_at: moment(row, "approved_at")?,
    })
}

/// One event.
pub(super) fn event(row: &PgRow) -> Read<ReadEvent<Uuid>> {
    let raw = RawEntry {
        common: common(row)?,
        at: moment(row, "at")?,
        from_state: text_if(row, "from_state")?,
        from_since: moment_if(row, "from_since")?,
        to_state: text(row, "to_state")?,
        available_at: moment_if(row, "available_at")?,
        from_lease_expires_at: moment_if(row, "from_lease_expires_at")?,
        idempotency_key: None,
    };
    Ok(ReadEvent {
        job: row.try_get("job_id")?,
        version: raw.common.version,
        number: None,
        entry: raw.check(),
    })
}

fn row(row: &PgRow) -> Read<(Uuid, Result<CurrentRow, Unreadable>)> {
    let raw = RawRow {
        common: common(row)?,
        idempotency_key: text(row, "idempotency_key")?,
        created_at: moment(row, "created_at")?,
        state: text(row, "state")?,
        state_since: moment(row, "state_since")?,
        updated_at: moment(row, "updated_at")?,
        redrives: int(row, "redrives")?,
        unsettled: int(row, "unsettled")?,
        available_at: moment(row, "available_at")?,
        children: int(row, "children")?,
    };
    Ok((row.try_get("id")?, raw.check()))
}

fn common(row: &PgRow) -> Read<RawCommon<'_>> {
    Ok(RawCommon {
        version: int(row, "version")?,
        queue: text(row, "queue")?,
        attempt: int(row, "attempt")?,
        fence: int(row, "fence")?,
        event: text(row, "event")?,
        actor_kind: text(row, "actor_kind")?,
        actor: text(row, "actor")?,
        note: text_if(row, "note")?,
        plan: text_if(row, "plan")?,
        worker: text_if(row, "worker")?,
        error_class: text_if(row, "error_class")?,
        reason: text_if(row, "reason")?,
        error: text_if(row, "error")?,
        policy: text(row, "policy")?,
        policy_version: int(row, "policy_version")?,
        first_attempt_at: moment_if(row, "first_attempt_at")?,
        lease_expires_at: moment_if(row, "lease_expires_at")?,
        output_ref: text_if(row, "output_ref")?,
    })
}

fn int(row: &PgRow, column: &str) -> Read<i64> {
    row.try_get::<i32, _>(column).map(i64::from)
}

fn text<'r>(row: &'r PgRow, column: &str) -> Read<Cow<'r, str>> {
    row.try_get(column).map(Cow::Borrowed)
}

fn text_if<'r>(row: &'r PgRow, column: &str) -> Read<Option<Cow<'r, str>>> {
    let read: Option<&str> = row.try_get(column)?;
    Ok(read.map(Cow::Borrowed))
}

fn moment(row: &PgRow, column: &str) -> Read<Moment> {
    let read: moment::Moment = row.try_get(column)?;
    Ok(Moment::from_micros(read.micros()))
}

fn moment_if(row: &PgRow, column: &str) -> Read<Option<Moment>> {
    let read: Option<moment::Moment> = row.try_get(column)?;
    Ok(read.map(|read| Moment::from_micros(read.micros())))
}
