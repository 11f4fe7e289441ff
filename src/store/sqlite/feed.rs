//! The feed of a ledger in a SQLite file.
//!
//! SQLite has one writer at a time and numbers events in the order of commits, so "after the last
//! one read" is exact. The connection cannot write and holds no transaction between two readings,
//! so that it never keeps the log from being checkpointed. Next on the walk of a row to a cell:
//! [`crate::store::row`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sqlx::sqlite::SqliteRow;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::time::timeout;

use super::access::{explain, statement};
use super::columns::Columns;
use super::connect::{self, Identity, Purpose};
use crate::ledger::event::Event;
use crate::ledger::feed::{Base, Batch, Cell};
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::store::fault::{Call, Effect};
use crate::store::row::{Names, RawCell, RawEvent};
use crate::store::{Feed, StoreError};

/// The most events of one reading: bounds the memory and the time that a reading takes.
const READING_MAX: i64 = 10_000;
/// How far back a base reaches for its windows, and how many events at most.
const RECENT: Duration = Duration::from_secs(30 * 60);
const RECENT_MAX: i64 = 50_000;
/// The longest that a base and a reading take.
const BASE_DEADLINE: Duration = Duration::from_secs(60);
const READING_DEADLINE: Duration = Duration::from_secs(10);

/// A feed; connects at its first reading and again after an error.
pub(crate) struct SqliteFeed {
    path: PathBuf,
    ledger: SafeText,
    link: Option<Link>,
    /// The last event read.
    last: i64,
}

struct Link {
    connection: SqliteConnection,
    /// The file that it is on, as of the last reading.
    file: Identity,
    /// `data_version` as of the last reading that read everything.
    read_at: Option<i64>,
}

impl SqliteFeed {
    pub(crate) fn new(path: &Path, ledger: &SafeText) -> Self {
        Self {
            path: path.to_owned(),
            ledger: ledger.clone(),
            link: None,
            last: 0,
        }
    }
}

#[async_trait]
impl Feed for SqliteFeed {
    async fn base(&mut self) -> Result<Base, StoreError> {
        let ledger = self.ledger.clone();
        let call = call("base load", &ledger);
        let read = async {
            let link = link(&mut self.link, &self.path, &call).await?;
            link.read_at = None;
            load(&mut link.connection, &call).await
        };
        let read = timeout(BASE_DEADLINE, read).await;
        match read.unwrap_or_else(|_elapsed| Err(call.late(BASE_DEADLINE))) {
            Ok((base, last)) => {
                self.last = last;
                Ok(base)
            }
            Err(error) => {
                self.link = None;
                Err(error)
            }
        }
    }

    async fn next(&mut self) -> Result<Batch, StoreError> {
        let ledger = self.ledger.clone();
        let call = call("reading", &ledger);
        let after = self.last;
        let read = async {
            let link = link(&mut self.link, &self.path, &call).await?;
            let now = Identity::at(&self.path, &call)?;
            link.file.check(now, &call)?;
            link.file = now;
            advance(link, after, &call).await
        };
        let read = timeout(READING_DEADLINE, read).await;
        match read.unwrap_or_else(|_elapsed| Err(call.late(READING_DEADLINE))) {
            Ok((batch, last)) => {
                self.last = last;
                Ok(batch)
            }
            Err(error) => {
                self.link = None;
                Err(error)
            }
        }
    }
}

const fn call<'a>(operation: &'static str, ledger: &'a SafeText) -> Call<'a> {
    Call {
        operation,
        ledger,
        effect: Effect::None,
    }
}

/// The connection; made, and its ledger looked at, where there is none.
async fn link<'f>(
    held: &'f mut Option<Link>,
    path: &Path,
    call: &Call<'_>,
) -> Result<&'f mut Link, StoreError> {
    let link = match held.take() {
        Some(link) => link,
        None => connect(path, call).await?,
    };
    Ok(held.insert(link))
}

async fn connect(path: &Path, call: &Call<'_>) -> Result<Link, StoreError> {
    connect::look(path, Purpose::Read, call)?;
    let mut connection = connect::options(path, Purpose::Read)
        .connect()
        .await
        .map_err(|error| explain(call, &error))?;
    connect::check_schema(&mut connection, call).await?;
    // Read from already, so that nobody else takes the log away as the last to leave.
    let file = Identity::at(path, call)?;
    Ok(Link {
        connection,
        file,
        read_at: None,
    })
}

/// Counts everything in one reading transaction, which ends with the base.
async fn load(
    connection: &mut SqliteConnection,
    call: &Call<'_>,
) -> Result<(Base, i64), StoreError> {
    let failed = |error| explain(call, &error);
    let mut transaction = connection.begin().await.map_err(failed)?;
    let last: i64 = sqlx::query_scalar(statement!("feed_last"))
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed)?;
    let cells = cells(&mut transaction, call).await?;
    let as_of = clock(&mut transaction).await.map_err(failed)?;
    let row = sqlx::query(statement!("feed_recent"))
        .bind(last)
        .bind(as_of.minus(RECENT).millis())
        .bind(RECENT_MAX)
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed)?;
    let since = Columns(&row);
    let (before, before_at) =
        (|| Ok((since.integer("seq")?, since.moment_if("at")?)))().map_err(failed)?;
    let (recent, _last) = events_after(&mut transaction, before, RECENT_MAX, call).await?;
    transaction.rollback().await.map_err(failed)?;
    let as_of = latest(as_of, &recent);
    // Everything after the newest event that was left out is there, and nothing older than asked.
    let asked = as_of.minus(RECENT);
    let recent_since = before_at.map_or(asked, |at| asked.max(at.plus(Duration::from_millis(1))));
    let base = Base {
        as_of,
        cells,
        recent,
        recent_since,
    };
    Ok((base, last))
}

/// Reads what was committed since `after`. Asks first whether anything was.
async fn advance(link: &mut Link, after: i64, call: &Call<'_>) -> Result<(Batch, i64), StoreError> {
    let failed = |error| explain(call, &error);
    let connection = &mut link.connection;
    let version: i64 = sqlx::query_scalar("PRAGMA data_version")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let (events, last) = if link.read_at == Some(version) {
        (Vec::new(), after)
    } else {
        events_after(connection, after, READING_MAX, call).await?
    };
    let as_of = clock(connection).await.map_err(failed)?;
    let more = num::count(events.len()) >= num::unsigned(READING_MAX);
    link.read_at = (!more).then_some(version);
    let as_of = latest(as_of, &events);
    let batch = Batch {
        as_of,
        events,
        more,
    };
    Ok((batch, last))
}

/// No earlier than the last event: the clock may have been set back since.
fn latest(clock: Timestamp, events: &[Event]) -> Timestamp {
    events.last().map_or(clock, |last| clock.max(last.at))
}

async fn clock(connection: &mut SqliteConnection) -> Result<Timestamp, sqlx::Error> {
    let millis: i64 = sqlx::query_scalar(statement!("clock"))
        .fetch_one(connection)
        .await?;
    Ok(Timestamp::from_millis(millis))
}

/// Every live job, counted. Rows are read one by one: a row of the driver holds some ten times what
/// becomes of it, and there may be a million.
async fn cells(
    connection: &mut SqliteConnection,
    call: &Call<'_>,
) -> Result<Vec<Cell>, StoreError> {
    let mut names = Names::default();
    let mut cells = Vec::new();
    let mut rows = sqlx::query(statement!("feed_cells")).fetch(connection);
    while let Some(row) = rows
        .try_next()
        .await
        .map_err(|error| explain(call, &error))?
    {
        cells.push(names.of_cell(cell(&row, call)?));
    }
    Ok(cells)
}

/// At most `limit` events after one, and the number of the last.
async fn events_after(
    connection: &mut SqliteConnection,
    after: i64,
    limit: i64,
    call: &Call<'_>,
) -> Result<(Vec<Event>, i64), StoreError> {
    let failed = |error| explain(call, &error);
    let mut names = Names::default();
    let (mut events, mut last) = (Vec::new(), after);
    let mut rows = sqlx::query(statement!("feed"))
        .bind(after)
        .bind(limit)
        .fetch(connection);
    while let Some(row) = rows.try_next().await.map_err(failed)? {
        events.push(names.of_event(event(&row, call)?));
        last = Columns(&row).integer("seq").map_err(failed)?;
    }
    Ok((events, last))
}

fn event(row: &SqliteRow, call: &Call<'_>) -> Result<Event, StoreError> {
    let columns = Columns(row);
    let checked = || {
        Ok(RawEvent {
            job: columns.id("job_id")?,
            version: columns.integer("version")?,
            event: &columns.shown("event")?,
            at: columns.moment("at")?,
            queue: &columns.shown("queue")?,
            from_state: columns.shown_if("from_state")?.as_deref(),
            from_since: columns.moment_if("from_since")?,
            to_state: &columns.shown("to_state")?,
            attempt: columns.integer("attempt")?,
            actor_kind: &columns.shown("actor_kind")?,
            actor: &columns.shown("actor")?,
            worker: columns.shown_if("worker")?.as_deref(),
            error_class: columns.shown_if("error_class")?.as_deref(),
            reason: columns.shown_if("reason")?.as_deref(),
            available_at: columns.moment_if("available_at")?,
            lease_expires_at: columns.moment_if("lease_expires_at")?,
            from_lease_expires_at: columns.moment_if("from_lease_expires_at")?,
            first_attempt_at: columns.moment_if("first_attempt_at")?,
            note: columns.shown_if("note")?.as_deref(),
        }
        .check())
    };
    checked().map_err(|error: sqlx::Error| explain(call, &error))?
}

fn cell(row: &SqliteRow, call: &Call<'_>) -> Result<Cell, StoreError> {
    let columns = Columns(row);
    let checked = || {
        Ok(RawCell {
            queue: &columns.shown("queue")?,
            state: &columns.shown("state")?,
            since_s: columns.integer("since_s")?,
            error_class: columns.shown_if("error_class")?.as_deref(),
            reason: columns.shown_if("reason")?.as_deref(),
            available_s: columns.integer_if("available_s")?,
            lease_expires_s: columns.integer_if("lease_expires_s")?,
            worker: columns.shown_if("worker")?.as_deref(),
            count: columns.integer("count")?,
        }
        .check())
    };
    checked().map_err(|error: sqlx::Error| explain(call, &error))?
}
