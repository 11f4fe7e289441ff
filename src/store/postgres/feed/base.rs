//! The base load: every live job counted at one instant, the events just before it, and the
//! snapshot from which the feed goes on. One short read-only transaction.
//!
//! Owns which statements make a base. Next: [`crate::ledger::feed::Base`].

use std::time::Duration;

use futures_util::TryStreamExt as _;
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};

use super::Snapshot;
use crate::ledger::event::Event;
use crate::ledger::feed::Base;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::store::StoreError;
use crate::store::postgres::call::Fault;
use crate::store::postgres::moment::Moment;
use crate::store::postgres::rows;
use crate::store::row::Names;

/// The most events that windows are filled from.
const RECENT_MAX: i64 = 50_000;
/// How far back they are looked for: the furthest that holds no more than [`RECENT_MAX`].
const RECENT: [Duration; 5] = [
    Duration::from_mins(30),
    Duration::from_mins(10),
    Duration::from_mins(3),
    Duration::from_mins(1),
    Duration::from_secs(15),
];

/// Each counts the jobs of some states through the index made for them.
const CELLS: [&str; 4] = [
    include_str!("../../../../assets/sql/postgres/base_ready.sql"),
    include_str!("../../../../assets/sql/postgres/base_waiting.sql"),
    include_str!("../../../../assets/sql/postgres/base_running.sql"),
    include_str!("../../../../assets/sql/postgres/base_dead_letters.sql"),
];

/// Loads a base and the snapshot it was read in.
pub(super) async fn load(connection: &mut PgConnection) -> Result<(Snapshot, Base), Fault> {
    let mut transaction = connection
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    sqlx::query("SET LOCAL statement_timeout = '30s'")
        .execute(&mut *transaction)
        .await?;
    let (snapshot, as_of) = begin(&mut transaction).await?;
    let mut names = Names::default();
    let mut cells = Vec::new();
    for query in CELLS {
        // Rows are read one by one: a row holds more than what becomes of it, and there may be a
        // million.
        let mut rows = sqlx::query(query).fetch(&mut *transaction);
        while let Some(row) = rows.try_next().await? {
            cells.push(names.of_cell(rows::cell(&row)?));
        }
    }
    let (recent, recent_since) = recent(&mut transaction, as_of, &mut names).await?;
    transaction.commit().await?;
    let base = Base {
        as_of,
        cells,
        recent,
        recent_since,
    };
    Ok((snapshot, base))
}

async fn begin(connection: &mut PgConnection) -> Result<(Snapshot, Timestamp), Fault> {
    let row = sqlx::query(include_str!(
        "../../../../assets/sql/postgres/feed_begin.sql"
    ))
    .fetch_one(connection)
    .await?;
    let follows: bool = row.try_get("follows")?;
    if follows {
        return Err(Fault::Store(StoreError::Refused {
            operation: "base",
            message: SafeText::new(
                "this server is a standby, whose snapshots do not name the transactions in \
                 progress: watch the primary",
            ),
        }));
    }
    let now: Moment = row.try_get("now")?;
    Ok((Snapshot::parse(row.try_get("snapshot")?)?, now.timestamp()))
}

/// The events of the longest stretch of [`RECENT`] that is short enough, and where it begins.
async fn recent(
    connection: &mut PgConnection,
    as_of: Timestamp,
    names: &mut Names,
) -> Result<(Vec<Event>, Timestamp), Fault> {
    for stretch in RECENT {
        let since = as_of.minus(stretch);
        let count: i64 = sqlx::query_scalar(include_str!(
            "../../../../assets/sql/postgres/recent_count.sql"
        ))
        .bind(since.millis())
        .bind(RECENT_MAX + 1)
        .fetch_one(&mut *connection)
        .await?;
        if count <= RECENT_MAX {
            return Ok((events_since(connection, since, names).await?, since));
        }
    }
    Ok((Vec::new(), as_of))
}

async fn events_since(
    connection: &mut PgConnection,
    since: Timestamp,
    names: &mut Names,
) -> Result<Vec<Event>, Fault> {
    let mut events = Vec::new();
    let mut rows = sqlx::query(include_str!("../../../../assets/sql/postgres/recent.sql"))
        .bind(since.millis())
        .fetch(connection);
    while let Some(row) = rows.try_next().await? {
        events.push(names.of_event(rows::event(&row)?));
    }
    Ok(events)
}
