//! Policies: reading them, adding a version, and remembering those that claims name.
//!
//! Next: [`super::hint`].

use std::sync::Arc;

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::access::{Call, statement};
use super::columns::Columns;
use crate::ledger::job::{Actor, NAME_MAX_BYTES};
use crate::ledger::policy::Policy;
use crate::store::StoreError;
use crate::store::remembered::Remembered;
use crate::store::row::{self, RawPolicy, counter, cut};

/// Versions that claims have named. A version never changes, so none is read twice.
#[derive(Default)]
pub(crate) struct Policies(Remembered);

impl Policies {
    /// The policy that a claimed job's columns name.
    pub(crate) async fn of(
        &self,
        call: &Call<'_>,
        connection: &mut SqliteConnection,
        columns: Columns<'_>,
    ) -> Result<Arc<Policy>, StoreError> {
        let read = || Ok((columns.shown("policy")?, columns.integer("policy_version")?));
        let (name, version) = read().map_err(|error| call.explain(&error))?;
        let key = (name.into_owned(), version);
        if let Some(known) = self.0.get(&key) {
            return Ok(known);
        }
        let row = sqlx::query(include_str!("../../../assets/sql/policy.sql"))
            .bind(&key.0)
            .bind(version)
            .fetch_one(connection)
            .await
            .map_err(|error| call.explain(&error))?;
        let policy = read_policy(&row, |error| call.explain(error))?;
        Ok(self.0.keep(key, policy))
    }
}

/// The policy of a row; `explain` says what an error of the driver means.
pub(crate) fn read_policy(
    row: &SqliteRow,
    explain: impl Fn(&sqlx::Error) -> StoreError,
) -> Result<Policy, StoreError> {
    let columns = Columns(row);
    let texts = || Ok((columns.shown("name")?, columns.shown("on_unknown")?));
    let (name, on_unknown) = texts().map_err(|error| explain(&error))?;
    let raw = || {
        Ok(RawPolicy {
            name: &name,
            version: columns.integer("version")?,
            max_attempts: columns.integer("max_attempts")?,
            max_age_ms: columns.integer("max_age_ms")?,
            backoff_base_ms: columns.integer("backoff_base_ms")?,
            backoff_cap_ms: columns.integer("backoff_cap_ms")?,
            retry_after_cap_ms: columns.integer("retry_after_cap_ms")?,
            on_unknown: &on_unknown,
        })
    };
    raw().map_err(|error| explain(&error))?.check()
}

/// The newest version of every policy.
pub(crate) async fn newest(call: &Call<'_>) -> Result<Vec<Policy>, StoreError> {
    let rows = sqlx::query(include_str!("../../../assets/sql/policies.sql"))
        .fetch_all(&mut *call.reader().await?)
        .await
        .map_err(|error| call.explain(&error))?;
    rows.iter()
        .map(|row| read_policy(row, |error| call.explain(error)))
        .collect()
}

/// Makes the rules the newest version of their name, unless they are that already.
pub(crate) async fn apply(call: &Call<'_>, policy: &Policy, by: &Actor) -> Result<u32, StoreError> {
    let mut transaction = call.begin().await?;
    sqlx::query(statement!("policy_apply"))
        .bind(&policy.name)
        .bind(policy.max_attempts)
        .bind(row::millis(policy.max_age))
        .bind(row::millis(policy.backoff_base))
        .bind(row::millis(policy.backoff_cap))
        .bind(row::millis(policy.retry_after_cap))
        .bind(policy.on_unknown.name())
        .bind(cut(&by.name, NAME_MAX_BYTES))
        .execute(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    let version: i64 = sqlx::query_scalar(statement!("policy_newest"))
        .bind(&policy.name)
        .fetch_one(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    call.commit(transaction).await?;
    counter("-", "policy_version", version)
}
