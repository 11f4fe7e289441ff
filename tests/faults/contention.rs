//! S22: completers, housekeeping, operators and producers at once, in random order, on the same few
//! jobs. No call fails: what the database refuses for a deadlock, a serialisation failure or a lock
//! is done again by the store.
//!
//! Next: `clocks.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ledgertop::ledger::job::{LeaseRef, NewJob, Operation, ParentLink, Settlement};
use ledgertop::store::{Act, DatabaseKind, Store, StoreError};
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::answers::{failed, producer, settlement, succeeded, wish};
use crate::bench::{job, open, policy};
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{random, say, size};
use crate::process::verify;

/// Keys that all producers share: few, so that they meet.
const KEYS: u32 = 400;

/// What one of them does, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Completer,
    Renewer,
    Housekeeper,
    Operator,
    Producer,
}

const ROLES: [Role; 12] = [
    Role::Completer,
    Role::Completer,
    Role::Completer,
    Role::Renewer,
    Role::Renewer,
    Role::Housekeeper,
    Role::Housekeeper,
    Role::Operator,
    Role::Operator,
    Role::Producer,
    Role::Producer,
    Role::Producer,
];

/// One of them at work.
struct Hand {
    store: Arc<dyn Store>,
    name: String,
    random: ChaCha8Rng,
    /// Jobs that an operator may act on, as they were last seen.
    seen: Vec<(Uuid, u32)>,
}

impl Hand {
    async fn turn(&mut self, role: Role) -> Result<(), StoreError> {
        match role {
            Role::Completer => self.complete().await,
            Role::Renewer => self.renew().await,
            Role::Housekeeper => {
                let limit = self.random.random_range(1..200);
                self.store.sweep(&self.name, limit).await.map(drop)
            }
            Role::Operator => self.operate().await,
            Role::Producer => self.produce().await,
        }
    }

    /// Claims some and settles them in random order and in one of all ways; one now and then is
    /// left to its lease.
    async fn complete(&mut self) -> Result<(), StoreError> {
        let many = self.random.random_range(1..30);
        let wish = wish(&self.name, Duration::from_millis(150), many);
        let mut claimed = self.store.exchange(&self.name, &[], Some(&wish)).await?;
        claimed.claimed.shuffle(&mut self.random);
        claimed.claimed.pop();
        let mut settlements: Vec<Settlement> = Vec::new();
        for job in &claimed.claimed {
            settlements.push(match self.random.random_range(0..4) {
                0 => settlement(job, failed(true)),
                1 => settlement(job, failed(false)),
                2 => settlement(job, ledgertop::ledger::job::Verdict::Release),
                _most => succeeded(job),
            });
        }
        let settled = self
            .store
            .exchange(&self.name, &settlements, Some(&wish))
            .await?;
        // What was claimed beside is left to the sweepers.
        drop(settled);
        Ok(())
    }

    async fn renew(&mut self) -> Result<(), StoreError> {
        let lease = Duration::from_millis(300);
        let wish = wish(&self.name, lease, 20);
        let claimed = self.store.exchange(&self.name, &[], Some(&wish)).await?;
        let mut leases: Vec<LeaseRef> = claimed
            .claimed
            .iter()
            .map(|job| succeeded(job).lease)
            .collect();
        for _renewal in 0..3 {
            leases.shuffle(&mut self.random);
            self.store.renew(&self.name, &leases, lease).await?;
        }
        Ok(())
    }

    /// Redrives, quarantines, promotes and revokes what is seen, by versions that may be old.
    async fn operate(&mut self) -> Result<(), StoreError> {
        let operations = [
            Operation::Redrive,
            Operation::Redrive,
            Operation::Quarantine,
            Operation::Promote,
            Operation::Revoke,
        ];
        for _act in 0..10 {
            let Some((job, _)) = self.seen.choose(&mut self.random) else {
                return Ok(());
            };
            let Some(row) = self.store.job(*job).await? else {
                continue;
            };
            let act = Act {
                operation: *operations.choose(&mut self.random).expect("there are"),
                job: *job,
                version: row.version,
                actor: self.name.clone(),
                note: Uuid::now_v7().to_string(),
            };
            self.store.operate(&act).await?;
        }
        Ok(())
    }

    /// New keys and known ones in random order, some with a parent among them.
    async fn produce(&mut self) -> Result<(), StoreError> {
        let mut jobs: Vec<NewJob> = Vec::new();
        let many = self.random.random_range(1..20);
        while jobs.len() < many {
            let number = self.random.random_range(0..KEYS);
            let id = Uuid::now_v7();
            let fresh = job(&format!("fresh_{id}"));
            let of_parent = self.random.random_bool(0.2);
            jobs.push(NewJob {
                policy: "short".to_owned(),
                parent: of_parent.then(|| ParentLink {
                    key: format!("shared_{}", number / 10),
                    required: false,
                }),
                ..if self.random.random_bool(0.3) {
                    fresh
                } else {
                    job(&format!("shared_{number}"))
                }
            });
        }
        self.store.enqueue(&jobs, &producer()).await.map(drop)
    }
}

pub(crate) async fn all_kinds_of_writers_at_once_meet_no_error_that_is_not_retried(
    ledger: &Ledger,
) {
    let until = Instant::now() + size().pick(Duration::from_secs(6), Duration::from_secs(180));
    let mut random = random(&format!("S22 {}", kind(ledger)));
    // Three stores, as three processes would have.
    let stores = [open(ledger).await, open(ledger).await, open(ledger).await];
    policy(stores[0].as_ref(), "short", |_| {}).await;
    let first: Vec<NewJob> = (0..KEYS).map(|n| job(&format!("shared_{n}"))).collect();
    let seen: Vec<(Uuid, u32)> = first.iter().map(|job| (job.id, 1)).collect();
    let enqueued = stores[0].enqueue(&first, &producer()).await;
    enqueued.expect("enqueued");
    let turns: Arc<[AtomicU64; 5]> = Arc::default();
    let mut hands = JoinSet::new();
    for (number, role) in ROLES.into_iter().enumerate() {
        let mut hand = Hand {
            store: Arc::clone(&stores[number % stores.len()]),
            name: format!("{role:?} {number}"),
            random: ChaCha8Rng::seed_from_u64(random.random()),
            seen: seen.clone(),
        };
        let turns = Arc::clone(&turns);
        hands.spawn(async move {
            while Instant::now() < until {
                if let Err(error) = hand.turn(role).await {
                    panic!("{}: {error} {error:?}", hand.name);
                }
                turns[role as usize].fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = hands.join_next().await {
        ended.expect("no call failed");
    }
    let turns: Vec<u64> = turns
        .iter()
        .map(|count| count.load(Ordering::Relaxed))
        .collect();
    say(&format!(
        "S22 {}: completers, renewers, housekeepers, operators, producers took {turns:?} turns, no \
         call failed{}",
        kind(ledger),
        retried(ledger).await
    ));
    assert!(turns.iter().all(|count| *count > 10), "{turns:?}");
    verify(ledger).await;
}

/// How many deadlocks the database undid, which the store then did again.
async fn retried(ledger: &Ledger) -> String {
    match ledger.kind() {
        DatabaseKind::Postgres => {
            let query = "SELECT CAST(deadlocks AS text) FROM pg_stat_database \
                         WHERE datname = current_database()";
            format!("; {} deadlocks, all retried", ledger.value(query).await)
        }
        DatabaseKind::Sqlite => String::new(),
    }
}
