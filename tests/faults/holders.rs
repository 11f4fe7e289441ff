//! S3 and S4: who holds a job. A worker that stood still past its leases is refused and that is
//! recorded; a handler of ten leases keeps its job; a worker that is cut off loses its jobs in
//! time, and never do two handlers of one job run at once.
//!
//! Next: `poison.rs`.

use std::time::Duration;

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::state::State;
use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::bench::{count_events, enqueue, events, job, open, row, until_all, until_state};
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{say, size};
use crate::process::{Worker, verify};
use crate::proxy::{Act, Proxy, Weather};
use crate::sink::Sink;

const LEASE: Duration = Duration::from_secs(1);
/// How long housekeeping lets pass between two sweeps.
const SWEEP: Duration = Duration::from_millis(500);

/// Waits until so many events of that kind are there.
async fn until_events(ledger: &Ledger, event: &str, count: usize) {
    let began = Instant::now();
    while count_events(ledger, event).await < count {
        let late = began.elapsed() > Duration::from_secs(60);
        assert!(!late, "no {count} of '{event}'");
        sleep(Duration::from_millis(50)).await;
    }
}

/// No fence was ever given to two.
async fn assert_one_holder_a_fence(ledger: &Ledger) {
    let twice = "SELECT CAST(job_id AS text) FROM job_events WHERE event = 'claim' \
                 GROUP BY job_id, fence HAVING count(*) > 1";
    assert_eq!(ledger.rows(twice).await.len(), 0);
}

pub(crate) async fn a_worker_that_stood_still_past_its_leases_is_refused_and_that_is_recorded(
    ledger: &Ledger,
) {
    let jobs = size().pick(10, 200);
    let store = open(ledger).await;
    let sink = Sink::new();
    let new: Vec<NewJob> = (0..jobs).map(|n| job(&format!("image_{n}"))).collect();
    let ids = enqueue(store.as_ref(), &new).await;
    let address = ledger.url().to_string();
    let slow = sink.command(3.0);
    let concurrency = jobs.to_string();
    let arguments = [
        "--lease",
        "1s",
        "--concurrency",
        &concurrency,
        "--no-housekeeping",
        "--exec",
        &slow,
    ];
    let still = Worker::start(&address, "stood_still", &arguments);
    until_all(store.as_ref(), &ids, State::Running).await;
    still.signal(Signal::STOP);
    // Its handlers go on, being processes of their own, and make their effects.
    let quick = sink.command(0.01);
    let next = Worker::start(&address, "next", &["--lease", "5s", "--exec", &quick]);
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    while sink.calls().len() < 2 * jobs {
        sleep(Duration::from_millis(50)).await;
    }
    still.signal(Signal::CONT);
    until_events(ledger, "stale_refused", jobs).await;
    still.stop().await;
    next.stop().await;
    let winner = "SELECT DISTINCT actor FROM job_events WHERE event = 'succeed'";
    let winner = ledger.value(winner).await;
    assert!(winner.starts_with("next"), "{winner}");
    assert_eq!(count_events(ledger, "succeed").await, jobs);
    let by = "SELECT DISTINCT actor FROM job_events WHERE event = 'stale_refused'";
    let by = ledger.value(by).await;
    assert!(by.starts_with("stood_still"), "{by}");
    assert_eq!(sink.applied().len(), jobs, "one effect a key");
    assert_one_holder_a_fence(ledger).await;
    verify(ledger).await;
    say(&format!(
        "S3 {}: {jobs} jobs held by a worker that stood still, {} calls, {} effects, {} refused",
        kind(ledger),
        sink.calls().len(),
        sink.applied().len(),
        count_events(ledger, "stale_refused").await
    ));
}

pub(crate) async fn a_command_ten_leases_long_keeps_its_job(ledger: &Ledger) {
    let store = open(ledger).await;
    let sink = Sink::new();
    let ids = enqueue(store.as_ref(), &[job("film")]).await;
    let address = ledger.url().to_string();
    let long = sink.command(10.0);
    let arguments = ["--lease", "1s", "--exec", &long];
    let workers = ["w1", "w2"].map(|name| Worker::start(&address, name, &arguments));
    until_state(store.as_ref(), ids[0], State::Succeeded).await;
    for worker in workers {
        worker.stop().await;
    }
    let found = events(ledger, ids[0]).await;
    let renewals = found.iter().filter(|event| *event == "renew").count();
    assert!(renewals >= 10, "{found:?}");
    assert_eq!(found.len(), renewals + 3, "{found:?}");
    assert_eq!(sink.calls().len(), 1);
    assert_one_holder_a_fence(ledger).await;
    verify(ledger).await;
}

/// A command that says ten times a second that it runs, and under which fence.
fn beating(sink: &Sink) -> String {
    format!(
        "sh -c 'while :; do echo $LEDGERTOP_FENCE >> {}/beats; sleep 0.1; done'",
        sink.path().display()
    )
}

fn beats(sink: &Sink) -> Vec<u32> {
    let text = std::fs::read_to_string(sink.path().join("beats")).unwrap_or_default();
    text.lines()
        .map(|fence| fence.parse().expect("a fence"))
        .collect()
}

pub(crate) async fn a_worker_that_is_cut_off_loses_its_job_in_time_and_two_never_run_it_at_once(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    let proxy = Proxy::before(ledger).await;
    let id = enqueue(store.as_ref(), &[job("film")]).await[0];
    let rounds = size().pick(2, 20);
    let mut longest = Duration::ZERO;
    for round in 1..=rounds {
        let sink = Sink::new();
        let beat = beating(&sink);
        let arguments = ["--lease", "1s", "--grace", "0s", "--exec", &beat];
        let cut = Worker::start(&proxy.address(), "cut_off", &arguments);
        until_state(store.as_ref(), id, State::Running).await;
        until_events(ledger, "renew", 4 * round).await;
        let next = Worker::start(&ledger.url().to_string(), "next", &arguments);
        if round % 2 == 0 {
            proxy.turn(Weather::Hanging);
        } else {
            proxy.rule(|_point| Act::Cut);
        }
        let fence = row(store.as_ref(), id).await.fence;
        while row(store.as_ref(), id).await.fence == fence {
            sleep(Duration::from_millis(20)).await;
        }
        longest = longest.max(waited(ledger).await);
        // Back again, the worker that was cut off has nothing left to say about the job.
        while !beats(&sink).contains(&(fence + 1)) {
            sleep(Duration::from_millis(20)).await;
        }
        proxy.no_rule();
        proxy.turn(Weather::Fine);
        until_events(ledger, "stale_refused", round).await;
        let after = beats(&sink);
        let first_of_next = after.iter().position(|beat| *beat > fence);
        let late = after.iter().skip(first_of_next.expect("it beat"));
        assert!(late.clone().all(|beat| *beat > fence), "{after:?}");
        cut.stop().await;
        next.stop().await;
        // It was given back, with its attempt.
        until_state(store.as_ref(), id, State::Ready).await;
    }
    let bound = LEASE + SWEEP + Duration::from_secs(1);
    assert!(longest < bound, "{longest:?}");
    assert_one_holder_a_fence(ledger).await;
    verify(ledger).await;
    say(&format!(
        "S4 {}: cut off {rounds} times, taken over at most {longest:?} after the last renewal",
        kind(ledger)
    ));
}

/// From the last renewal of the claim before to the last claim.
async fn waited(ledger: &Ledger) -> Duration {
    let query = "SELECT CAST(CAST(1000 * extract(epoch FROM \
                 (SELECT max(at) FROM job_events WHERE event = 'claim') - \
                 (SELECT max(at) FROM job_events WHERE event = 'renew')) AS bigint) AS text)";
    Duration::from_millis(ledger.value(query).await.parse().expect("a number"))
}
