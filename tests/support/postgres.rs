//! A PostgreSQL database of a test's own: made fresh, and dropped when the value goes.
//!
//! Owns talking to the server that `scripts/with-postgres` starts. Knows nothing of the ledger: the
//! database is empty. A test names this file with `#[path = "support/postgres.rs"] mod postgres;`.
//! Its twin is `sqlite.rs`.

#![expect(clippy::panic, reason = "a helper that cannot help fails the test")]

use std::thread;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use uuid::Uuid;

/// The variable in which `scripts/with-postgres` says where the server is.
const SERVER: &str = "LEDGERTOP_TEST_POSTGRES";

/// An empty database that nobody else uses; it is dropped with the value, also when a test fails.
#[derive(Debug)]
pub(crate) struct PostgresDatabase {
    server: String,
    name: String,
    url: String,
}

impl PostgresDatabase {
    /// Creates the database. May be called inside and outside of an async runtime.
    ///
    /// # Panics
    /// When no server was named: a test that needs PostgreSQL fails without it, it never skips.
    pub(crate) fn create() -> Self {
        let server = std::env::var(SERVER).unwrap_or_else(|_| {
            panic!(
                "'{SERVER}' is not set, and this test needs PostgreSQL: run `scripts/test`, or \
                 `scripts/with-postgres cargo test ...`, which start a server for the tests"
            )
        });
        let (base, _) = server
            .rsplit_once('/')
            .unwrap_or_else(|| panic!("'{SERVER}' must end in '/DATABASE', it is '{server}'"));
        let name = format!("ledgertop_{}", Uuid::now_v7().simple());
        let url = format!("{base}/{name}");
        // From template0: nobody can be connected to it, which would make the copy fail.
        run(
            &server,
            format!("CREATE DATABASE {name} TEMPLATE template0"),
        )
        .unwrap_or_else(|error| panic!("no test database on '{server}': {error}"));
        Self { server, name, url }
    }

    /// Where the database is, in the form that `--ledger` takes.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        // FORCE ends what a failed test left connected. The server itself is thrown away after the
        // tests, so a database that could not be dropped (the test may have stopped the server) is
        // no reason to hide the test's own result.
        drop(run(
            &self.server,
            format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name),
        ));
    }
}

/// Runs one statement on a thread and a runtime of its own, since `drop` is not async and a runtime
/// cannot be entered twice.
fn run(server: &str, statement: String) -> Result<(), sqlx::Error> {
    let server = server.to_owned();
    thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(async {
                let mut connection = PgConnection::connect(&server).await?;
                connection.execute(AssertSqlSafe(statement)).await?;
                connection.close().await
            })
    })
    .join()
    .unwrap_or(Err(sqlx::Error::WorkerCrashed))
}
