//! Connections to a ledger's file: how each is set up, and what is looked at before one is made.
//!
//! SQLite would make a missing file and read a directory as an I/O error; both are told apart here,
//! so that a person learns what is wrong. Only `init` makes a file, readable by its owner alone.
//! Next: [`super::access`].

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, access};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, SqliteConnection};
use tokio::time::{Instant, sleep};

use super::access::{Database, explain, is_busy};
use crate::ledger::text::SafeText;
use crate::store::fault::{Call, Effect};
use crate::store::migrate::{LIST, judge};
use crate::store::{DatabaseKind, StoreError};

/// How long a connection waits inside one statement for another process; writers ask again and
/// again up to their deadline, so theirs is short and the sleeps between SQLite's tries stay short
/// too.
const BUSY_READING: Duration = Duration::from_secs(5);
const BUSY_WRITING: Duration = Duration::from_millis(20);
/// For how long `init` waits for another one.
const BUSY_INIT: Duration = Duration::from_secs(30);
/// How long it pauses where it has to ask again.
const PAUSE_INIT: Duration = Duration::from_millis(20);

/// Statements kept prepared on a connection: more than there are.
const STATEMENTS_MAX: usize = 64;

/// Rows that the driver's thread reads ahead of who takes them. With few, the two threads wake each
/// other for every row.
const ROWS_AHEAD: usize = 500;

/// How the connection is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reads and writes.
    Write,
    /// Reads; the file is opened so that it cannot be written.
    Read,
}

/// How to connect to an existing ledger.
pub(crate) fn options(path: &Path, purpose: Purpose) -> SqliteConnectOptions {
    let options = base(path).create_if_missing(false);
    match purpose {
        Purpose::Write => options
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(BUSY_WRITING),
        Purpose::Read => options
            .read_only(true)
            .pragma("query_only", "ON")
            .busy_timeout(BUSY_READING),
    }
}

fn base(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .statement_cache_capacity(STATEMENTS_MAX)
        .row_buffer_size(ROWS_AHEAD)
        .disable_statement_logging()
}

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
    create(path, &call)?;
    let options = base(path)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(BUSY_INIT);
    let give_up = Instant::now() + BUSY_INIT;
    loop {
        match options.connect().await {
            Ok(connection) => return Ok(connection),
            // A file is switched to WAL once, under a lock that SQLite does not wait for, whatever
            // the timeout: another `init` may be at it.
            Err(error) if is_busy(&error) && Instant::now() < give_up => sleep(PAUSE_INIT).await,
            Err(error) => return Err(explain(&call, &error)),
        }
    }
}

/// Makes the file, for its owner alone, if it is not there.
fn create(path: &Path, call: &Call<'_>) -> Result<(), StoreError> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent
        && !parent.is_dir()
    {
        let message = format!(
            "there is no directory '{}'; make it first",
            parent.display()
        );
        return Err(call.unreachable(&message));
    }
    if path.is_dir() {
        return Err(call.unreachable("it is a directory, name a file in it"));
    }
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_made) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(call.unreachable(&format!("the file cannot be made: {error}"))),
    }
}

/// Whether there is a file that may hold a ledger. The file is not opened for that: closing it
/// again would take every lock from the connections that this process has on it (`sqlite.org`, "How
/// To Corrupt An SQLite Database File", section 2.2), and another process that closes the ledger
/// would then remove the log under them.
pub(crate) fn look(path: &Path, purpose: Purpose, call: &Call<'_>) -> Result<(), StoreError> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(StoreError::NotALedger {
                ledger: call.ledger.clone(),
            });
        }
        Err(error) => return Err(call.unreachable(&error.to_string())),
    };
    if found.is_dir() {
        return Err(call.unreachable("it is a directory, a ledger is a file"));
    }
    let (needed, what) = match purpose {
        Purpose::Write => (Access::READ_OK | Access::WRITE_OK, "opened for writing"),
        Purpose::Read => (Access::READ_OK, "read"),
    };
    access(path, needed)
        .map_err(|error| call.unreachable(&format!("the file cannot be {what}: {error}")))
}

/// Which file a connection is on. SQLite goes on with a file that was removed or replaced, as if
/// nobody else wrote any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    file: Inode,
    /// The write-ahead log. While somebody is connected it is made, but never taken away.
    log: Option<Inode>,
}

/// A device and a number on it.
type Inode = (u64, u64);

impl Identity {
    /// What is at that path now.
    ///
    /// # Errors
    /// Where nothing is, or nothing that can be asked about.
    pub(crate) fn at(path: &Path, call: &Call<'_>) -> Result<Self, StoreError> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        Ok(Self {
            log: inode(Path::new(&log)).ok(),
            ..Self::without_log(path, call)?
        })
    }

    /// The same, whatever becomes of the log: for who writes, and sees a missing one by itself.
    ///
    /// # Errors
    /// As [`Identity::at`].
    pub(crate) fn without_log(path: &Path, call: &Call<'_>) -> Result<Self, StoreError> {
        match inode(path) {
            Ok(file) => Ok(Self { file, log: None }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(call.unreachable("the file was removed"))
            }
            Err(error) => Err(call.unreachable(&error.to_string())),
        }
    }

    /// Whether a connection made on `self` still reads what is there `now`.
    ///
    /// # Errors
    /// Where it does not.
    pub(crate) fn check(self, now: Self, call: &Call<'_>) -> Result<(), StoreError> {
        if self.file != now.file {
            return Err(call.unreachable("the file was replaced by another"));
        }
        if self.log.is_some() && self.log != now.log {
            return Err(call.unreachable("the file's write-ahead log was removed"));
        }
        Ok(())
    }
}

fn inode(path: &Path) -> io::Result<Inode> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Whether the file holds a ledger that this program can work with.
pub(crate) async fn check_schema(
    connection: &mut SqliteConnection,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    let exists = include_str!("../../../assets/sql/sqlite/schema_exists.sql");
    let read = async {
        if !sqlx::query_scalar::<Database, bool>(exists)
            .fetch_one(&mut *connection)
            .await?
        {
            return Ok(Vec::new());
        }
        sqlx::query_as(LIST).fetch_all(connection).await
    };
    let applied = read.await.map_err(|error| explain(call, &error))?;
    judge(DatabaseKind::Sqlite, call.ledger, &applied)
}
