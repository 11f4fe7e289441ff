//! S20: a small pool, many callers, and calls that are dropped at every await. No connection is
//! leaked, none is left in a transaction, and no lock is held.
//!
//! A call is polled once and dropped, then another twice, and so on until one comes to its end: so
//! it was dropped at each point where it waited. Next: `contention.rs`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ledgertop::ledger::job::{LeaseRef, Operation, Settlement, Verdict};
use ledgertop::store::{Act, DatabaseKind, Store};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::answers::{producer, wish};
use crate::bench::{job, open};
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{say, size};
use crate::process::verify;

/// More polls than any call needs.
const POLLS_MAX: usize = 500;
/// More rounds than a call needs that seldom waits.
const ROUNDS_MAX: usize = 2_000;
/// Connections of one store: the pool's, and one that listens for hints.
const CONNECTIONS: usize = 11;

/// A future that is dropped when it was polled so often.
struct Dropped<F> {
    call: Option<Pin<Box<F>>>,
    polls_left: usize,
}

impl<F: Future> Future for Dropped<F> {
    /// What the call brought, if it came to its end.
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls_left == 0 {
            self.call = None;
            return Poll::Ready(None);
        }
        self.polls_left -= 1;
        let Some(call) = &mut self.call else {
            return Poll::Ready(None);
        };
        call.as_mut().poll(context).map(Some)
    }
}

fn dropped<F: Future>(call: F, after: usize) -> Dropped<F> {
    Dropped {
        call: Some(Box::pin(call)),
        polls_left: after,
    }
}

const CALLS: [&str; 9] = [
    "enqueue",
    "claim",
    "settle",
    "settle and claim",
    "begin",
    "renew",
    "sweep",
    "operate",
    "lanes",
];

/// One call of that name, about jobs of its own or about none.
async fn call(store: &dyn Store, name: &str, at: &At) {
    let lease = Duration::from_secs(1);
    let LeaseRef { job: id, fence } = at.lease;
    let settled = [Settlement {
        lease: at.lease,
        verdict: Verdict::Succeed { output_ref: None },
    }];
    let wish = wish("w", lease, 2);
    // What comes of it is all the same here: the audit judges what is left.
    match name {
        "enqueue" => drop(
            store
                .enqueue(&[job(&Uuid::now_v7().to_string())], &producer())
                .await,
        ),
        "claim" => drop(store.exchange("w", &[], Some(&wish)).await),
        "settle" => drop(store.exchange("w", &settled, None).await),
        "settle and claim" => drop(store.exchange("w", &settled, Some(&wish)).await),
        "begin" => drop(store.begin(id, "w", lease).await),
        "renew" => drop(store.renew("w", &[at.lease], lease).await),
        "sweep" => drop(store.sweep("housekeeping", 10).await),
        "operate" => {
            let act = Act {
                operation: Operation::Quarantine,
                job: id,
                version: fence,
                actor: "op".to_owned(),
                note: String::new(),
            };
            drop(store.operate(&act).await);
        }
        "lanes" => drop(store.lanes(&[], 10).await),
        other => panic!("no call '{other}'"),
    }
}

/// What a call is about.
#[derive(Clone, Copy)]
struct At {
    lease: LeaseRef,
}

/// Drops calls of that name at every await; returns at how many.
async fn at_every_await(store: Arc<dyn Store>, name: &'static str) -> usize {
    for polls in 1..POLLS_MAX {
        let new = job(&Uuid::now_v7().to_string());
        let wish = wish("w", Duration::from_secs(60), 1);
        store.enqueue(&[new], &producer()).await.expect("enqueued");
        let claimed = store
            .exchange("w", &[], Some(&wish))
            .await
            .expect("claimed");
        let lease = claimed.claimed.first().map(|job| LeaseRef {
            job: job.id,
            fence: job.fence,
        });
        let at = At {
            lease: lease.unwrap_or(LeaseRef {
                job: Uuid::nil(),
                fence: 1,
            }),
        };
        if dropped(call(store.as_ref(), name, &at), polls)
            .await
            .is_some()
        {
            return polls - 1;
        }
    }
    panic!("'{name}' does not end");
}

pub(crate) async fn calls_dropped_at_every_await_leave_no_connection_and_no_lock(ledger: &Ledger) {
    let store = open(ledger).await;
    let (callers, rounds) = size().pick((2, 6), (10, 60));
    let mut calls = JoinSet::new();
    for name in CALLS {
        for _caller in 0..callers {
            let store = Arc::clone(&store);
            calls.spawn(async move {
                let (mut awaits, mut round) = (0, 0);
                // A short read of a file may end at its first poll, where nothing can be dropped:
                // it is asked again until it did wait.
                while round < rounds || (awaits < 2 && round < ROUNDS_MAX) {
                    awaits += at_every_await(Arc::clone(&store), name).await;
                    round += 1;
                }
                (name, awaits)
            });
        }
    }
    let mut awaits = std::collections::BTreeMap::new();
    while let Some(done) = calls.join_next().await {
        let (name, count) = done.expect("no panic");
        *awaits.entry(name).or_insert(0) += count;
    }
    let total: usize = awaits.values().sum();
    assert!(awaits.values().all(|count| *count > callers), "{awaits:?}");
    at_rest(ledger).await;
    // The pool is whole: more calls at once than it has connections, and each is answered.
    let again = (0..30).map(|number| {
        let store = Arc::clone(&store);
        async move {
            let new = [job(&format!("again_{number}"))];
            timeout(Duration::from_secs(10), store.enqueue(&new, &producer())).await
        }
    });
    for answer in futures_util::future::join_all(again).await {
        answer.expect("in time").expect("enqueued");
    }
    say(&format!(
        "S20 {}: {total} calls dropped, each round at one await after another: {awaits:?}",
        kind(ledger)
    ));
    verify(ledger).await;
}

/// Waits until nothing of what was dropped is left; fails where it stays.
async fn at_rest(ledger: &Ledger) {
    let began = Instant::now();
    let patience = Duration::from_secs(15);
    match ledger.kind() {
        DatabaseKind::Postgres => {
            let sessions = |state: &str| {
                format!(
                    "SELECT CAST(count(*) AS text) FROM pg_stat_activity WHERE datname = \
                     current_database() AND application_name = 'ledgertop' AND {state}"
                )
            };
            let count = async |state| -> usize {
                let count = ledger.value(&sessions(state)).await;
                count.parse().expect("a number")
            };
            while count("state <> 'idle'").await > 0 || count("true").await > CONNECTIONS {
                let (busy, all) = (count("state <> 'idle'").await, count("true").await);
                assert!(began.elapsed() < patience, "{busy} at work, {all} in all");
                sleep(Duration::from_millis(20)).await;
            }
        }
        DatabaseKind::Sqlite => {
            let mut other = ledger.connect().await;
            while let Err(error) = other.run("BEGIN IMMEDIATE").await {
                assert!(began.elapsed() < patience, "{error}");
                sleep(Duration::from_millis(20)).await;
            }
            other.run("ROLLBACK").await.expect("let go");
        }
    }
}
