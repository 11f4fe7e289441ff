//! Look-ups in PostgreSQL: one short statement each, or one short snapshot, over one connection
//! that cannot write.
//!
//! A call that is dropped closes its connection; the server notices within half a second and ends
//! the statement, and its own limit ends it in any case. Owns binding and running; the statements
//! of lists come in pieces from [`crate::store::look`]. Next: `look/sql.rs`, the words of this
//! database, and `look/story.rs`, one job.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{Postgres, QueryBuilder, Row as _};
use uuid::Uuid;

use super::call::{Fault, Work as _};
use super::moment::Moment;
use super::plans::reads;
use super::session::Session;
use crate::ledger::num;
use crate::ledger::plan::{Plan, PlanEntry, PlanJob};
use crate::ledger::query::Query;
use crate::ledger::text::SafeText;
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
mod sql;
mod story;

pub(super) use sql::DIALECT;

/// The longest that a look-up takes, as seen from here; the server's limit is shorter, so that its
/// answer still arrives.
const DEADLINE: Duration = Duration::from_secs(12);
/// Makes the server watch whether anybody waits for its answer.
const WATCH: &str = include_str!("../../../assets/sql/postgres/look_watch.sql");

/// Look-ups over one connection.
#[derive(Debug)]
pub(super) struct PostgresLook(Session);

impl PostgresLook {
    pub(super) const fn new(options: PgConnectOptions, ledger: SafeText) -> Self {
        Self(Session::new(options, ledger).greeted(WATCH))
    }
}

#[async_trait]
impl Look for PostgresLook {
    async fn reach(&mut self, query: &Query, order: JobOrder) -> Result<Reach, StoreError> {
        let mut connection = self.0.take().await?;
        let work = reach::reach(&mut connection, query, order);
        let reach = self.0.within("reach", DEADLINE, work).await?;
        self.0.give_back(connection);
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
        let mut connection = self.0.take().await?;
        let work = jobs(&mut connection, query, &limits);
        let page = self.0.within("jobs", DEADLINE, work).await?;
        self.0.give_back(connection);
        Ok(page)
    }

    async fn count(&mut self, query: &Query, at_most: u64) -> Result<Count, StoreError> {
        let mut connection = self.0.take().await?;
        let work = count(&mut connection, query, at_most);
        let count = self.0.within("count", DEADLINE, work).await?;
        self.0.give_back(connection);
        Ok(count)
    }

    async fn story(&mut self, job: &JobName) -> Result<Option<JobStory>, StoreError> {
        let mut connection = self.0.take().await?;
        let work = story::story(&mut connection, job);
        let story = self.0.within("job", DEADLINE, work).await?;
        self.0.give_back(connection);
        Ok(story)
    }

    async fn dead_letters(&mut self, query: &Query) -> Result<DeadLetters, StoreError> {
        let mut connection = self.0.take().await?;
        let work = dead_letters(&mut connection, query);
        let letters = self.0.within("dead_letters", DEADLINE, work).await?;
        self.0.give_back(connection);
        Ok(letters)
    }

    async fn leases(
        &mut self,
        query: &Query,
        after: Option<&JobCursor>,
        limit: u32,
    ) -> Result<LeasePage, StoreError> {
        let limits = Limits::new(JobOrder::OldestFirst, after, limit);
        let mut connection = self.0.take().await?;
        let work = leases(&mut connection, query, &limits);
        let page = self.0.within("leases", DEADLINE, work).await?;
        self.0.give_back(connection);
        Ok(page)
    }

    async fn audit(
        &mut self,
        before: Option<&AuditCursor>,
        limit: u32,
    ) -> Result<AuditPage, StoreError> {
        let limit = look::page_rows(limit);
        let mut connection = self.0.take().await?;
        let work = acts(&mut connection, before, limit);
        let page = self.0.within("audit", DEADLINE, work).await?;
        self.0.give_back(connection);
        Ok(page)
    }

    async fn plan(&mut self, plan: Uuid) -> Result<Option<Plan>, StoreError> {
        let mut connection = self.0.take().await?;
        let wanted = reads::One(plan);
        let found = self
            .0
            .within("plan", DEADLINE, wanted.run(&mut connection))
            .await?;
        self.0.give_back(connection);
        Ok(found)
    }

    async fn plans(&mut self, limit: u32) -> Result<Vec<Plan>, StoreError> {
        let mut connection = self.0.take().await?;
        let wanted = reads::Newest(limit);
        let found = self
            .0
            .within("plans", DEADLINE, wanted.run(&mut connection))
            .await?;
        self.0.give_back(connection);
        Ok(found)
    }

    async fn plan_jobs(
        &mut self,
        plan: Uuid,
        page: PlanJobsPage,
    ) -> Result<Vec<PlanJob>, StoreError> {
        let mut connection = self.0.take().await?;
        let wanted = reads::Jobs { plan, page };
        let found = self
            .0
            .within("plan jobs", DEADLINE, wanted.run(&mut connection))
            .await?;
        self.0.give_back(connection);
        Ok(found)
    }

    async fn plan_history(&mut self, plan: Uuid, limit: u32) -> Result<Vec<PlanEntry>, StoreError> {
        let mut connection = self.0.take().await?;
        let wanted = reads::History { plan, limit };
        let found = self
            .0
            .within("plan history", DEADLINE, wanted.run(&mut connection))
            .await?;
        self.0.give_back(connection);
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
    const fn bounds(&self, now: Moment) -> Bounds<'a> {
        Bounds {
            order: self.order,
            after: self.after,
            rows: self.rows.saturating_add(1),
            now_us: now.micros(),
        }
    }
}

/// The statement with its values.
pub(super) fn statement(clause: Clause) -> QueryBuilder<Postgres> {
    let mut builder = QueryBuilder::new("");
    for piece in clause.pieces() {
        match piece {
            Piece::Sql(text) => builder.push(text),
            Piece::Bound(Value::Text(text)) => builder.push_bind(text),
            Piece::Bound(Value::Number(number)) => builder.push_bind(number),
            Piece::Bound(Value::Moment(micros)) => builder.push_bind(Moment::from_micros(micros)),
            Piece::Bound(Value::Id(id)) => builder.push_bind(id),
        };
    }
    builder
}

pub(super) async fn now(connection: &mut PgConnection) -> Result<Moment, Fault> {
    let now = include_str!("../../../assets/sql/postgres/look_now.sql");
    Ok(sqlx::query_scalar(now).fetch_one(connection).await?)
}

async fn rows_of(
    connection: &mut PgConnection,
    clause: Option<Clause>,
) -> Result<Vec<PgRow>, Fault> {
    match clause {
        Some(clause) => Ok(statement(clause).build().fetch_all(connection).await?),
        None => Ok(Vec::new()),
    }
}

async fn jobs(
    connection: &mut PgConnection,
    query: &Query,
    limits: &Limits<'_>,
) -> Result<JobPage, Fault> {
    let now = now(connection).await?;
    let clause = look::jobs(query, &DIALECT, &limits.bounds(now));
    let found = rows_of(connection, clause).await?;
    let (shown, more) = row::split(&found, limits.rows);
    let mut page = JobPage {
        as_of: now.timestamp(),
        ..JobPage::default()
    };
    for row in shown {
        match row::readable(rows::listed(row)?)? {
            Ok(job) => page.jobs.push(job),
            Err(unreadable) => page.unreadable.push(unreadable),
        }
    }
    if more && let Some(last) = shown.last() {
        page.next = Some(rows::cursor(last, "state_since")?);
    }
    Ok(page)
}

async fn count(connection: &mut PgConnection, query: &Query, at_most: u64) -> Result<Count, Fault> {
    let now = now(connection).await?;
    let limits = Limits {
        order: JobOrder::OldestFirst,
        after: None,
        rows: at_most,
    };
    let counted: i64 = match look::count(query, &DIALECT, &limits.bounds(now)) {
        Some(clause) => {
            let mut builder = statement(clause);
            builder.build_query_scalar().fetch_one(connection).await?
        }
        None => 0,
    };
    Ok(row::counted(num::unsigned(counted), at_most))
}

async fn leases(
    connection: &mut PgConnection,
    query: &Query,
    limits: &Limits<'_>,
) -> Result<LeasePage, Fault> {
    let now = now(connection).await?;
    let clause = look::leases(query, &DIALECT, &limits.bounds(now));
    let found = rows_of(connection, clause).await?;
    let (shown, more) = row::split(&found, limits.rows);
    let mut page = LeasePage {
        as_of: now.timestamp(),
        ..LeasePage::default()
    };
    for row in shown {
        match row::readable(rows::listed(row)?)? {
            Ok(job) => page.leases.push(row::lease(job, row.try_get("renewals")?)),
            Err(unreadable) => page.unreadable.push(unreadable),
        }
    }
    if more && let Some(last) = shown.last() {
        page.next = Some(rows::cursor(last, "lease_expires_at")?);
    }
    Ok(page)
}

async fn dead_letters(connection: &mut PgConnection, query: &Query) -> Result<DeadLetters, Fault> {
    let now = now(connection).await?;
    let limits = Limits {
        order: JobOrder::NewestFirst,
        after: None,
        rows: look::DEAD_LETTERS_MAX,
    };
    let mut letters = Letters::new(now.timestamp());
    if let Some(clause) = look::dead_letters(query, &DIALECT, &limits.bounds(now)) {
        let mut builder = statement(clause);
        let mut found = builder.build().fetch(connection);
        while let Some(row) = found.try_next().await? {
            letters.add(Ok(rows::letter(&row)?))?;
        }
    }
    Ok(letters.finish())
}

async fn acts(
    connection: &mut PgConnection,
    before: Option<&AuditCursor>,
    limit: u64,
) -> Result<AuditPage, Fault> {
    let now = now(connection).await?;
    let (at_us, job, version) = before.map_or((i64::MAX, Uuid::max(), i32::MAX), |before| {
        let version = i32::try_from(before.version).unwrap_or(i32::MAX);
        (before.at_us, before.id, version)
    });
    let found = sqlx::query(include_str!("../../../assets/sql/postgres/acts.sql"))
        .bind(Moment::from_micros(at_us))
        .bind(job)
        .bind(version)
        .bind(num::signed(limit.saturating_add(1)))
        .fetch_all(connection)
        .await?;
    let (shown, more) = row::split(&found, limit);
    let mut page = AuditPage {
        as_of: now.timestamp(),
        ..AuditPage::default()
    };
    for row in shown {
        match row::readable(rows::act(row)?)? {
            Ok(act) => page.acts.push(act),
            Err(unreadable) => page.unreadable.push(unreadable),
        }
    }
    if more && let Some(last) = shown.last() {
        page.next = Some(rows::act_cursor(last)?);
    }
    Ok(page)
}

#[cfg(test)]
#[path = "look/tests.rs"]
mod tests;
