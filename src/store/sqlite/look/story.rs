//! One job with its timeline, its rules and its family, read in one transaction.
//!
//! Next: [`crate::ledger::view::JobStory`].

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, SqliteConnection};

use super::rows;
use super::session::Fault;
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::view::{Count, JobName, JobStory, Relative};
use crate::store::look::row::{counted, events_around};
use crate::store::look::{CHILDREN_COUNTED_MAX, CHILDREN_MAX};
use crate::store::row::{RawPolicy, corrupt};
use crate::store::sqlite::access::statement;
use crate::store::sqlite::audit;
use crate::store::sqlite::columns::Columns;

pub(super) async fn story(
    connection: &mut SqliteConnection,
    job: &JobName,
) -> Result<Option<JobStory>, Fault> {
    let mut transaction = connection.begin().await?;
    let (id, key) = match job {
        JobName::Id(id) => (Some(id.hyphenated().to_string()), None),
        JobName::Key(key) => (None, Some(key.as_str())),
    };
    let found = sqlx::query(statement!("story"))
        .bind(id)
        .bind(key)
        .fetch_optional(&mut *transaction)
        .await?;
    let Some(row) = found else {
        return Ok(None);
    };
    let mut story = begin(&row)?;
    let (first, from, left_out) = events_around(story.job.row.version);
    let events = sqlx::query(statement!("story_events"))
        .bind(story.job.row.id.hyphenated().to_string())
        .bind(first)
        .bind(from)
        .fetch_all(&mut *transaction)
        .await?;
    for event in &events {
        story.events.push(audit::event(event)?.entry);
    }
    story.left_out = left_out;
    let key = Columns(&row).shown("idempotency_key")?;
    (story.children, story.children_count) = children(&mut transaction, &key).await?;
    transaction.rollback().await?;
    Ok(Some(story))
}

async fn children(
    connection: &mut SqliteConnection,
    key: &str,
) -> Result<(Vec<Relative>, Count), Fault> {
    let found = sqlx::query(statement!("story_children"))
        .bind(key)
        .bind(i64::from(CHILDREN_MAX))
        .bind(num::signed(CHILDREN_COUNTED_MAX.saturating_add(1)))
        .fetch_all(connection)
        .await?;
    let count = match found.first() {
        Some(row) => Columns(row).integer("children")?,
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
fn begin(row: &SqliteRow) -> Result<JobStory, Fault> {
    let columns = Columns(row);
    let job = rows::listed(row)??;
    let rules = match columns.integer_if("max_attempts")? {
        Some(max_attempts) => Some(
            RawPolicy {
                name: &columns.shown("policy")?,
                version: columns.integer("policy_version")?,
                max_attempts,
                max_age_ms: columns.integer("max_age_ms")?,
                backoff_base_ms: columns.integer("backoff_base_ms")?,
                backoff_cap_ms: columns.integer("backoff_cap_ms")?,
                retry_after_cap_ms: columns.integer("retry_after_cap_ms")?,
                on_unknown: &columns.shown("on_unknown")?,
            }
            .check()?,
        ),
        None => None,
    };
    let safe = |column: &'static str| -> Result<Option<SafeText>, sqlx::Error> {
        Ok(columns.shown_if(column)?.map(|text| SafeText::new(&text)))
    };
    let payload = columns.shown("payload")?;
    Ok(JobStory {
        as_of: columns.moment("now")?,
        event_id: safe("event_id")?,
        schema_version: safe("schema_version")?,
        payload: serde_json::from_str(&payload)
            .map_err(|_not_json| corrupt(job.row.id, "payload", &payload))?,
        first_attempt_at: columns.moment_if("first_attempt_at")?,
        rules,
        parent: rows::parent(row)?.transpose()?,
        children: Vec::new(),
        children_count: Count::Exact(0),
        events: Vec::new(),
        left_out: 0,
        job,
    })
}
