//! A ledger in PostgreSQL: the store and the feed.
//!
//! Binds values, runs statements and maps rows through [`super::row`]; no rule lives here. Next:
//! [`super::row`].

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::postgres::PgConnectOptions;

use super::fault::{Call, Effect};
use super::{Feed, Store, StoreError};
use crate::ledger::feed::{Base, Batch};
use crate::ledger::text::SafeText;

/// Makes the list of applied migrations.
pub(crate) const SCHEMA_TABLE: &str = include_str!("../../assets/sql/postgres/schema_table.sql");
/// One `init` at a time.
pub(crate) const SCHEMA_LOCK: &str = include_str!("../../assets/sql/postgres/schema_lock.sql");

/// Opens a ledger for reading and writing.
#[expect(clippy::unused_async, reason = "the store is being written")]
pub(crate) async fn open_store(
    _options: &PgConnectOptions,
    ledger: &SafeText,
) -> Result<Arc<dyn Store>, StoreError> {
    Err(not_yet(ledger))
}

/// A feed that connects at its first reading.
pub(crate) fn feed(_options: &PgConnectOptions, ledger: &SafeText) -> Box<dyn Feed> {
    Box::new(NotYet(ledger.clone()))
}

struct NotYet(SafeText);

#[async_trait]
impl Feed for NotYet {
    async fn base(&mut self) -> Result<Base, StoreError> {
        Err(not_yet(&self.0))
    }
    async fn next(&mut self) -> Result<Batch, StoreError> {
        Err(not_yet(&self.0))
    }
}

fn not_yet(ledger: &SafeText) -> StoreError {
    let call = Call {
        operation: "open",
        ledger,
        effect: Effect::None,
    };
    call.unreachable("this part of the program is being written")
}
