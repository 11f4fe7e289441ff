//! One sweep of housekeeping.
//!
//! Binds the one statement that moves what is due, takes leases back and releases parents. Next:
//! `operate`.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::call::{Fault, Work};
use crate::ledger::num;
use crate::store::Swept;
use crate::store::fault::Effect;

/// A sweep of at most `limit` jobs of each kind.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) system: String,
    pub(super) limit: u32,
}

impl Work for Sweep {
    type Answer = Swept;
    const OPERATION: &'static str = "sweep";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Swept, Fault> {
        let row = sqlx::query(include_str!("../../../assets/sql/postgres/sweep.sql"))
            .bind(&self.system)
            .bind(i64::from(self.limit))
            .fetch_one(connection)
            .await?;
        Ok(Swept {
            due: num::unsigned(row.try_get("due")?),
            expired: num::unsigned(row.try_get("expired")?),
            parents: num::unsigned(row.try_get("parents")?),
        })
    }
}
