//! One job with its timeline, its rules and its family, read over one snapshot.
//!
//! Next: [`crate::ledger::view::JobStory`].

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, Row as _};

use super::rows;
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::view::{Count, JobName, JobStory, Relative};
use crate::store::look::row::{counted, events_around};
use crate::store::look::{CHILDREN_COUNTED_MAX, CHILDREN_MAX};
use crate::store::postgres::audit;
use crate::store::postgres::call::Fault;
use crate::store::postgres::rows::{maybe_moment, raw_policy};

/// One snapshot for all that a story tells.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(super) async fn story(
    connection: &mut PgConnection,
    job: &JobName,
) -> Result<Option<JobStory>, Fault> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    let (id, key) = match job {
        JobName::Id(id) => (Some(*id), None),
        JobName::Key(key) => (None, Some(key.replace('\0', "\u{fffe}"))),
    };
    let found = sqlx::query(include_str!("../../../../assets/sql/postgres/story.sql"))
        .bind(id)
        .bind(key)
        .fetch_optional(&mut *transaction)
        .await?;
    let Some(row) = found else {
        return Ok(None);
    };
    let mut story = begin(&row)?;
    let id = story.job.row.id;
    let (first, from, left_out) = events_around(story.job.row.version);
    let events = sqlx::query(include_str!(
        "../../../../assets/sql/postgres/story_events.sql"
    ))
    .bind(id)
    .bind(i32::try_from(first).unwrap_or(i32::MAX))
    .bind(i32::try_from(from).unwrap_or(i32::MAX))
    .fetch_all(&mut *transaction)
    .await?;
    for event in &events {
        story.events.push(audit::event(event)?.entry);
    }
    story.left_out = left_out;
    let key: &str = row.try_get("idempotency_key")?;
    (story.children, story.children_count) = children(&mut transaction, key).await?;
    transaction.rollback().await?;
    Ok(Some(story))
}

async fn children(
    connection: &mut PgConnection,
    key: &str,
) -> Result<(Vec<Relative>, Count), Fault> {
    let found = sqlx::query(include_str!(
        "../../../../assets/sql/postgres/story_children.sql"
    ))
    .bind(key)
    .bind(i64::from(CHILDREN_MAX))
    .bind(num::signed(CHILDREN_COUNTED_MAX.saturating_add(1)))
    .fetch_all(connection)
    .await?;
    let count: i64 = match found.first() {
        Some(row) => row.try_get("children")?,
        None => 0,
    };
    let mut children = Vec::with_capacity(found.len());
    for row in &found {
        children.push(rows::child(row)??);
    }
    let count = counted(num::unsigned(count), CHILDREN_COUNTED_MAX);
    Ok((children, count))
}

/// The story without its events and its children.
fn begin(row: &PgRow) -> Result<JobStory, Fault> {
    let job = rows::listed(row)??;
    let rules = match row.try_get::<Option<i32>, _>("max_attempts")? {
        Some(_found) => Some(raw_policy(row, "policy", "policy_version")?.check()?),
        None => None,
    };
    let safe = |column: &str| -> Result<Option<SafeText>, sqlx::Error> {
        let text: Option<&str> = row.try_get(column)?;
        Ok(text.map(SafeText::new))
    };
    Ok(JobStory {
        as_of: rows::now(row)?,
        event_id: safe("event_id")?,
        schema_version: safe("schema_version")?,
        payload: row.try_get("payload")?,
        first_attempt_at: maybe_moment(row, "first_attempt_at")?,
        rules,
        parent: rows::parent(row)?.transpose()?,
        children: Vec::new(),
        children_count: Count::Exact(0),
        events: Vec::new(),
        left_out: 0,
        job,
    })
}
