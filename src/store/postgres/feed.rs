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
mod pages;
mod snapshot;

use pages::{Pages, Place, Turn};
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
    mut pages: Pages,
    most: usize,
) -> Result<(Cursor, Batch), Fault> {
    let rows = sqlx::query(include_str!("../../../assets/sql/postgres/feed_page.sql"))
        .bind(last.xmax())
        .bind(last.in_progress())
        .bind(num::signed(num::count(most)))
        .bind(pages.target.xmax())
        .bind(pages.target.in_progress())
        .bind(pages.last.tx.to_string())
        .bind(pages.last.job)
        .bind(pages.last.version)
        .fetch_all(connection)
        .await?;
    let mut as_of = None;
    let mut furthest = None;
    let mut page = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some((_snapshot, now)) = itself(row)? {
            as_of = Some(now);
            continue;
        }
        furthest = furthest.max(Some(Place {
            tx: row.try_get("tx")?,
            job: row.try_get("job_id")?,
            version: row.try_get("version")?,
        }));
        page.push(Turn {
            event: rows::event(row)?,
            after_tx: row.try_get("after_tx")?,
        });
    }
    let as_of = as_of.ok_or(sqlx::Error::RowNotFound)?;
    let more_after = furthest.filter(|_| page.len() >= most);
    let events = pages.turn(page, more_after);
    let cursor = if more_after.is_some() {
        Cursor {
            last,
            pages: Some(pages),
        }
    } else {
        Cursor {
            last: pages.target,
            pages: None,
        }
    };
    Ok((cursor, batch(as_of, events, more_after.is_some())))
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

/// What the statement of a reading returned: events, and one row about the reading itself.
struct Reading {
    snapshot: Snapshot,
    as_of: Timestamp,
    events: Vec<Event>,
}

impl Reading {
    fn of(rows: &[PgRow]) -> Result<Self, Fault> {
        let mut about = None;
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            match itself(row)? {
                Some(found) => about = Some(found),
                None => events.push(rows::event(row)?),
            }
        }
        let (snapshot, as_of) = about.ok_or(sqlx::Error::RowNotFound)?;
        Ok(Self {
            snapshot,
            as_of,
            events,
        })
    }
}

/// Snapshot and clock of a reading, where this is the row about the reading itself.
fn itself(row: &PgRow) -> Result<Option<(Snapshot, Timestamp)>, Fault> {
    let Some(text) = row.try_get::<Option<&str>, _>("snapshot")? else {
        return Ok(None);
    };
    let now: Moment = row.try_get("now")?;
    Ok(Some((Snapshot::parse(text)?, now.timestamp())))
}
