//! Leases: beginning one named job on behalf of a transport, and moving the end of a lease.
//!
//! Next: [`super::sweep`], which ends those that ran out.

use std::time::Duration;

use serde::Serialize;
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::access::{Call, statement};
use super::claim;
use super::columns::Columns;
use super::policy::Policies;
use super::settle::{applied_by_lease, json, stale, state_and_version};
use crate::ledger::job::{Claimed, Disposition, LeaseRef, Outcome};
use crate::ledger::state::State;
use crate::store::row::{bound_millis, disposition};
use crate::store::{BATCH_MAX, StoreError};

/// Begins an attempt, or says why not and records the delivery as a duplicate.
pub(crate) async fn begin(
    call: &Call<'_>,
    policies: &Policies,
    job: Uuid,
    worker: &str,
    lease: Duration,
) -> Result<Disposition, StoreError> {
    let mut transaction = call.begin().await?;
    let claimed = sqlx::query(statement!("begin"))
        .bind(job.hyphenated().to_string())
        .bind(worker)
        .bind(bound_millis(lease))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    let disposition = match claimed {
        Some(row) => match claim::read(call, &mut transaction, policies, &row, worker).await? {
            Some(claimed) => Disposition::Run(Box::new(claimed)),
            None => Disposition::SetAside(State::Quarantined),
        },
        None => duplicate(call, &mut transaction, worker, job).await?,
    };
    call.commit(transaction).await?;
    Ok(disposition)
}

/// Records that the delivery was one too many; the state says why.
async fn duplicate(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    worker: &str,
    job: Uuid,
) -> Result<Disposition, StoreError> {
    let noted = sqlx::query(statement!("duplicate"))
        .bind(job.hyphenated().to_string())
        .bind(worker)
        .fetch_optional(connection)
        .await
        .map_err(|error| call.explain(&error))?;
    let Some(row) = noted else {
        return Ok(Disposition::NotFound);
    };
    let (state, _version) = state_and_version(call, Columns(&row), job)?;
    // Ready was claimed above, in this very transaction.
    Ok(disposition(state).unwrap_or(Disposition::AlreadyRunning))
}

/// The jobs that a worker holds. In a writing transaction, since one that cannot be read is set
/// aside as a claim would do.
pub(crate) async fn held(
    call: &Call<'_>,
    policies: &Policies,
    worker: &str,
    limit: u32,
) -> Result<Vec<Claimed>, StoreError> {
    let mut transaction = call.begin().await?;
    let rows = sqlx::query(statement!("held"))
        .bind(worker)
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    let mut held = Vec::with_capacity(rows.len());
    for row in &rows {
        held.extend(claim::read(call, &mut transaction, policies, row, worker).await?);
    }
    call.commit(transaction).await?;
    Ok(held)
}

/// A lease as the statement reads it.
#[derive(Serialize)]
struct Row(Uuid, u32);

/// Moves the end of leases; one outcome a lease, in order.
pub(crate) async fn renew(
    call: &Call<'_>,
    worker: &str,
    leases: &[LeaseRef],
    lease: Duration,
) -> Result<Vec<Outcome>, StoreError> {
    if leases.is_empty() {
        return Ok(Vec::new());
    }
    if leases.len() > BATCH_MAX {
        return Err(call.refused(&format!(
            "{} leases at once, at most {BATCH_MAX} are taken",
            leases.len()
        )));
    }
    let rows: Vec<Row> = leases
        .iter()
        .map(|lease| Row(lease.job, lease.fence))
        .collect();
    let mut transaction = call.begin().await?;
    let renewed = sqlx::query(statement!("renew"))
        .bind(json(call, &rows)?)
        .bind(worker)
        .bind(bound_millis(lease))
        .fetch_all(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    let renewed = applied_by_lease(call, &renewed)?;
    let mut outcomes = Vec::with_capacity(leases.len());
    for lease in leases {
        outcomes.push(match renewed.get(lease) {
            Some(outcome) => *outcome,
            None => stale(call, &mut transaction, worker, lease.job).await?,
        });
    }
    call.commit(transaction).await?;
    Ok(outcomes)
}
