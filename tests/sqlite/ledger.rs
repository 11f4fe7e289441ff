//! A fresh ledger in a file, and the few values that every test needs.
//!
//! Knows nothing of what is tested. Next: `files.rs`.

#![expect(clippy::panic, reason = "a helper that cannot help fails the test")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{
    Actor, Claimed, Enqueued, JobRow, Lane, LeaseRef, NewJob, Outcome, Settlement, Verdict,
};
use ledgertop::store::{self, ClaimRequest, LaneShare, LedgerUrl, Store, StoreError, Swept};
use uuid::Uuid;

use crate::sqlite_database::SqliteDatabase;

/// A ledger that goes with the value.
pub(crate) struct Ledger {
    _database: SqliteDatabase,
    pub(crate) url: LedgerUrl,
    pub(crate) store: Arc<dyn Store>,
}

/// Makes a ledger.
pub(crate) async fn ledger() -> Ledger {
    let database = SqliteDatabase::create();
    let url = good(LedgerUrl::parse(database.url()));
    good(store::init(&url).await);
    let store = good(url.store().await);
    Ledger {
        _database: database,
        url,
        store,
    }
}

impl Ledger {
    pub(crate) fn path(&self) -> &Path {
        self.url.path().unwrap_or_else(|| panic!("a file"))
    }

    pub(crate) async fn enqueue(&self, jobs: &[NewJob]) -> Vec<Enqueued> {
        good(self.store.enqueue(jobs, &producer()).await)
    }

    /// What the refusal says.
    pub(crate) async fn refused(&self, jobs: &[NewJob]) -> String {
        match self.store.enqueue(jobs, &producer()).await {
            Err(refused @ StoreError::Refused { .. }) => refused.to_string(),
            other => panic!("not refused: {other:?}"),
        }
    }

    /// Claims up to nine jobs for the worker `w`.
    pub(crate) async fn claim(&self) -> Vec<Claimed> {
        good(self.store.exchange("w", &[], Some(&wish("w", 9))).await).claimed
    }

    /// Settles as the worker `w`.
    pub(crate) async fn settle(&self, settlements: &[Settlement]) -> Vec<Outcome> {
        good(self.store.exchange("w", settlements, None).await).outcomes
    }

    pub(crate) async fn sweep(&self) -> Swept {
        good(self.store.sweep("s", 10).await)
    }

    pub(crate) async fn job(&self, id: Uuid) -> JobRow {
        good(self.store.job(id).await).unwrap_or_else(|| panic!("no job {id}"))
    }
}

/// What a call brought; the test fails where it failed.
#[track_caller]
pub(crate) fn good<T>(result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn producer() -> Actor {
    Actor {
        kind: ActorKind::Producer,
        name: "producer".to_owned(),
    }
}

pub(crate) fn job(key: &str) -> NewJob {
    NewJob::new(Uuid::now_v7(), "billing", "collect", key)
}

pub(crate) fn lane() -> Lane {
    Lane {
        queue: "billing".to_owned(),
        tenant: String::new(),
    }
}

pub(crate) fn wish(worker: &str, limit: u32) -> ClaimRequest {
    ClaimRequest {
        worker: worker.to_owned(),
        lease: Duration::from_secs(30),
        shares: vec![LaneShare {
            lane: lane(),
            limit,
        }],
    }
}

pub(crate) fn settled(claimed: &Claimed, verdict: Verdict) -> Settlement {
    Settlement {
        lease: LeaseRef {
            job: claimed.id,
            fence: claimed.fence,
        },
        verdict,
    }
}

pub(crate) fn done(claimed: &Claimed) -> Settlement {
    settled(claimed, Verdict::Succeed { output_ref: None })
}

/// Runs SQL by the SQLite that Python brings, as a worker in another language would; what it reads,
/// a line a row.
///
/// # Panics
/// With what SQLite said.
pub(crate) fn sql(path: &Path, text: &str) -> String {
    try_sql(path, text).unwrap_or_else(|error| panic!("'{text}': {error}"))
}

/// Runs SQL; an error is what SQLite said.
pub(crate) fn try_sql(path: &Path, text: &str) -> Result<String, String> {
    let script = "import sqlite3, sys\n\
        ledger = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)\n\
        try:\n\
        \x20   for row in ledger.execute(sys.argv[2]): print(*row, sep='|')\n\
        except sqlite3.Error as error: sys.exit(str(error))\n";
    let done = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .arg(text)
        .output()
        .unwrap_or_else(|error| panic!("python3 is needed: {error}"));
    let said = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    if done.status.success() {
        Ok(said(&done.stdout))
    } else {
        Err(said(&done.stderr))
    }
}
