//! A SQLite file of a test's own, in a directory that is removed when the value goes.
//!
//! Knows nothing of the ledger: the file does not exist until something creates it. A test names
//! this file with `#[path = "support/sqlite.rs"] mod sqlite;`. Its twin is `postgres.rs`.

#![expect(clippy::panic, reason = "a helper that cannot help fails the test")]

use tempfile::TempDir;

/// The place of a ledger that nobody else uses; it is removed with the value.
#[derive(Debug)]
pub(crate) struct SqliteDatabase {
    _directory: TempDir,
    url: String,
}

impl SqliteDatabase {
    /// Makes the directory. The file comes with the first connection that may create it.
    ///
    /// # Panics
    /// When the system's directory for temporary files cannot be written.
    pub(crate) fn create() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("ledgertop-test-")
            .tempdir()
            .unwrap_or_else(|error| panic!("no directory for a test ledger: {error}"));
        let url = format!("sqlite:{}", directory.path().join("ledger.db").display());
        Self {
            _directory: directory,
            url,
        }
    }

    /// Where the ledger is, in the form that `--ledger` takes.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}
