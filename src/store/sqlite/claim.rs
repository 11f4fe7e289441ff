//! Claiming: the oldest ready jobs of each lane, and which lanes have any.
//!
//! Next: [`super::lease`].

use serde_json::Value;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::access::{Call, statement};
use super::columns::Columns;
use super::policy::Policies;
use super::settle::{json, reject_unreadable};
use crate::ledger::job::{Claimed, Lane, LeaseRef, NAME_MAX_BYTES};
use crate::ledger::policy::Policy;
use crate::store::row::{self, RawClaim, counter, cut};
use crate::store::{ClaimRequest, StoreError};

/// Claims, inside the caller's transaction, in the order of the lanes.
pub(crate) async fn claim(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    policies: &Policies,
    request: &ClaimRequest,
) -> Result<Vec<Claimed>, StoreError> {
    let worker = cut(&request.worker, NAME_MAX_BYTES);
    let mut claimed = Vec::new();
    for share in &request.shares {
        if share.limit == 0 {
            continue;
        }
        let rows = sqlx::query(statement!("claim"))
            .bind(&share.lane.queue)
            .bind(&share.lane.tenant)
            .bind(share.limit)
            .bind(&worker)
            .bind(row::bound_millis(request.lease))
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| call.explain(&error))?;
        for row in &rows {
            claimed.extend(read(call, connection, policies, row, &worker).await?);
        }
    }
    Ok(claimed)
}

/// A claimed job as the statements return it; `None` where it cannot be read and was set aside.
pub(crate) async fn read(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    policies: &Policies,
    row: &SqliteRow,
    worker: &str,
) -> Result<Option<Claimed>, StoreError> {
    let columns = Columns(row);
    let named = || Ok((columns.id("id")?, columns.integer("fence")?));
    let (job, fence) = named().map_err(|error| call.explain(&error))?;
    let lease = LeaseRef {
        job,
        fence: counter(job, "fence", fence)?,
    };
    let policy = policies.of(call, connection, columns).await?;
    match check(columns, &policy) {
        Ok(claimed) => Ok(Some(claimed)),
        Err(unreadable) => {
            reject_unreadable(call, connection, worker, lease, unreadable).await?;
            Ok(None)
        }
    }
}

/// The claimed job, or in words why it cannot be read.
fn check(columns: Columns<'_>, policy: &Policy) -> Result<Claimed, String> {
    let payload = columns.text("payload").map_err(|error| error.to_string())?;
    let payload: Value = serde_json::from_str(payload)
        .map_err(|error| format!("the payload cannot be read: {error}"))?;
    raw(columns, payload, policy)
        .map_err(|error| error.to_string())?
        .check()
        .map_err(|error| error.to_string())
}

fn raw<'r>(
    columns: Columns<'r>,
    payload: Value,
    policy: &'r Policy,
) -> Result<RawClaim<'r>, sqlx::Error> {
    Ok(RawClaim {
        id: columns.id("id")?,
        fence: columns.integer("fence")?,
        version: columns.integer("version")?,
        attempt: columns.integer("attempt")?,
        redrives: columns.integer("redrives")?,
        queue: columns.text("queue")?,
        kind: columns.text("kind")?,
        tenant: columns.text("tenant")?,
        idempotency_key: columns.text("idempotency_key")?,
        payload,
        schema_version: columns.text_if("schema_version")?,
        claimed_at: columns.moment("state_since")?,
        lease_expires_at: columns.moment("lease_expires_at")?,
        first_attempt_at: columns.moment("first_attempt_at")?,
        policy,
    })
}

/// Whether any lane of the request has a ready job.
pub(crate) async fn any_ready(call: &Call<'_>, request: &ClaimRequest) -> Result<bool, StoreError> {
    let lanes: Vec<_> = request
        .shares
        .iter()
        .map(|share| (&share.lane.queue, &share.lane.tenant))
        .collect();
    sqlx::query_scalar(statement!("any_ready"))
        .bind(json(call, &lanes)?)
        .fetch_one(&mut *call.reader().await?)
        .await
        .map_err(|error| call.explain(&error))
}

/// The lanes that have ready jobs.
pub(crate) async fn lanes(
    call: &Call<'_>,
    queues: &[String],
    limit: u32,
) -> Result<Vec<Lane>, StoreError> {
    let rows = sqlx::query(statement!("lanes"))
        .bind(json(call, queues)?)
        .bind(limit)
        .fetch_all(&mut *call.reader().await?)
        .await
        .map_err(|error| call.explain(&error))?;
    rows.iter()
        .map(|row| {
            let columns = Columns(row);
            Ok(Lane {
                queue: columns.text("queue")?.to_owned(),
                tenant: columns.text("tenant")?.to_owned(),
            })
        })
        .collect::<Result<_, sqlx::Error>>()
        .map_err(|error| call.explain(&error))
}
