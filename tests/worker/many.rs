//! Many workers at once, in tasks and in processes: nothing twice, nothing lost, nobody starved.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::state::State;
use ledgertop::worker::WorkerOptions;
use rustix::process::Signal;

use crate::bench::{
    count_events, done, enqueue, handlers, job, open, options, start, until, until_all, until_state,
};
use crate::ledger::Ledger;
use crate::process::Process;

fn jobs(count: usize) -> Vec<NewJob> {
    (0..count)
        .map(|number| job(&format!("image_{number}")))
        .collect()
}

/// How often each effect was noted.
fn effects(file: &Path) -> BTreeMap<String, u32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut counts = BTreeMap::new();
    for key in text.lines() {
        *counts.entry(key.to_owned()).or_default() += 1;
    }
    counts
}

pub(crate) async fn workers_in_tasks_share_one_ledger_without_doubling(ledger: &Ledger) {
    let store = open(ledger).await;
    let ids = enqueue(store.as_ref(), &jobs(400)).await;
    let runs: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let mut workers = Vec::new();
    for number in 0..4 {
        let counted = Arc::clone(&runs);
        let handlers = handlers(move |job| {
            let counted = Arc::clone(&counted);
            async move {
                let mut runs = counted.lock().expect("no holder panics");
                *runs.entry(job.idempotency_key.clone()).or_default() += 1;
                done("out")
            }
        });
        let options = WorkerOptions {
            lease: Duration::from_secs(30),
            ..options(&format!("w{number}"))
        };
        workers.push(start(open(ledger).await, handlers, options));
    }
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    let mut succeeded = 0;
    for worker in workers {
        let tally = worker.stop().await;
        succeeded += tally.succeeded;
        assert_eq!((tally.stale, tally.refused), (0, 0));
    }
    let runs = runs.lock().expect("no holder panics").clone();
    assert_eq!((runs.len(), succeeded), (400, 400));
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
    assert_eq!(count_events(ledger, "claim").await, 400);
}

pub(crate) async fn workers_in_processes_share_one_ledger_without_doubling(ledger: &Ledger) {
    let store = open(ledger).await;
    let ids = enqueue(store.as_ref(), &jobs(200)).await;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("effects");
    let work = Duration::from_millis(5);
    let processes: Vec<Process> = (0..3)
        .map(|number| {
            Process::start(
                &ledger.url().to_string(),
                &format!("p{number}"),
                &file,
                work,
            )
        })
        .collect();
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    drop(processes);
    let effects = effects(&file);
    assert_eq!(effects.len(), 200);
    assert!(effects.values().all(|count| *count == 1), "{effects:?}");
    assert_eq!(count_events(ledger, "lease_expire").await, 0);
}

pub(crate) async fn jobs_of_a_killed_process_are_taken_over(ledger: &Ledger) {
    let store = open(ledger).await;
    let ids = enqueue(store.as_ref(), &jobs(30)).await;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("effects");
    // It holds five jobs for ten seconds each, so it is killed with all of them in hand.
    let slow = Duration::from_secs(10);
    let mut killed = Process::start(&ledger.url().to_string(), "killed", &file, slow);
    for id in &ids[..5] {
        until_state(store.as_ref(), *id, State::Running).await;
    }
    killed.kill();
    let work = Duration::from_millis(5);
    let _next = Process::start(&ledger.url().to_string(), "next", &file, work);
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    assert_eq!(effects(&file).len(), 30);
    assert_eq!(count_events(ledger, "lease_expire").await, 5);
    assert_eq!(count_events(ledger, "succeed").await, 30);
}

pub(crate) async fn a_process_that_was_stopped_past_its_lease_is_refused_when_it_goes_on(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    let ids = enqueue(store.as_ref(), &jobs(5)).await;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("effects");
    // It is stopped with five jobs in hand, and goes on believing that it still has them.
    let work = Duration::from_secs(4);
    let stopped = Process::start(&ledger.url().to_string(), "stopped", &file, work);
    until_all(store.as_ref(), &ids, State::Running).await;
    stopped.signal(Signal::STOP);
    let quick = Duration::from_millis(5);
    let next = Process::start(&ledger.url().to_string(), "next", &file, quick);
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    stopped.signal(Signal::CONT);
    for _ in 0..600 {
        if count_events(ledger, "stale_refused").await >= 5 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop((stopped, next));
    assert_eq!(count_events(ledger, "stale_refused").await, 5);
    assert_eq!(count_events(ledger, "succeed").await, 5);
    let winner = "SELECT DISTINCT actor FROM job_events WHERE event = 'succeed'";
    assert_eq!(ledger.value(winner).await, "next");
}

/// How many handlers of a queue run, and the most that ever did.
#[derive(Debug, Default, Clone, Copy)]
struct Load {
    now: usize,
    most: usize,
}

pub(crate) async fn no_queue_has_more_jobs_in_hand_than_its_limit_and_holds_up_no_other(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    let of = |queue: &str, count| {
        let queue = queue.to_owned();
        (0..count).map(move |number| NewJob {
            queue: queue.clone(),
            tenant: format!("tenant_{}", number % 2),
            ..job(&format!("{queue}_{number}"))
        })
    };
    let slow: Vec<NewJob> = of("slow", 40).collect();
    let slow = enqueue(store.as_ref(), &slow).await;
    let loads: Arc<Mutex<BTreeMap<String, Load>>> = Arc::default();
    let (let_go, gate) = tokio::sync::watch::channel(false);
    let noted = Arc::clone(&loads);
    let handlers = handlers(move |job| {
        let (noted, mut gate) = (Arc::clone(&noted), gate.clone());
        async move {
            {
                let mut loads = noted.lock().expect("no holder panics");
                let load = loads.entry(job.queue.clone()).or_default();
                load.now += 1;
                load.most = load.most.max(load.now);
            }
            if job.queue == "slow" {
                gate.wait_for(|open| *open).await.expect("it is held open");
            } else {
                tokio::task::yield_now().await;
            }
            let mut loads = noted.lock().expect("no holder panics");
            loads.entry(job.queue).or_default().now -= 1;
            done("out")
        }
    });
    let options = WorkerOptions {
        concurrency: 8,
        limits: BTreeMap::from([("slow".to_owned(), 3), ("quick".to_owned(), 4)]),
        ..options("w1")
    };
    let worker = start(Arc::clone(&store), handlers, options);
    let of_slow = |loads: &BTreeMap<String, Load>| loads.get("slow").map(|load| load.now);
    until("the slow queue is full", || {
        of_slow(&loads.lock().expect("no holder panics")) == Some(3)
    })
    .await;
    // The slow queue has far more to do, and the others still get what is theirs.
    for queue in ["quick", "free"] {
        let jobs: Vec<NewJob> = of(queue, 60).collect();
        let ids = enqueue(store.as_ref(), &jobs).await;
        until_all(store.as_ref(), &ids, State::Succeeded).await;
    }
    let_go.send(true).expect("handlers wait for it");
    until_all(store.as_ref(), &slow, State::Succeeded).await;
    worker.stop().await;
    let loads = loads.lock().expect("no holder panics").clone();
    let most = |queue: &str| loads.get(queue).map(|load| load.most);
    assert_eq!(most("slow"), Some(3), "{loads:?}");
    assert!(most("quick") <= Some(4), "{loads:?}");
    assert!(most("free") <= Some(8), "{loads:?}");
}

pub(crate) async fn a_tenant_with_many_jobs_keeps_no_other_waiting(ledger: &Ledger) {
    let store = open(ledger).await;
    let of = |tenant: &str, count| {
        let tenant = tenant.to_owned();
        (0..count).map(move |number| NewJob {
            tenant: tenant.clone(),
            ..job(&format!("{tenant}_{number}"))
        })
    };
    let jobs: Vec<NewJob> = of("big", 300).chain(of("small", 10)).collect();
    enqueue(store.as_ref(), &jobs).await;
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&order);
    let handlers = handlers(move |job| {
        let noted = Arc::clone(&noted);
        async move {
            noted.lock().expect("no holder panics").push(job.tenant);
            done("out")
        }
    });
    let options = WorkerOptions {
        concurrency: 4,
        ..options("w1")
    };
    let worker = start(Arc::clone(&store), handlers, options);
    until("all are done", || {
        order.lock().expect("no holder panics").len() == 310
    })
    .await;
    worker.stop().await;
    let order = order.lock().expect("no holder panics").clone();
    let last_small = order.iter().rposition(|tenant| tenant == "small");
    assert!(last_small.is_some_and(|at| at < 40), "{last_small:?}");
}
