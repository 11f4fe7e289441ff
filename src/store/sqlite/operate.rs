//! An operator's act on one job, and the job itself.
//!
//! Asks the table of transitions first, so that what cannot be done is told before anything is
//! tried. Next:
//! [`super::policy`].

use std::time::Duration;

use sqlx::SqliteConnection;
use tokio::time::sleep;
use uuid::Uuid;

use super::access::{Call, statement};
use super::columns::Columns;
use super::settle::state_and_version;
use crate::ledger::event::ActorKind;
use crate::ledger::job::{JobRow, NAME_MAX_BYTES, Operation, Outcome, TEXT_MAX_BYTES};
use crate::ledger::state::State;
use crate::store::row::{Move, RawJob, cut};
use crate::store::{Act, StoreError};

/// How often an act is tried that meets the very millisecond of the job's last event.
const TRIES: u32 = 50;

/// Does it, if the job is at the version that was seen.
pub(crate) async fn operate(call: &Call<'_>, act: &Act) -> Result<Outcome, StoreError> {
    let act = Ready {
        job: act.job.hyphenated().to_string(),
        legal: Move::of(act.operation, ActorKind::Operator),
        actor: cut(&act.actor, NAME_MAX_BYTES),
        note: cut(&act.note, TEXT_MAX_BYTES),
        act,
    };
    for _try in 0..TRIES {
        if let Some(outcome) = attempt(call, &act).await? {
            return Ok(outcome);
        }
        sleep(Duration::from_millis(1)).await;
    }
    Err(call.refused("the clock of this machine stands still or was set back: ask again"))
}

/// An act, ready to be bound.
struct Ready<'a> {
    act: &'a Act,
    job: String,
    legal: Move,
    actor: String,
    note: String,
}

/// `None` where the clock must go on first.
async fn attempt(call: &Call<'_>, ready: &Ready<'_>) -> Result<Option<Outcome>, StoreError> {
    let act = ready.act;
    let mut transaction = call.begin().await?;
    let Some((state, version)) = current(call, &mut transaction, act.job).await? else {
        return Ok(Some(Outcome::NotFound));
    };
    if version != act.version && !same_claim(call, &mut transaction, ready).await? {
        let before = done_before(call, &mut transaction, ready).await?;
        return Ok(Some(before.unwrap_or(Outcome::Stale { state, version })));
    }
    if !ready.legal.from.contains(&state) {
        return Ok(Some(Outcome::Refused { state, version }));
    }
    let done = sqlx::query(statement!("operate"))
        .bind(&ready.job)
        .bind(version)
        .bind(ready.legal.event.name())
        .bind(ready.legal.to.name())
        .bind(&ready.actor)
        .bind(&ready.note)
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

/// Whether a revoke goes through although the version has passed: the claim is the same.
async fn same_claim(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    ready: &Ready<'_>,
) -> Result<bool, StoreError> {
    if ready.act.operation != Operation::Revoke {
        return Ok(false);
    }
    sqlx::query_scalar(statement!("same_claim"))
        .bind(&ready.job)
        .bind(ready.act.version)
        .fetch_one(connection)
        .await
        .map_err(|error| call.explain(&error))
}

/// What this very act brought when it was done before: its answer was lost, and it is asked again.
async fn done_before(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    ready: &Ready<'_>,
) -> Result<Option<Outcome>, StoreError> {
    let before = sqlx::query(statement!("operated"))
        .bind(&ready.job)
        .bind(ready.act.version)
        .bind(ready.legal.event.name())
        .bind(&ready.actor)
        .bind(&ready.note)
        .fetch_optional(connection)
        .await
        .map_err(|error| call.explain(&error))?;
    let Some(row) = before else {
        return Ok(None);
    };
    let (state, version) = state_and_version(call, Columns(&row), ready.act.job)?;
    Ok(Some(Outcome::Applied { state, version }))
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
