//! Look-ups in a SQLite file: one short statement each, or one short reading transaction, over one
//! connection that cannot write.
//!
//! Owns binding and running; the statements of lists come in pieces from [`crate::store::look`].
//! Next: `look/session.rs`, how a call that is dropped ends, `look/sql.rs`, the words of this
//! database, and `look/story.rs`, one job.

use std::path::Path;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, SqliteConnection};
use uuid::Uuid;

use super::access::{Database, statement};
use super::columns::Columns;
use super::plans::reads;
use crate::ledger::num;
use crate::ledger::plan::{Plan, PlanEntry, PlanJob};
use crate::ledger::query::Query;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{
    AuditCursor, AuditPage, Count, DeadLetters, JobCursor, JobName, JobOrder, JobPage, JobStory,
    LeasePage,
};
use crate::store::StoreError;
use crate::store::look::row::{self, Letters};
use crate::store::look::{self, Bounds, Clause, Look, Piece, Reach, Value};
use crate::store::plans::PlanJobsPage;

mod reach;
mod rows;
mod session;
mod sql;
mod story;

pub(super) use session::Fault;
use session::Session;
pub(super) use sql::DIALECT;

/// Comes after every id: no text has a greater first character.
const LAST_ID: &str = "\u{10ffff}";

/// Look-ups over one connection.
#[derive(Debug)]
pub(crate) struct SqliteLook(Session);

impl SqliteLook {
    pub(crate) fn new(path: &Path, ledger: &SafeText) -> Self {
        Self(Session::new(path, ledger))
    }
}

#[async_trait]
impl Look for SqliteLook {
    async fn reach(&mut self, query: &Query, order: JobOrder) -> Result<Reach, StoreError> {
        let mut taken = self.0.take().await?;
        let work = reach::reach(&mut taken.connection, query, order);
        let reach = self.0.within("reach", work).await?;
        self.0.give_back(taken);
        Ok(reach)
    }

    async fn jobs(
        &mut self,
        query: &Query,
        order: JobOrder,
        after: Option<&JobCursor>,
        limit: u32,
    ) -> Result<JobPage, StoreError> {
        let limits = Limits::new(order, after, limit);
        let mut taken = self.0.take().await?;
        let work = jobs(&mut taken.connection, query, &limits);
        let page = self.0.within("jobs", work).await?;
        self.0.give_back(taken);
        Ok(page)
    }

    async fn count(&mut self, query: &Query, at_most: u64) -> Result<Count, StoreError> {
        let mut taken = self.0.take().await?;
        let work = count(&mut taken.connection, query, at_most);
        let count = self.0.within("count", work).await?;
        self.0.give_back(taken);
        Ok(count)
    }

    async fn story(&mut self, job: &JobName) -> Result<Option<JobStory>, StoreError> {
        let mut taken = self.0.take().await?;
        let work = story::story(&mut taken.connection, job);
        let story = self.0.within("job", work).await?;
        self.0.give_back(taken);
        Ok(story)
    }

    async fn dead_letters(&mut self, query: &Query) -> Result<DeadLetters, StoreError> {
        let mut taken = self.0.take().await?;
        let work = dead_letters(&mut taken.connection, query);
        let letters = self.0.within("dead_letters", work).await?;
        self.0.give_back(taken);
        Ok(letters)
    }

    async fn leases(
        &mut self,
        query: &Query,
        after: Option<&JobCursor>,
        limit: u32,
    ) -> Result<LeasePage, StoreError> {
        let limits = Limits::new(JobOrder::OldestFirst, after, limit);
        let mut taken = self.0.take().await?;
        let work = leases(&mut taken.connection, query, &limits);
        let page = self.0.within("leases", work).await?;
        self.0.give_back(taken);
        Ok(page)
    }

    async fn audit(
        &mut self,
        before: Option<&AuditCursor>,
        limit: u32,
    ) -> Result<AuditPage, StoreError> {
        let limit = look::page_rows(limit);
        let mut taken = self.0.take().await?;
        let work = acts(&mut taken.connection, before, limit);
        let page = self.0.within("audit", work).await?;
        self.0.give_back(taken);
        Ok(page)
    }

    async fn plan(&mut self, plan: Uuid) -> Result<Option<Plan>, StoreError> {
        let mut taken = self.0.take().await?;
        let found = self
            .0
            .within("plan", reads::one(&mut taken.connection, plan))
            .await?;
        self.0.give_back(taken);
        Ok(found)
    }

    async fn plans(&mut self, limit: u32) -> Result<Vec<Plan>, StoreError> {
        let mut taken = self.0.take().await?;
        let found = self
            .0
            .within("plans", reads::newest(&mut taken.connection, limit))
            .await?;
        self.0.give_back(taken);
        Ok(found)
    }

    async fn plan_jobs(
        &mut self,
        plan: Uuid,
        page: PlanJobsPage,
    ) -> Result<Vec<PlanJob>, StoreError> {
        let mut taken = self.0.take().await?;
        let found = self
            .0
            .within("plan jobs", reads::jobs(&mut taken.connection, plan, page))
            .await?;
        self.0.give_back(taken);
        Ok(found)
    }

    async fn plan_history(&mut self, plan: Uuid, limit: u32) -> Result<Vec<PlanEntry>, StoreError> {
        let mut taken = self.0.take().await?;
        let found = self
            .0
            .within(
                "plan history",
                reads::history(&mut taken.connection, plan, limit),
            )
            .await?;
        self.0.give_back(taken);
        Ok(found)
    }
}

/// What a caller asked of a page.
struct Limits<'a> {
    order: JobOrder,
    after: Option<&'a JobCursor>,
    rows: u64,
}

impl<'a> Limits<'a> {
    fn new(order: JobOrder, after: Option<&'a JobCursor>, limit: u32) -> Self {
        Self {
            order,
            after,
            rows: look::page_rows(limit),
        }
    }

    /// One row more than is shown tells whether there are more.
    const fn bounds(&self, now: Timestamp) -> Bounds<'a> {
        Bounds {
            order: self.order,
            after: self.after,
            rows: self.rows.saturating_add(1),
            now_us: now.millis().saturating_mul(1_000),
        }
    }
}

/// The statement with its values. Moments are kept in milliseconds.
pub(super) fn bound(clause: Clause) -> QueryBuilder<Database> {
    let mut builder = QueryBuilder::new("");
    for piece in clause.pieces() {
        match piece {
            Piece::Sql(text) => builder.push(text),
            Piece::Bound(Value::Text(text)) => builder.push_bind(text),
            Piece::Bound(Value::Number(number)) => builder.push_bind(number),
            Piece::Bound(Value::Moment(micros)) => builder.push_bind(micros.div_euclid(1_000)),
            Piece::Bound(Value::Id(id)) => builder.push_bind(id.hyphenated().to_string()),
        };
    }
    builder
}

pub(super) async fn now(connection: &mut SqliteConnection) -> Result<Timestamp, Fault> {
    let now = sqlx::query_scalar(statement!("clock")).fetch_one(connection);
    Ok(Timestamp::from_millis(now.await?))
}

async fn rows_of(
    connection: &mut SqliteConnection,
    clause: Option<Clause>,
) -> Result<Vec<SqliteRow>, Fault> {
    match clause {
        Some(clause) => Ok(bound(clause).build().fetch_all(connection).await?),
        None => Ok(Vec::new()),
    }
}

async fn jobs(
    connection: &mut SqliteConnection,
    query: &Query,
    limits: &Limits<'_>,
) -> Result<JobPage, Fault> {
    let now = now(connection).await?;
    let clause = look::jobs(query, &DIALECT, &limits.bounds(now));
    let found = rows_of(connection, clause).await?;
    let (shown, more) = row::split(&found, limits.rows);
    let mut page = JobPage {
        as_of: now,
        ..JobPage::default()
    };
    for row in shown {
        match row::readable(rows::listed(row)?)? {
            Ok(job) => page.jobs.push(job),
            Err(unreadable) => page.unreadable.push(unreadable),
        }
    }
    if more {
        page.next = rows::cursor(shown, "state_since")?;
    }
    Ok(page)
}

async fn count(
    connection: &mut SqliteConnection,
    query: &Query,
    at_most: u64,
) -> Result<Count, Fault> {
    let now = now(connection).await?;
    let limits = Limits {
        order: JobOrder::OldestFirst,
        after: None,
        rows: at_most,
    };
    let counted: i64 = match look::count(query, &DIALECT, &limits.bounds(now)) {
        Some(clause) => {
            let mut builder = bound(clause);
            builder.build_query_scalar().fetch_one(connection).await?
        }
        None => 0,
    };
    Ok(row::counted(num::unsigned(counted), at_most))
}

async fn leases(
    connection: &mut SqliteConnection,
    query: &Query,
    limits: &Limits<'_>,
) -> Result<LeasePage, Fault> {
    let now = now(connection).await?;
    let clause = look::leases(query, &DIALECT, &limits.bounds(now));
    let found = rows_of(connection, clause).await?;
    let (shown, more) = row::split(&found, limits.rows);
    let mut page = LeasePage {
        as_of: now,
        ..LeasePage::default()
    };
    for row in shown {
        match row::readable(rows::listed(row)?)? {
            Ok(job) => page
                .leases
                .push(row::lease(job, Columns(row).integer("renewals")?)),
            Err(unreadable) => page.unreadable.push(unreadable),
        }
    }
    if more {
        page.next = rows::cursor(shown, "lease_expires_at")?;
    }
    Ok(page)
}

async fn dead_letters(
    connection: &mut SqliteConnection,
    query: &Query,
) -> Result<DeadLetters, Fault> {
    let now = now(connection).await?;
    let limits = Limits {
        order: JobOrder::NewestFirst,
        after: None,
        rows: look::DEAD_LETTERS_MAX,
    };
    let mut letters = Letters::new(now);
    if let Some(clause) = look::dead_letters(query, &DIALECT, &limits.bounds(now)) {
        let mut builder = bound(clause);
        let mut found = builder.build().fetch(connection);
        while let Some(row) = found.try_next().await? {
            rows::letter(&row, |raw| letters.add(raw))?;
        }
    }
    Ok(letters.finish())
}

async fn acts(
    connection: &mut SqliteConnection,
    before: Option<&AuditCursor>,
    limit: u64,
) -> Result<AuditPage, Fault> {
    let now = now(connection).await?;
    let (at, job, version) = match before {
        Some(before) => (
            before.at_us.div_euclid(1_000),
            before.id.hyphenated().to_string(),
            before.version,
        ),
        None => (i64::MAX, LAST_ID.to_owned(), i64::MAX),
    };
    let found = sqlx::query(statement!("acts"))
        .bind(at)
        .bind(job)
        .bind(version)
        .bind(num::signed(limit.saturating_add(1)))
        .fetch_all(connection)
        .await?;
    let (shown, more) = row::split(&found, limit);
    let mut page = AuditPage {
        as_of: now,
        ..AuditPage::default()
    };
    for row in shown {
        match row::readable(rows::act(row)?)? {
            Ok(act) => page.acts.push(act),
            Err(unreadable) => page.unreadable.push(unreadable),
        }
    }
    if more {
        page.next = rows::act_cursor(shown)?;
    }
    Ok(page)
}
