//! Beginning an attempt of one named job for a delivery.
//!
//! Owns the look again when another writer was quicker. Next: [`crate::store::row::disposition`].

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::call::{Fault, Work};
use super::reads::policy_of;
use super::rows;
use crate::ledger::job::Disposition;
use crate::store::fault::Effect;
use crate::store::remembered::Remembered;
use crate::store::row::disposition;

/// How often a job that another writer has just moved is looked at again. After that it is as good
/// as running: somebody is at it.
const LOOKS: u32 = 16;

/// One delivery of one job.
#[derive(Debug)]
pub(super) struct Begin<'a> {
    pub(super) policies: &'a Remembered,
    pub(super) job: Uuid,
    pub(super) worker: String,
    pub(super) lease_ms: i64,
}

impl Work for Begin<'_> {
    type Answer = Disposition;
    const OPERATION: &'static str = "begin";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Disposition, Fault> {
        for _look in 0..LOOKS {
            let met = sqlx::query(include_str!("../../../assets/sql/postgres/begin.sql"))
                .bind(self.job)
                .bind(&self.worker)
                .bind(self.lease_ms)
                .fetch_optional(&mut *connection)
                .await?;
            if let Some(row) = met {
                if row.try_get::<Option<i32>, _>("fence")?.is_some() {
                    let policy = policy_of(self.policies, connection, &row).await?;
                    return Ok(Disposition::Run(Box::new(rows::claimed(&row, &policy)?)));
                }
                let (state, _version) = rows::standing(self.job, &row)?;
                if let Some(disposition) = disposition(state) {
                    return Ok(disposition);
                }
            } else if !self.exists(connection).await? {
                return Ok(Disposition::NotFound);
            }
        }
        Ok(Disposition::AlreadyRunning)
    }
}

impl Begin<'_> {
    async fn exists(&self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        let found = sqlx::query(include_str!("../../../assets/sql/postgres/job.sql"))
            .bind(self.job)
            .fetch_optional(connection)
            .await?;
        Ok(found.is_some())
    }
}
