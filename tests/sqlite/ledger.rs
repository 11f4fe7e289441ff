//! A fresh ledger in a file, and the few values that every test needs.
//!
//! Knows nothing of what is tested. Next: `files.rs`.

#![expect(clippy::panic, reason = "a helper that cannot help fails the test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{Actor, Claimed, Lane, LeaseRef, NewJob, Settlement, Verdict};
use ledgertop::store::{self, ClaimRequest, LaneShare, LedgerUrl, Store};
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
    let url = LedgerUrl::parse(database.url()).unwrap_or_else(|error| panic!("{error}"));
    store::init(&url)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let store = url.store().await.unwrap_or_else(|error| panic!("{error}"));
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
