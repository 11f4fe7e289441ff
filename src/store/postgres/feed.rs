//! The feed: once the counts at one instant, then exactly the events committed since, over one
//! connection that cannot write and never holds a transaction open between two readings.
//!
//! Owns the cursor. An event belongs to a reading when its transaction was not visible in the last
//! snapshot and is in this one; numbers of transactions say which these are, whatever the order in
//! which they commit. Next: `feed/base`, then [`crate::ledger::feed`].

use std::time::Duration;

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use uuid::Uuid;

use super::call::Fault;
use super::moment::Moment;
use super::rows;
use super::session::Session;
use crate::ledger::event::Event;
use crate::ledger::feed::{Base, Batch};
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::store::{Feed, StoreError};

mod base;
mod snapshot;

use snapshot::Snapshot;

/// The most events of one reading: about 20 MB.
const EVENTS_MAX: usize = 20_000;
/// The longest that connecting or a reading may take.
const DEADLINE: Duration = Duration::from_secs(12);
/// The longest that a base load may take: millions of ready jobs are grouped by second.
const BASE_DEADLINE: Duration = Duration::from_secs(60);

/// Up to where the feed was read.
#[derive(Debug, Clone)]
struct Cursor {
    /// Everything visible in it was delivered.
    last: Snapshot,
    /// Where more events than one reading takes were waiting: what is being read in pages.
    pages: Option<Pages>,
}

/// A snapshot that is being read in pages, and the last event delivered.
#[derive(Debug, Clone)]
struct Pages {
    target: Snapshot,
    at_us: i64,
    job: Uuid,
    version: i32,
}

impl Pages {
    const fn begin(target: Snapshot) -> Self {
        Self {
            target,
            at_us: 0,
            job: Uuid::nil(),
            version: 0,
        }
    }
}

/// The feed of a ledger in PostgreSQL.
#[derive(Debug)]
pub(super) struct PostgresFeed {
    session: Session,
    cursor: Option<Cursor>,
    events_max: usize,
}

impl PostgresFeed {
    pub(super) const fn new(options: PgConnectOptions, ledger: SafeText) -> Self {
        Self {
            session: Session::new(options, ledger),
            cursor: None,
            events_max: EVENTS_MAX,
        }
    }
}

#[async_trait]
impl Feed for PostgresFeed {
    async fn base(&mut self) -> Result<Base, StoreError> {
        let mut connection = self.session.take().await?;
        let loaded = self
            .session
            .within("base", BASE_DEADLINE, base::load(&mut connection))
            .await;
        let (snapshot, base) = loaded?;
        self.session.give_back(connection);
        self.cursor = Some(Cursor {
            last: snapshot,
            pages: None,
        });
        Ok(base)
    }

    async fn next(&mut self) -> Result<Batch, StoreError> {
        let Some(cursor) = self.cursor.clone() else {
            return Err(StoreError::Refused {
                operation: "next",
                message: SafeText::new("the feed has no base yet"),
            });
        };
        let mut connection = self.session.take().await?;
        let reading = read(&mut connection, cursor, self.events_max);
        let (cursor, batch) = self.session.within("next", DEADLINE, reading).await?;
        self.session.give_back(connection);
        self.cursor = Some(cursor);
        Ok(batch)
    }
}

/// One reading; the cursor after it.
async fn read(
    connection: &mut PgConnection,
    cursor: Cursor,
    most: usize,
) -> Result<(Cursor, Batch), Fault> {
    if let Some(pages) = cursor.pages {
        return read_page(connection, cursor.last, pages, most).await;
    }
    // One more than is taken tells whether there are more.
    let limit = num::signed(num::count(most).saturating_add(1));
    let rows = sqlx::query(include_str!("../../../assets/sql/postgres/feed_next.sql"))
        .bind(cursor.last.xmax())
        .bind(cursor.last.in_progress())
        .bind(limit)
        .fetch_all(&mut *connection)
        .await?;
    let reading = Reading::of(&rows)?;
    if reading.events.len() > most {
        let pages = Pages::begin(reading.snapshot);
        return read_page(connection, cursor.last, pages, most).await;
    }
    let cursor = Cursor {
        last: reading.snapshot,
        pages: None,
    };
    Ok((cursor, batch(reading.as_of, reading.events, false)))
}

async fn read_page(
    connection: &mut PgConnection,
    last: Snapshot,
    pages: Pages,
    most: usize,
) -> Result<(Cursor, Batch), Fault> {
    let rows = sqlx::query(include_str!("../../../assets/sql/postgres/feed_page.sql"))
        .bind(last.xmax())
        .bind(last.in_progress())
        .bind(num::signed(num::count(most)))
        .bind(pages.target.xmax())
        .bind(pages.target.in_progress())
        .bind(pages.at_us)
        .bind(pages.job)
        .bind(pages.version)
        .fetch_all(connection)
        .await?;
    let reading = Reading::of(&rows)?;
    let more = reading.events.len() >= most;
    let cursor = match (more, reading.furthest) {
        (true, Some((at_us, job, version))) => Cursor {
            last,
            pages: Some(Pages {
                target: pages.target,
                at_us,
                job,
                version,
            }),
        },
        (true, None) | (false, _) => Cursor {
            last: pages.target,
            pages: None,
        },
    };
    Ok((cursor, batch(reading.as_of, reading.events, more)))
}

fn batch(as_of: Timestamp, mut events: Vec<Event>, more: bool) -> Batch {
    // Moments of one job never go back, so this keeps its own events in the order of versions.
    events.sort_unstable_by_key(|event| (event.at, event.job, event.version));
    Batch {
        as_of,
        events,
        more,
    }
}

/// What a statement of the feed returned: events, and one row about the reading itself.
struct Reading {
    snapshot: Snapshot,
    as_of: Timestamp,
    events: Vec<Event>,
    /// The greatest event in the order of pages.
    furthest: Option<(i64, Uuid, i32)>,
}

impl Reading {
    fn of(rows: &[PgRow]) -> Result<Self, Fault> {
        let mut itself = None;
        let mut furthest = None;
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(text) = row.try_get::<Option<&str>, _>("snapshot")? {
                let now: Moment = row.try_get("now")?;
                itself = Some((Snapshot::parse(text)?, now.timestamp()));
                continue;
            }
            let at: Moment = row.try_get("at")?;
            let place = (at.micros(), row.try_get("job_id")?, row.try_get("version")?);
            furthest = furthest.max(Some(place));
            events.push(rows::event(row)?);
        }
        let (snapshot, as_of) = itself.ok_or(sqlx::Error::RowNotFound)?;
        Ok(Self {
            snapshot,
            as_of,
            events,
            furthest,
        })
    }
}
