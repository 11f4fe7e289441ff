//! Housekeeping: what is due becomes ready, leases that ran out are taken back, parents whose
//! children are done become ready.
//!
//! Next: [`super::operate`].

use sqlx::SqliteConnection;

use super::access::{Call, statement};
use super::columns::Columns;
use crate::ledger::num;
use crate::store::{StoreError, Swept};

/// One sweep. An idle one never takes the writer's lock.
pub(crate) async fn sweep(call: &Call<'_>, system: &str, limit: u32) -> Result<Swept, StoreError> {
    let found = look(call).await?;
    let mut swept = Swept::default();
    if found.is_empty() {
        return Ok(swept);
    }
    let mut transaction = call.begin().await?;
    if found.due > 0 {
        swept.due = run(call, &mut transaction, statement!("due"), system, limit).await?;
    }
    if found.expired > 0 {
        swept.expired = run(
            call,
            &mut transaction,
            statement!("lease_expire"),
            system,
            limit,
        )
        .await?;
    }
    if found.parents > 0 {
        swept.parents = run(
            call,
            &mut transaction,
            statement!("children_done"),
            system,
            limit,
        )
        .await?;
    }
    call.commit(transaction).await?;
    Ok(swept)
}

/// Which kinds would find anything: 1 for each that would.
async fn look(call: &Call<'_>) -> Result<Swept, StoreError> {
    let row = sqlx::query(statement!("sweep_needed"))
        .fetch_one(&mut *call.reader().await?)
        .await
        .map_err(|error| call.explain(&error))?;
    let columns = Columns(&row);
    let read = || {
        Ok(Swept {
            due: num::unsigned(columns.integer("due")?),
            expired: num::unsigned(columns.integer("expired")?),
            parents: num::unsigned(columns.integer("parents")?),
        })
    };
    read().map_err(|error| call.explain(&error))
}

async fn run(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    statement: &'static str,
    system: &str,
    limit: u32,
) -> Result<u64, StoreError> {
    sqlx::query(statement)
        .bind(system)
        .bind(limit)
        .execute(connection)
        .await
        .map(|done| done.rows_affected())
        .map_err(|error| call.explain(&error))
}
