//! Writers that do everything a writer may: whole batches and single jobs, transactions that stay
//! open, savepoints that are undone, commits and rollbacks, by SQL and through the store.
//!
//! Each is seeded; what they do together depends on who is first, which is what is wanted here.

#![expect(clippy::panic, reason = "a writer that cannot write fails the test")]

use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{Actor, Lane, NewJob, Settlement, Verdict};
use ledgertop::ledger::job::{Failed, LeaseRef};
use ledgertop::store::{ClaimRequest, LaneShare, LedgerUrl, Store};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};
use tokio::sync::RwLock;
use uuid::Uuid;

const QUEUES: u32 = 5;

/// What one writer needs.
pub(crate) struct Plan {
    pub(crate) url: LedgerUrl,
    pub(crate) address: String,
    pub(crate) commits: Arc<RwLock<()>>,
    pub(crate) seed: u64,
}

/// Writes until it is aborted.
pub(crate) async fn write(plan: Plan) {
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    if plan.seed.is_multiple_of(4) {
        let store = plan
            .url
            .store()
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        loop {
            work(store.as_ref(), &plan, &mut random).await;
        }
    }
    let options: PgConnectOptions = plan
        .address
        .parse()
        .unwrap_or_else(|error| panic!("{error}"));
    let mut connection = options
        .application_name("writer")
        .connect()
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    loop {
        // A conflict with another writer undoes the transaction, as it would anywhere.
        if let Err(error) = transaction(&mut connection, &plan, &mut random).await {
            run(&mut connection, "ROLLBACK")
                .await
                .unwrap_or_else(|lost| panic!("{error}, then {lost}"));
        }
    }
}

async fn run(connection: &mut PgConnection, text: &str) -> Result<(), sqlx::Error> {
    connection
        .execute(sqlx::raw_sql(AssertSqlSafe(text.to_owned())))
        .await
        .map(|_done| ())
}

/// One transaction of some steps, now and then a long one, which commits or not.
async fn transaction(
    connection: &mut PgConnection,
    plan: &Plan,
    random: &mut ChaCha8Rng,
) -> Result<(), sqlx::Error> {
    run(connection, "BEGIN").await?;
    for _step in 0..random.random_range(1..6) {
        let undone = random.random_bool(0.2);
        if undone {
            run(connection, "SAVEPOINT part").await?;
        }
        let text = step(plan.seed, random);
        run(connection, &text).await?;
        if undone {
            run(connection, "ROLLBACK TO SAVEPOINT part").await?;
        }
        pause(random).await;
    }
    if random.random_bool(0.25) {
        return run(connection, "ROLLBACK").await;
    }
    let _commits = plan.commits.read().await;
    run(connection, "COMMIT").await
}

async fn pause(random: &mut ChaCha8Rng) {
    let longest = if random.random_bool(0.02) { 600 } else { 4 };
    let millis = random.random_range(0..longest);
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// A statement that is legal for the jobs that it finds.
fn step(writer: u64, random: &mut ChaCha8Rng) -> String {
    let count = random.random_range(1..40);
    let queue = random.random_range(0..QUEUES);
    let key: u64 = random.random();
    let worker = format!("writer {writer}");
    match random.random_range(0..12) {
        0..=3 => format!(
            "INSERT INTO jobs (idempotency_key, queue, kind, available_at) \
             SELECT '{key} ' || n, 'queue {queue}', 'k', \
             clock_timestamp() + (n % 3) * interval '50 ms' FROM generate_series(1, {count}) n"
        ),
        4 | 5 => change(
            &format!(
                "event = 'claim', state = 'running', actor_kind = 'worker', actor = '{worker}', \
                 worker = '{worker}', lease_expires_at = clock_timestamp() + interval '1 minute'"
            ),
            &format!("state = 'ready' AND queue = 'queue {queue}'"),
            count,
        ),
        6 => settle(&worker, "event = 'succeed', state = 'succeeded'", count),
        7 => settle(
            &worker,
            "event = 'retry', state = 'retry_wait', error_class = 'transient', \
             reason = 'timeout', available_at = clock_timestamp()",
            count,
        ),
        8 => settle(
            &worker,
            "event = 'reject', state = 'quarantined', error_class = 'permanent', \
             reason = 'malformed'",
            count,
        ),
        9 => change(
            "event = 'due', state = 'ready', actor_kind = 'system', actor = 'sweep'",
            "state IN ('pending', 'retry_wait') AND available_at <= clock_timestamp()",
            count,
        ),
        10 => change(
            "event = 'redrive', state = 'ready', actor_kind = 'operator', actor = 'o'",
            "state = 'quarantined'",
            count / 2,
        ),
        _the_rest => settle(
            &worker,
            "event = 'renew', lease_expires_at = lease_expires_at + interval '1 minute'",
            count,
        ),
    }
}

fn settle(worker: &str, set: &str, count: u32) -> String {
    change(
        &format!("{set}, actor_kind = 'worker', actor = '{worker}'"),
        &format!("state = 'running' AND worker = '{worker}'"),
        count,
    )
}

fn change(set: &str, which: &str, count: u32) -> String {
    format!(
        "UPDATE jobs SET {set}, version = version + 1 WHERE id IN (SELECT id FROM jobs \
         WHERE {which} ORDER BY id LIMIT {count} FOR UPDATE SKIP LOCKED)"
    )
}

/// What a worker and its housekeeping do through the store.
async fn work(store: &dyn Store, plan: &Plan, random: &mut ChaCha8Rng) {
    let worker = format!("worker {}", plan.seed);
    let shares = (0..QUEUES)
        .map(|queue| LaneShare {
            lane: Lane {
                queue: format!("queue {queue}"),
                tenant: String::new(),
            },
            limit: 6,
        })
        .collect();
    let request = ClaimRequest {
        worker: worker.clone(),
        lease: Duration::from_millis(random.random_range(0..60_000)),
        shares,
    };
    let jobs: Vec<NewJob> = (0..random.random_range(0..30))
        .map(|n| {
            NewJob::new(
                Uuid::now_v7(),
                &format!("queue {}", n % QUEUES),
                "k",
                &format!("key {}", random.random_range(0..5_000)),
            )
        })
        .collect();
    let by = Actor {
        kind: ActorKind::Producer,
        name: "producer".to_owned(),
    };
    // Each call commits at once, so none may be under way while a sample is taken.
    let commits = plan.commits.read().await;
    let done = async {
        store.enqueue(&jobs, &by).await?;
        let claimed = store.exchange(&worker, &[], Some(&request)).await?.claimed;
        let settlements: Vec<Settlement> = claimed
            .iter()
            .map(|job| Settlement {
                lease: LeaseRef {
                    job: job.id,
                    fence: job.fence,
                },
                verdict: verdict(random),
            })
            .collect();
        store.exchange(&worker, &settlements, None).await?;
        store.sweep("sweep", 50).await
    };
    if let Err(error) = done.await {
        panic!("the store gave up: {error}");
    }
    drop(commits);
    pause(random).await;
}

fn verdict(random: &mut ChaCha8Rng) -> Verdict {
    match random.random_range(0..4) {
        0 | 1 => Verdict::Succeed { output_ref: None },
        2 => Verdict::Release,
        _the_rest => Verdict::Retry {
            failure: Failed {
                class: ErrorClass::Transient,
                reason: "timeout".to_owned(),
                error: "too late".to_owned(),
            },
            delay: Duration::from_millis(random.random_range(0..200)),
        },
    }
}
