//! A ledger in a SQLite file: the store and the feed.
//!
//! Binds values, runs statements and maps rows through [`super::row`]; no rule lives here. Next:
//! [`super::row`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, SqliteConnection};

use super::fault::{Call, Effect};
use super::{Feed, Store, StoreError};
use crate::ledger::feed::{Base, Batch};
use crate::ledger::text::SafeText;

/// Makes the list of applied migrations.
pub(crate) const SCHEMA_TABLE: &str = include_str!("../../assets/sql/sqlite/schema_table.sql");

/// How long a writer waits for the one before it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects for `init`: makes the file where it is missing.
pub(crate) async fn connect_to_create(
    path: &Path,
    ledger: &SafeText,
) -> Result<SqliteConnection, StoreError> {
    let call = Call {
        operation: "init",
        ledger,
        effect: Effect::None,
    };
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .connect()
        .await
        .map_err(|error| call.unreachable(&error.to_string()))
}

/// Opens a ledger for reading and writing.
#[expect(clippy::unused_async, reason = "the store is being written")]
pub(crate) async fn open_store(
    _path: &Path,
    ledger: &SafeText,
) -> Result<Arc<dyn Store>, StoreError> {
    Err(not_yet(ledger))
}

/// A feed that connects at its first reading.
pub(crate) fn feed(_path: &Path, ledger: &SafeText) -> Box<dyn Feed> {
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
