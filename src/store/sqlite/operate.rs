//! An operator's act on one job, and the job itself.
//!
//! Asks [`transition`] first, so that what cannot be done is told before anything is tried. Next:
//! [`super::policy`].

use std::time::Duration;

use sqlx::SqliteConnection;
use tokio::time::sleep;
use uuid::Uuid;

use super::access::{Call, statement};
use super::columns::Columns;
use super::settle::state_and_version;
use crate::ledger::event::{ActorKind, EventKind};
use crate::ledger::job::{JobRow, NAME_MAX_BYTES, Operation, Outcome, TEXT_MAX_BYTES};
use crate::ledger::state::State;
use crate::ledger::transition;
use crate::store::row::{RawJob, cut};
use crate::store::{Act, StoreError};

/// How often an act is tried that meets the very millisecond of the job's last event.
const TRIES: u32 = 50;

/// Does it, if the job is at the version that was seen.
pub(crate) async fn operate(call: &Call<'_>, act: &Act) -> Result<Outcome, StoreError> {
    for _try in 0..TRIES {
        if let Some(outcome) = attempt(call, act).await? {
            return Ok(outcome);
        }
        sleep(Duration::from_millis(1)).await;
    }
    Err(call.refused("the clock of this machine stands still or was set back: ask again"))
}

/// `None` where the clock must go on first.
async fn attempt(call: &Call<'_>, act: &Act) -> Result<Option<Outcome>, StoreError> {
    let mut transaction = call.begin().await?;
    let Some((state, version)) = current(call, &mut transaction, act.job).await? else {
        return Ok(Some(Outcome::NotFound));
    };
    let (event, to) = aim(act.operation);
    let actor = cut(&act.actor, NAME_MAX_BYTES);
    let note = cut(&act.note, TEXT_MAX_BYTES);
    if version != act.version {
        let before = sqlx::query(statement!("operated"))
            .bind(act.job.hyphenated().to_string())
            .bind(act.version)
            .bind(event.name())
            .bind(actor)
            .bind(note)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(|error| call.explain(&error))?;
        return match before {
            Some(row) => {
                let (state, version) = state_and_version(call, Columns(&row), act.job)?;
                Ok(Some(Outcome::Applied { state, version }))
            }
            None => Ok(Some(Outcome::Stale { state, version })),
        };
    }
    if transition::find(event, Some(state), to, ActorKind::Operator).is_none() {
        return Ok(Some(Outcome::Refused { state, version }));
    }
    let done = sqlx::query(statement!("operate"))
        .bind(act.job.hyphenated().to_string())
        .bind(version)
        .bind(event.name())
        .bind(to.name())
        .bind(actor)
        .bind(note)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    let Some(row) = done else {
        return Ok(None);
    };
    let (state, version) = state_and_version(call, Columns(&row), act.job)?;
    call.commit(transaction).await?;
    Ok(Some(Outcome::Applied { state, version }))
}

/// The event that an operation is recorded as, and the state it leads to.
const fn aim(operation: Operation) -> (EventKind, State) {
    match operation {
        Operation::Quarantine => (EventKind::Quarantine, State::Quarantined),
        Operation::Revoke => (EventKind::Revoke, State::Quarantined),
        Operation::Redrive => (EventKind::Redrive, State::Ready),
        Operation::Promote => (EventKind::Promote, State::Ready),
        Operation::Discard => (EventKind::Discard, State::Discarded),
    }
}

async fn current(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    job: Uuid,
) -> Result<Option<(State, u32)>, StoreError> {
    let row = sqlx::query(statement!("job"))
        .bind(job.hyphenated().to_string())
        .fetch_optional(connection)
        .await
        .map_err(|error| call.explain(&error))?;
    row.map(|row| state_and_version(call, Columns(&row), job))
        .transpose()
}

/// The job with this id.
pub(crate) async fn job(call: &Call<'_>, job: Uuid) -> Result<Option<JobRow>, StoreError> {
    let row = sqlx::query(statement!("job"))
        .bind(job.hyphenated().to_string())
        .fetch_optional(&mut *call.reader().await?)
        .await
        .map_err(|error| call.explain(&error))?;
    let Some(row) = row else {
        return Ok(None);
    };
    let columns = Columns(&row);
    let texts = || {
        Ok([
            columns.shown("idempotency_key")?,
            columns.shown("queue")?,
            columns.shown("kind")?,
            columns.shown("tenant")?,
            columns.shown("state")?,
        ])
    };
    let [idempotency_key, queue, kind, tenant, state] =
        texts().map_err(|error| call.explain(&error))?;
    let output_ref = columns
        .shown_if("output_ref")
        .map_err(|error| call.explain(&error))?;
    let raw = || {
        Ok(RawJob {
            id: columns.id("id")?,
            idempotency_key: &idempotency_key,
            queue: &queue,
            kind: &kind,
            tenant: &tenant,
            state: &state,
            state_since: columns.moment("state_since")?,
            version: columns.integer("version")?,
            fence: columns.integer("fence")?,
            attempt: columns.integer("attempt")?,
            redrives: columns.integer("redrives")?,
            available_at: columns.moment("available_at")?,
            output_ref: output_ref.as_deref(),
        })
    };
    raw()
        .map_err(|error| call.explain(&error))?
        .check()
        .map(Some)
}
