//! Look-ups, and the one small write beside them: policies, lanes, one job.
//!
//! Next: `hint`.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::call::{Fault, Work};
use super::rows;
use crate::ledger::job::{Claimed, JobRow, Lane, NAME_MAX_BYTES};
use crate::ledger::policy::Policy;
use crate::ledger::text::SafeText;
use crate::store::StoreError;
use crate::store::fault::Effect;
use crate::store::remembered::Remembered;
use crate::store::row::{counter, cut, millis};

/// How often rules are applied again that met another version at the same moment.
const LOOKS: u32 = 16;

/// The lanes that have ready jobs.
#[derive(Debug)]
pub(super) struct Lanes<'a> {
    pub(super) queues: &'a [String],
    pub(super) limit: u32,
}

impl Work for Lanes<'_> {
    type Answer = Vec<Lane>;
    const OPERATION: &'static str = "lanes";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<Lane>, Fault> {
        let limit = i64::from(self.limit);
        let query = if self.queues.is_empty() {
            sqlx::query(include_str!("../../../assets/sql/postgres/lanes.sql")).bind(limit)
        } else {
            sqlx::query(include_str!("../../../assets/sql/postgres/lanes_of.sql"))
                .bind(limit)
                .bind(self.queues)
        };
        let mut lanes = Vec::new();
        for row in query.fetch_all(connection).await? {
            lanes.push(Lane {
                queue: row.try_get("queue")?,
                tenant: row.try_get("tenant")?,
            });
        }
        Ok(lanes)
    }
}

/// The jobs that a worker holds.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) policies: &'a Remembered,
    pub(super) worker: String,
    pub(super) limit: u32,
}

impl Work for Held<'_> {
    type Answer = Vec<Claimed>;
    const OPERATION: &'static str = "held";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<Claimed>, Fault> {
        let held = sqlx::query(include_str!("../../../assets/sql/postgres/held.sql"))
            .bind(&self.worker)
            .bind(i64::from(self.limit))
            .fetch_all(&mut *connection)
            .await?;
        let mut claimed = Vec::with_capacity(held.len());
        for row in &held {
            let policy = policy_of(self.policies, connection, row).await?;
            claimed.push(rows::claimed(row, &policy)?);
        }
        Ok(claimed)
    }
}

/// The newest version of every policy.
#[derive(Debug)]
pub(super) struct Policies;

impl Work for Policies {
    type Answer = Vec<Policy>;
    const OPERATION: &'static str = "policies";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<Policy>, Fault> {
        let rows = sqlx::query(include_str!("../../../assets/sql/policies.sql"))
            .fetch_all(connection)
            .await?;
        rows.iter().map(rows::policy).collect()
    }
}

/// The policy that a claimed job's row names; read once, for it never changes.
pub(super) async fn policy_of(
    remembered: &Remembered,
    connection: &mut PgConnection,
    claimed: &PgRow,
) -> Result<Arc<Policy>, Fault> {
    let key = rows::policy_key(claimed)?;
    if let Some(known) = remembered.get(&key) {
        return Ok(known);
    }
    let row = sqlx::query(include_str!("../../../assets/sql/policy.sql"))
        .bind(&key.0)
        .bind(key.1)
        .fetch_one(connection)
        .await?;
    Ok(remembered.keep(key, rows::policy(&row)?))
}

/// Rules that shall be the newest version of their policy.
#[derive(Debug)]
pub(super) struct ApplyPolicy<'a> {
    pub(super) policy: &'a Policy,
    pub(super) by: &'a str,
}

impl Work for ApplyPolicy<'_> {
    type Answer = u32;
    const OPERATION: &'static str = "apply_policy";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Fault> {
        for _look in 0..LOOKS {
            let found: Option<i32> = sqlx::query_scalar(include_str!(
                "../../../assets/sql/postgres/apply_policy.sql"
            ))
            .bind(&self.policy.name)
            .bind(i64::from(self.policy.max_attempts))
            .bind(millis(self.policy.max_age))
            .bind(millis(self.policy.backoff_base))
            .bind(millis(self.policy.backoff_cap))
            .bind(millis(self.policy.retry_after_cap))
            .bind(self.policy.on_unknown.name())
            .bind(cut(self.by, NAME_MAX_BYTES))
            .fetch_optional(&mut *connection)
            .await?;
            if let Some(version) = found {
                return Ok(counter("-", "version", i64::from(version))?);
            }
        }
        Err(Fault::Store(StoreError::Database {
            operation: Self::OPERATION,
            code: SafeText::default(),
            message: SafeText::new("others kept adding versions of the same policy"),
        }))
    }
}

/// One job.
#[derive(Debug)]
pub(super) struct Job(pub(super) Uuid);

impl Work for Job {
    type Answer = Option<JobRow>;
    const OPERATION: &'static str = "job";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Option<JobRow>, Fault> {
        let found = sqlx::query(include_str!("../../../assets/sql/postgres/job.sql"))
            .bind(self.0)
            .fetch_optional(connection)
            .await?;
        found.as_ref().map(rows::job).transpose()
    }
}
