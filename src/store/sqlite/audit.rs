//! A whole ledger in a SQLite file, page by page.
//!
//! Each page is one reading transaction on a connection that cannot write; in between, the log of
//! the file may be checkpointed. Events have numbers without a gap here, so that one that was
//! removed with its job leaves a trace. Next: [`crate::store::audit`], which puts a page together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteRow;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::time::timeout;

use super::access::{explain, statement};
use super::columns::Columns;
use super::connect::{self, Purpose};
use super::policy::read_policy;
use crate::ledger::audit::{ApprovedPlan, CurrentRow, Moment, Outline, Rules, Twins, Unreadable};
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::store::StoreError;
use crate::store::audit::row::{RawEntry, RawRow, misshapen};
use crate::store::audit::{
    Cursor, Known, PAGE_MAX, ReadEvent, Reading, Source, TWINS_MAX, shown_twins,
};
use crate::store::fault::{Call, Effect};

/// The longest that a page takes.
const DEADLINE: Duration = Duration::from_secs(30);
/// The longest that the search for keys without an index takes.
const TWINS_DEADLINE: Duration = Duration::from_mins(10);
/// Rows and events of a page lie all over the file: 32 MiB of it are kept, in units of 1,024 bytes.
const CACHE: &str = "-32768";
/// Comes after every id: no text has a greater first character.
const LAST_ID: &str = "\u{10ffff}";

type Read<T> = Result<T, sqlx::Error>;

/// The reading of a file; connects again after an error.
#[derive(Debug)]
pub(crate) struct SqliteAudit {
    path: PathBuf,
    ledger: SafeText,
    connection: Option<SqliteConnection>,
}

impl SqliteAudit {
    pub(crate) fn new(path: &Path, ledger: &SafeText) -> Self {
        Self {
            path: path.to_owned(),
            ledger: ledger.clone(),
            connection: None,
        }
    }

    /// The connection; made, and its ledger looked at, where there is none. It is taken, and given
    /// back after a good reading only.
    async fn take(&mut self, call: &Call<'_>) -> Result<SqliteConnection, StoreError> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        connect::look(&self.path, Purpose::Read, call)?;
        let mut connection = connect::options(&self.path, Purpose::Read)
            .pragma("cache_size", CACHE)
            .connect()
            .await
            .map_err(|error| explain(call, &error))?;
        connect::check_schema(&mut connection, call).await?;
        Ok(connection)
    }
}

const CALL: &str = "audit";

impl Source for SqliteAudit {
    type Job = String;

    async fn outline(&mut self) -> Result<Known, StoreError> {
        let ledger = self.ledger.clone();
        let call = call(&ledger);
        let mut connection = self.take(&call).await?;
        let read = within(DEADLINE, &call, outline(&mut connection));
        let known = read.await?;
        self.connection = Some(connection);
        Ok(known)
    }

    async fn read(
        &mut self,
        from: &Cursor<String>,
    ) -> Result<(Reading<String>, Rules), StoreError> {
        let ledger = self.ledger.clone();
        let call = call(&ledger);
        let mut connection = self.take(&call).await?;
        let read = within(DEADLINE, &call, page(&mut connection, from));
        let (reading, policies, plans) = read.await?;
        let policies = policies
            .iter()
            .map(|row| read_policy(row, |error| explain(&call, error)))
            .collect::<Result<_, _>>()?;
        self.connection = Some(connection);
        let rules = Rules { policies, plans };
        Ok((reading, rules))
    }

    async fn twins(&mut self) -> Result<Vec<Twins>, StoreError> {
        let ledger = self.ledger.clone();
        let call = call(&ledger);
        let mut connection = self.take(&call).await?;
        let read = within(TWINS_DEADLINE, &call, twins(&mut connection));
        let found = read.await?;
        self.connection = Some(connection);
        Ok(found)
    }
}

const fn call(ledger: &SafeText) -> Call<'_> {
    Call {
        operation: CALL,
        ledger,
        effect: Effect::None,
    }
}

async fn within<T>(
    deadline: Duration,
    call: &Call<'_>,
    read: impl Future<Output = Read<T>> + Send,
) -> Result<T, StoreError> {
    match timeout(deadline, read).await {
        Ok(read) => read.map_err(|error| explain(call, &error)),
        Err(_elapsed) => Err(call.late(deadline)),
    }
}

async fn outline(connection: &mut SqliteConnection) -> Read<Known> {
    let row = sqlx::query(statement!("audit_outline"))
        .fetch_one(connection)
        .await?;
    let columns = Columns(&row);
    let last = num::unsigned(columns.integer("last")?);
    Ok(Known {
        outline: Outline {
            as_of: Timestamp::from_millis(columns.integer("now")?),
            events: Some(last),
            last_event: Some(last),
        },
        keyed: columns.integer("keyed")? == 1,
    })
}

/// Reads the log, then the rows beside it, in one reading transaction.
async fn page(
    connection: &mut SqliteConnection,
    from: &Cursor<String>,
) -> Read<(Reading<String>, Vec<SqliteRow>, Vec<ApprovedPlan>)> {
    let limit = num::signed(num::count(PAGE_MAX));
    let (job, version) = match from {
        Cursor::Begin => ("", i64::MIN),
        Cursor::After(job) => (job.as_str(), i64::MAX),
        Cursor::Within(job, version) => (job.as_str(), *version),
    };
    let mut transaction = connection.begin().await?;
    let events = sqlx::query(statement!("audit_events"))
        .bind(job)
        .bind(version)
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await?;
    let events = events.iter().map(event).collect::<Read<Vec<_>>>()?;
    let last = Reading::last_job(&events, PAGE_MAX);
    let rows = sqlx::query(statement!("audit_rows"))
        .bind(job)
        .bind(last.as_deref().unwrap_or(LAST_ID))
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await?;
    let policies = sqlx::query(include_str!("../../../assets/sql/audit_policies.sql"))
        .fetch_all(&mut *transaction)
        .await?;
    let plans = sqlx::query(statement!("audit_plans"))
        .fetch_all(&mut *transaction)
        .await?;
    let plans = plans.iter().map(plan).collect::<Read<Vec<_>>>()?;
    transaction.rollback().await?;
    let rows = rows.iter().map(row).collect::<Read<Vec<_>>>()?;
    let reading = Reading {
        events,
        rows,
        limit: PAGE_MAX,
    };
    Ok((reading, policies, plans))
}

fn plan(row: &SqliteRow) -> Read<ApprovedPlan> {
    let columns = Columns(row);
    let approved_at = columns.integer("approved_at")?;
    Ok(ApprovedPlan {
        id: SafeText::new(&columns.shown("id")?),
        operation: SafeText::new(&columns.shown("operation")?),
        approved_at: Moment::from_millis(approved_at),
    })
}

async fn twins(connection: &mut SqliteConnection) -> Read<Vec<Twins>> {
    let rows = sqlx::query(include_str!("../../../assets/sql/audit_twins.sql"))
        .bind(TWINS_MAX)
        .fetch_all(connection)
        .await?;
    let twins = rows.iter().map(|row| {
        let columns = Columns(row);
        Ok(shown_twins(
            &columns.shown("idempotency_key")?,
            columns.integer("jobs")?,
            &columns.shown("first")?,
            &columns.shown("last")?,
        ))
    });
    twins.collect()
}

/// One event.
pub(super) fn event(row: &SqliteRow) -> Read<ReadEvent<String>> {
    let columns = Columns(row);
    let version = columns.integer("version")?;
    let line = columns.shown("line")?;
    Ok(ReadEvent {
        job: columns.shown("job_id")?.into_owned(),
        version,
        number: Some(num::unsigned(columns.integer("seq")?)),
        entry: serde_json::from_str::<RawEntry<'_>>(&line)
            .map_err(|error| misshapen(Some(version), &error))
            .and_then(RawEntry::check),
    })
}

fn row(row: &SqliteRow) -> Read<(String, Result<CurrentRow, Unreadable>)> {
    let columns = Columns(row);
    let line = columns.shown("line")?;
    let checked = serde_json::from_str::<RawRow<'_>>(&line)
        .map_err(|error| misshapen(None, &error))
        .and_then(RawRow::check);
    Ok((columns.shown("id")?.into_owned(), checked))
}
