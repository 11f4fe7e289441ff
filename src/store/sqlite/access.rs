//! What every call stands on: the one writing connection, the reading ones, deadlines, and what a
//! result code of SQLite means to the caller.
//!
//! A call that is dropped at any point leaves nothing behind: the driver rolls its transaction back
//! before the connection is used again. Next: [`super::exchange`].

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use sqlx::{Sqlite, Transaction};
use tokio::time::{Instant, sleep, timeout};

use super::connect::{self, Identity, Purpose};
use crate::ledger::text::SafeText;
use crate::store::fault::{self, Effect};
use crate::store::{PATIENCE, StoreError};

/// The driver's name for the database.
pub(crate) type Database = Sqlite;

/// The pause before a turn is asked for again.
const PAUSE: Duration = Duration::from_millis(1);
/// Connections for reading. Reads are short; more would only wait for the same cores.
const READERS_MAX: u32 = 2;

/// The static text of a statement under `assets/sql/sqlite`.
macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/assets/sql/sqlite/",
            $name,
            ".sql"
        ))
    };
}
pub(crate) use statement;

/// The connections of one store.
pub(crate) struct Access {
    ledger: SafeText,
    path: PathBuf,
    /// The file that was opened.
    file: Identity,
    /// How long a writing call waits for its turn, in this process and among processes.
    turn: Duration,
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Access {
    /// Opens a ledger that exists, after a look at its schema. A call waits for its turn as long as
    /// `turn`, and may then take as long again.
    pub(crate) async fn open(
        path: &Path,
        ledger: &SafeText,
        turn: Duration,
    ) -> Result<Self, StoreError> {
        let call = fault::Call {
            operation: "open",
            ledger,
            effect: Effect::None,
        };
        connect::look(path, Purpose::Write, &call)?;
        let pool = |purpose, most| {
            SqlitePoolOptions::new()
                .max_connections(most)
                .acquire_timeout(turn)
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(false)
                .connect_lazy_with(connect::options(path, purpose))
        };
        let access = Self {
            ledger: ledger.clone(),
            path: path.to_owned(),
            file: Identity::without_log(path, &call)?,
            turn,
            writer: pool(Purpose::Write, 1),
            readers: pool(Purpose::Read, READERS_MAX),
        };
        let give_up = Instant::now() + turn;
        loop {
            match access.check_schema(&call).await {
                Ok(()) => return Ok(access),
                // Where a process that died left a log to recover, SQLite answers without a wait.
                Err(StoreError::Timeout { .. }) if Instant::now() < give_up => sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    async fn check_schema(&self, call: &fault::Call<'_>) -> Result<(), StoreError> {
        let mut first = self
            .writer
            .acquire()
            .await
            .map_err(|error| explain_waited(call, self.turn, &error))?;
        connect::check_schema(&mut first, call).await
    }

    /// A call that may change the ledger.
    pub(crate) const fn writing(&self, operation: &'static str) -> Call<'_> {
        self.call(operation, Effect::Change)
    }

    /// A call that changes nothing.
    pub(crate) const fn reading(&self, operation: &'static str) -> Call<'_> {
        self.call(operation, Effect::None)
    }

    const fn call(&self, operation: &'static str, effect: Effect) -> Call<'_> {
        Call {
            access: self,
            about: fault::Call {
                operation,
                ledger: &self.ledger,
                effect,
            },
        }
    }

    /// Refuses to go on with a file that was removed or replaced: what was written to it would be
    /// seen by nobody.
    fn check_file(&self, call: &fault::Call<'_>) -> Result<(), StoreError> {
        let now = Identity::without_log(&self.path, call)?;
        self.file.check(now, call)
    }

    /// The writing connection, if nobody uses it at this moment.
    pub(crate) fn idle_writer(&self) -> Option<PoolConnection<Database>> {
        self.writer.try_acquire()
    }
}

/// One call on its way.
pub(crate) struct Call<'a> {
    access: &'a Access,
    about: fault::Call<'a>,
}

impl Call<'_> {
    /// Ends the call at its deadline, whatever hangs.
    pub(crate) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let deadline = self.access.turn * 2;
        match timeout(deadline, work).await {
            Ok(done) => done,
            Err(_elapsed) => Err(self.about.late(deadline)),
        }
    }

    /// Begins a writing transaction when its turn comes. Dropped without a commit, it leaves
    /// nothing behind.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Database>, StoreError> {
        self.access.check_file(&self.before())?;
        let give_up = Instant::now() + self.access.turn;
        loop {
            let begun = self.access.writer.begin_with("BEGIN IMMEDIATE").await;
            match begun {
                Ok(transaction) => return Ok(transaction),
                // Where a process that died left a log to recover, SQLite answers without a wait.
                Err(error) if is_busy(&error) && Instant::now() < give_up => sleep(PAUSE).await,
                // Nothing was sent that could change the ledger.
                Err(error) => return Err(self.explain_before(&error)),
            }
        }
    }

    /// Makes the transaction's changes durable.
    pub(crate) async fn commit(
        &self,
        transaction: Transaction<'static, Database>,
    ) -> Result<(), StoreError> {
        transaction
            .commit()
            .await
            .map_err(|error| self.explain(&error))
    }

    /// A connection for reading, in no transaction.
    pub(crate) async fn reader(&self) -> Result<PoolConnection<Database>, StoreError> {
        self.access.check_file(&self.about)?;
        self.access
            .readers
            .acquire()
            .await
            .map_err(|error| self.explain_before(&error))
    }

    /// What an error means to the caller.
    pub(crate) fn explain(&self, error: &sqlx::Error) -> StoreError {
        explain_waited(&self.about, self.access.turn, error)
    }

    /// What an error means before anything was sent that could change the ledger.
    fn explain_before(&self, error: &sqlx::Error) -> StoreError {
        explain_waited(&self.before(), self.access.turn, error)
    }

    const fn before(&self) -> fault::Call<'_> {
        fault::Call {
            effect: Effect::None,
            ..self.about
        }
    }

    /// The call is refused before anything was sent.
    pub(crate) fn refused(&self, message: &str) -> StoreError {
        self.about.refused(message)
    }
}

/// Whether another process held a lock for too long (`SQLITE_BUSY`, `SQLITE_LOCKED`).
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(5 | 6))
}

/// The result code without its extension (the low byte, as SQLite defines it).
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<u32>().ok().map(|code| code & 0xff)
}

/// What an error of the driver means to the caller, who waited for a lock as long as usual.
pub(crate) fn explain(call: &fault::Call<'_>, error: &sqlx::Error) -> StoreError {
    explain_waited(call, PATIENCE, error)
}

/// What an error of the driver means to a caller who waited for a lock so long. Codes: `sqlite3.h`,
/// "Result Codes".
fn explain_waited(call: &fault::Call<'_>, waited: Duration, error: &sqlx::Error) -> StoreError {
    let said = error
        .as_database_error()
        .map_or_else(|| error.to_string(), |said| said.message().to_owned());
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return late(call, waited);
    }
    match primary_code(error) {
        // BUSY, LOCKED
        Some(5 | 6) => late(call, waited),
        // PERM, READONLY, CANTOPEN
        Some(3 | 8 | 14) => call.unreachable(&said),
        // NOTADB
        Some(26) => call.unreachable("the file is not a SQLite database"),
        // CONSTRAINT: a rule of the ledger, whichever form it has
        Some(19) if rule(&said).is_none() => call.refused(&said),
        _ => match rule(&said) {
            Some(rule) => call.refused(&rule),
            None => call.explain(error),
        },
    }
}

/// A lock was not to be had, so nothing was changed.
fn late(call: &fault::Call<'_>, waited: Duration) -> StoreError {
    StoreError::Timeout {
        operation: call.operation,
        limit_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
    }
}

/// What a trigger of the ledger said. Refusals that name a job come out of `json_extract`, whose
/// error text quotes them: `bad JSON path: 'ledger: ...'`, before SQLite 3.45
/// `JSON path error near '...'`.
fn rule(message: &str) -> Option<String> {
    let (front, rule) = message.split_once("ledger: ")?;
    if front.ends_with('\'') {
        let rule = rule.strip_suffix('\'').unwrap_or(rule);
        return Some(rule.replace("''", "'"));
    }
    Some(rule.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{self, LedgerUrl};

    #[test]
    fn what_a_trigger_said_is_found_in_every_form() {
        let said = "ledger: job 1: worker \"o''neill\" holds it";
        let plain = Some("job 1: worker \"o'neill\" holds it".to_owned());
        assert_eq!(rule(&format!("bad JSON path: '{said}'")), plain);
        assert_eq!(rule(&format!("JSON path error near '{said}'")), plain);
        let raised = "ledger: history is append-only, an event never changes";
        assert_eq!(
            rule(raised).as_deref(),
            Some("history is append-only, an event never changes")
        );
        assert_eq!(rule("no such table: jobs"), None);
    }

    #[tokio::test]
    async fn a_turn_is_waited_for_and_given_up_at_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let url = LedgerUrl::sqlite(&directory.path().join("ledger.db"));
        store::init(&url).await.unwrap();
        let open = async |turn| {
            Access::open(url.path().unwrap(), url.shown(), turn)
                .await
                .unwrap()
        };
        let other = open(PATIENCE).await;
        let held = other.writing("hold").begin().await.unwrap();
        let hasty = open(Duration::from_millis(50)).await;
        let error = hasty.writing("enqueue").begin().await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        let patient = open(PATIENCE).await;
        let call = patient.writing("enqueue");
        let (begun, ()) = tokio::join!(call.begin(), async {
            // Longer than SQLite itself waits for a lock.
            sleep(Duration::from_millis(100)).await;
            drop(held);
        });
        call.commit(begun.unwrap()).await.unwrap();
    }
}
