//! S17: what jobs depend on is down, with many jobs waiting, and comes back. The retries are spread
//! evenly, so that they are no second outage.
//!
//! Next: `clocks.rs`.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::state::State;
use ledgertop::store::DatabaseKind;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::bench::{enqueue, job, open, policy, until_all};
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{say, size};
use crate::process::{Worker, verify};
use crate::server::{Reply, Server};

/// The window that every wait is drawn from: base and cap of the policy alike.
const WINDOW: Duration = Duration::from_secs(4);
const BINS: usize = 16;
/// The 0.999 quantile of χ² with 15 degrees of freedom.
const CHI_MAX: f64 = 37.697;

/// The waits between each failure and the next attempt, in milliseconds.
async fn waits(ledger: &Ledger) -> Vec<u64> {
    let query = match ledger.kind() {
        DatabaseKind::Postgres => {
            "SELECT CAST(CAST(1000 * extract(epoch FROM available_at - at) AS bigint) AS text) \
             FROM job_events WHERE event = 'retry'"
        }
        DatabaseKind::Sqlite => {
            "SELECT CAST(available_at - at AS text) FROM job_events WHERE event = 'retry'"
        }
    };
    let rows = ledger.rows(query).await.into_iter().flatten().flatten();
    rows.map(|wait| wait.parse().expect("a number")).collect()
}

/// χ² of values in `[0, most]` against an even spread.
fn chi_square(values: &[u64], most: u64) -> f64 {
    let mut bins = [0_u32; BINS];
    for value in values {
        let bin = usize::try_from(value * 16 / (most + 1)).expect("few");
        bins[bin] += 1;
    }
    let all: u32 = bins.iter().sum();
    let expected = f64::from(all) / 16.0;
    bins.iter()
        .map(|count| (f64::from(*count) - expected).powi(2) / expected)
        .sum()
}

pub(crate) async fn retries_after_an_outage_are_spread_evenly_and_are_no_second_one(
    ledger: &Ledger,
) {
    let (jobs, down) = size().pick(
        (400, Duration::from_secs(9)),
        (10_000, Duration::from_secs(60)),
    );
    let store = open(ledger).await;
    policy(store.as_ref(), "window", |policy| {
        policy.max_attempts = 1_000;
        (policy.backoff_base, policy.backoff_cap) = (WINDOW, WINDOW);
    })
    .await;
    let is_up = Arc::new(AtomicBool::new(false));
    let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let (up, noted) = (Arc::clone(&is_up), Arc::clone(&asked));
    let dependency = Server::start(move |_request| {
        noted.lock().expect("no panic").push(Instant::now());
        if up.load(Ordering::SeqCst) {
            Reply::of(200, "", "")
        } else {
            Reply::of(503, "", "")
        }
    })
    .await;
    let url = dependency.url();
    let arguments = ["--concurrency", "20", "--http", &url, "--allow-private"];
    let workers =
        ["w1", "w2"].map(|name| Worker::start(&ledger.url().to_string(), name, &arguments));
    let new: Vec<NewJob> = (0..jobs)
        .map(|number| NewJob {
            id: Uuid::now_v7(),
            policy: "window".to_owned(),
            ..job(&format!("image_{number}"))
        })
        .collect();
    let mut ids = Vec::new();
    for some in new.chunks(1_000) {
        ids.extend(enqueue(store.as_ref(), some).await);
    }
    let began = Instant::now();
    sleep(down).await;
    is_up.store(true, Ordering::SeqCst);
    let back = Instant::now();
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    let recovered = back.elapsed();
    for worker in workers {
        worker.stop().await;
    }

    let requests = asked.lock().expect("no panic").clone();
    judge(
        ledger,
        jobs,
        &by_the_second(&requests, began + WINDOW),
        recovered,
    )
    .await;
    verify(ledger).await;
}

/// How many came in each second from `first` on.
fn by_the_second(requests: &[Instant], first: Instant) -> Vec<usize> {
    let mut seconds: Vec<usize> = Vec::new();
    for time in requests.iter().filter(|time| **time >= first) {
        let second = usize::try_from(time.duration_since(first).as_secs()).expect("few");
        if seconds.len() <= second {
            seconds.resize(second + 1, 0);
        }
        seconds[second] += 1;
    }
    seconds
}

/// Says the figures, and fails where they are not as they must be. `seconds` begin when all jobs
/// have failed once: what comes is what backoff let through.
async fn judge(ledger: &Ledger, jobs: usize, seconds: &[usize], recovered: Duration) {
    let millis = u64::try_from(WINDOW.as_millis()).expect("short");
    let waits = waits(ledger).await;
    let chi = chi_square(&waits, millis);
    let peak = seconds.iter().copied().max().expect("there were requests");
    // Everybody waits two seconds on average, so half of all come each second.
    let mean = jobs / 2;
    say(&format!(
        "S17 {}: {jobs} jobs, {} retries, χ² {chi:.1} (bound {CHI_MAX}); requests by the second \
         {seconds:?}, all done {recovered:.1?} after the outage",
        kind(ledger),
        waits.len(),
    ));
    assert!(
        waits.iter().all(|wait| *wait <= millis),
        "beyond the window"
    );
    assert!(chi < CHI_MAX, "χ² = {chi}");
    assert!(
        peak * 2 <= mean * 3,
        "{peak} in one second, {mean} are usual"
    );
    assert!(recovered < WINDOW + Duration::from_secs(5), "{recovered:?}");
}
