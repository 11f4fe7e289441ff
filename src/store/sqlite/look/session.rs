//! The one connection of look-ups, and how a statement ends that nobody waits for any more.
//!
//! SQLite runs a statement on a thread of its own, which a dropped future does not stop. A handler
//! that SQLite calls every now and then asks whether the connection is still held, and ends the
//! statement where it is not. Next: `super`, which reads.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::{ConnectOptions as _, SqliteConnection};
use tokio::time::timeout;

use crate::ledger::text::SafeText;
use crate::store::StoreError;
use crate::store::fault::{Call, Effect};
use crate::store::sqlite::access::{self, explain};
use crate::store::sqlite::connect::{self, Identity, Purpose};

/// The longest that a look-up takes; as long as PostgreSQL gives a statement.
const DEADLINE: Duration = Duration::from_secs(10);
/// How many steps of SQLite's machine pass between two questions: about a millisecond.
const STEPS: i32 = 20_000;

/// Why a look-up failed.
#[derive(Debug)]
pub(in crate::store::sqlite) enum Fault {
    /// The driver says so.
    Driver(sqlx::Error),
    /// A value cannot be read.
    Store(StoreError),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Driver(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// The error as the caller shall know it.
    pub(in crate::store::sqlite) fn explain(self, call: &access::Call<'_>) -> StoreError {
        match self {
            Self::Driver(error) => call.explain(&error),
            Self::Store(error) => error,
        }
    }
}

/// The connection, taken for a look-up. Dropped, it ends the statement that it is running.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) connection: SqliteConnection,
    dropped: Arc<AtomicBool>,
    /// The file that it is on.
    file: Identity,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

/// The way to the file.
#[derive(Debug)]
pub(super) struct Session {
    path: PathBuf,
    ledger: SafeText,
    kept: Option<Taken>,
}

impl Session {
    pub(super) fn new(path: &Path, ledger: &SafeText) -> Self {
        Self {
            path: path.to_owned(),
            ledger: ledger.clone(),
            kept: None,
        }
    }

    /// The connection; made, and its ledger looked at, where there is none, or none on the file
    /// that is there now. It is given back after a good reading only.
    pub(super) async fn take(&mut self) -> Result<Taken, StoreError> {
        let kept = self.kept.take();
        let call = self.call("connect");
        if let Some(mut taken) = kept {
            let now = Identity::at(&self.path, &call)?;
            if taken.file.check(now, &call).is_ok() {
                taken.file = now;
                return Ok(taken);
            }
        }
        connect::look(&self.path, Purpose::Read, &call)?;
        let driver = |error: sqlx::Error| explain(&call, &error);
        let mut connection = connect::options(&self.path, Purpose::Read)
            .connect()
            .await
            .map_err(driver)?;
        connect::check_schema(&mut connection, &call).await?;
        let dropped = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&dropped);
        connection
            .lock_handle()
            .await
            .map_err(driver)?
            .set_progress_handler(STEPS, move || !asked.load(Ordering::Relaxed));
        Ok(Taken {
            connection,
            dropped,
            file: Identity::at(&self.path, &call)?,
        })
    }

    /// Keeps the connection after a good reading.
    pub(super) fn give_back(&mut self, taken: Taken) {
        self.kept = Some(taken);
    }

    /// Ends a reading at its deadline.
    pub(super) async fn within<T>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, StoreError> {
        let call = self.call(operation);
        match timeout(DEADLINE, work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(Fault::Driver(error))) => Err(explain(&call, &error)),
            Ok(Err(Fault::Store(error))) => Err(error),
            Err(_elapsed) => Err(call.late(DEADLINE)),
        }
    }

    const fn call(&self, operation: &'static str) -> Call<'_> {
        Call {
            operation,
            ledger: &self.ledger,
            effect: Effect::None,
        }
    }
}
