//! The laws of a ledger that SQL can ask for, on any file.
//!
//! Owns one query a law; each finds the jobs that break it. Next: `crash.rs`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot help fails the test"
)]

use std::path::Path;

use ledgertop::store::LedgerUrl;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection};

use crate::ledger::good;

/// Each law, and what finds a job that breaks it.
const LAWS: [(&str, &str); 5] = [
    (
        "events are numbered from 1 without a gap, up to the row's version",
        "SELECT j.id FROM jobs j LEFT JOIN job_events e ON e.job_id = j.id GROUP BY j.id \
         HAVING min(e.version) IS NOT 1 OR max(e.version) <> j.version OR count(*) <> j.version",
    ),
    (
        "the row is what its last event says",
        "SELECT j.id FROM jobs j JOIN job_events e ON e.job_id = j.id AND e.version = j.version \
         WHERE e.to_state <> j.state OR e.at <> j.updated_at OR e.event <> j.event \
         OR e.fence <> j.fence OR e.attempt <> j.attempt OR e.actor <> j.actor \
         OR e.queue <> j.queue",
    ),
    (
        "each event begins where the one before ended",
        "SELECT e.job_id FROM job_events e \
         JOIN job_events b ON b.job_id = e.job_id AND b.version = e.version - 1 \
         WHERE e.from_state IS NOT b.to_state OR e.at < b.at OR e.fence < b.fence",
    ),
    (
        "each event is in the table of transitions",
        "SELECT job_id FROM job_events e WHERE NOT EXISTS (SELECT 1 FROM transitions t \
         WHERE t.event = e.event AND t.from_state = coalesce(e.from_state, '') \
         AND t.to_state = e.to_state AND t.actor_kind = e.actor_kind)",
    ),
    (
        "no event without its job",
        "SELECT job_id FROM job_events e \
         WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job_id)",
    ),
];

/// Fails with the jobs that break a law, or with what SQLite finds wrong with the file.
pub(crate) async fn hold(path: &Path) {
    let mut connection = connect(path).await;
    let sound: String = read(&mut connection, "PRAGMA integrity_check").await[0].clone();
    assert_eq!(sound, "ok", "{}", path.display());
    for (law, broken) in LAWS {
        let jobs = read(&mut connection, broken).await;
        assert!(jobs.is_empty(), "not so: {law}: {jobs:?}");
    }
    connection.close().await.expect("it closes");
}

/// A connection of SQLite's own kind, to a file that is there.
pub(crate) async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(path)
        .connect()
        .await
        .expect("the file opens")
}

/// The first column of each row, as text.
pub(crate) async fn read(connection: &mut SqliteConnection, query: &'static str) -> Vec<String> {
    let rows = sqlx::query(query)
        .fetch_all(connection)
        .await
        .unwrap_or_else(|error| panic!("'{query}': {error}"));
    rows.iter()
        .map(|row| row.get_unchecked::<String, _>(0))
        .collect()
}

/// How many live jobs a fresh base counts.
pub(crate) async fn live(path: &Path) -> u64 {
    let base = good(LedgerUrl::sqlite(path).feed().base().await);
    base.cells.iter().map(|cell| cell.count).sum()
}
