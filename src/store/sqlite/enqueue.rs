//! Enqueueing: many jobs by one statement.
//!
//! The batch travels as one JSON parameter, since each statement costs a round trip to the driver's
//! thread. Next: [`super::exchange`].

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use uuid::Uuid;

use super::access::{Call, statement};
use super::columns::Columns;
use crate::ledger::job::{Actor, Enqueued, NAME_MAX_BYTES, NewJob};
use crate::ledger::time::Timestamp;
use crate::store::StoreError;
use crate::store::row::{cut, refuse_bad_jobs};

/// A job as the statement reads it.
#[derive(Serialize)]
struct Row<'a>(
    Uuid,
    &'a str,
    &'a str,
    &'a str,
    &'a str,
    Option<&'a str>,
    Option<&'a str>,
    String,
    Option<&'a str>,
    u8,
    u8,
    Option<i64>,
    &'a str,
);

/// Enqueues `jobs`, all or none.
pub(crate) async fn enqueue(
    call: &Call<'_>,
    jobs: &[NewJob],
    by: &Actor,
) -> Result<Vec<Enqueued>, StoreError> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let batch = batch(call, jobs)?;
    let mut transaction = call.begin().await?;
    let rows = sqlx::query(statement!("enqueue"))
        .bind(batch)
        .bind(by.kind.name())
        .bind(cut(&by.name, NAME_MAX_BYTES))
        .fetch_all(&mut *transaction)
        .await
        .map_err(|error| at_position(call, jobs, call.explain(&error)))?;
    let holders = rows
        .iter()
        .map(|row| {
            let columns = Columns(row);
            Ok((columns.text("idempotency_key")?, columns.id("id")?))
        })
        .collect::<Result<_, _>>()
        .map_err(|error| call.explain(&error))?;
    call.commit(transaction).await?;
    Ok(outcomes(jobs, &holders))
}

/// The batch as the statement reads it, after a look at every job.
fn batch(call: &Call<'_>, jobs: &[NewJob]) -> Result<String, StoreError> {
    refuse_bad_jobs(jobs)?;
    let parents: HashSet<&str> = jobs
        .iter()
        .filter_map(|job| job.parent.as_ref())
        .filter(|parent| parent.required)
        .map(|parent| parent.key.as_str())
        .collect();
    let mut seen = HashSet::with_capacity(jobs.len());
    let rows: Vec<Row<'_>> = jobs
        .iter()
        .map(|job| {
            let key = job.idempotency_key.as_str();
            let waits = job.awaits_children || parents.contains(key);
            // A job that repeats an earlier one of the batch is a duplicate, whatever its id.
            let id = if seen.insert(key) {
                job.id
            } else {
                Uuid::nil()
            };
            Row(
                id,
                key,
                &job.queue,
                &job.kind,
                &job.tenant,
                job.event_id.as_deref(),
                job.schema_version.as_deref(),
                job.payload.to_string(),
                job.parent.as_ref().map(|parent| parent.key.as_str()),
                job.parent
                    .as_ref()
                    .map_or(1, |parent| u8::from(parent.required)),
                u8::from(waits),
                job.available_at.map(Timestamp::millis),
                &job.policy,
            )
        })
        .collect();
    serde_json::to_string(&rows).map_err(|error| call.refused(&error.to_string()))
}

/// What became of each job, in order, given the job that has each key. A key without one belongs to
/// a job under the very id that was asked for.
fn outcomes(jobs: &[NewJob], holders: &HashMap<&str, Uuid>) -> Vec<Enqueued> {
    let mut seen = HashSet::with_capacity(jobs.len());
    jobs.iter()
        .map(|job| {
            let key = job.idempotency_key.as_str();
            let holder = holders.get(key).copied().unwrap_or(job.id);
            if seen.insert(key) && holder == job.id {
                Enqueued::Created(holder)
            } else {
                Enqueued::Duplicate(holder)
            }
        })
        .collect()
}

/// Adds the position to a refusal of the triggers, which name a job by its id.
fn at_position(call: &Call<'_>, jobs: &[NewJob], error: StoreError) -> StoreError {
    if let StoreError::Refused { message, .. } = &error {
        let said = message.as_str();
        let is_named = |job: &NewJob| said.contains(job.id.hyphenated().to_string().as_str());
        if let Some(position) = jobs.iter().position(is_named) {
            return call.refused(&format!(
                "job {} of {}: {said}",
                position.saturating_add(1),
                jobs.len()
            ));
        }
    }
    error
}
