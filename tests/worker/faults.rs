//! What happens when worker and ledger part: lost answers, a ledger that is away, a settlement that
//! is refused.
//!
//! Next: `many.rs`, many workers at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::policy::OnUnknown;
use ledgertop::ledger::state::State;
use ledgertop::store::Store;
use ledgertop::worker::{HandlerError, WorkerOptions};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::bench::{
    Housekeeper, count_events, done, enqueue, enqueue_under, handlers, job, open, options, policy,
    row, start, until, until_all, until_state,
};
use crate::faulty::{Faulty, Way};
use crate::ledger::Ledger;

/// How often each key was run.
type Runs = Arc<Mutex<HashMap<String, u32>>>;

pub(crate) async fn lost_answers_are_never_counted_as_failures(ledger: &Ledger) {
    let store = open(ledger).await;
    policy(store.as_ref(), "patient", |policy| policy.max_attempts = 50).await;
    let jobs: Vec<NewJob> = (0..40)
        .map(|number| NewJob {
            policy: "patient".to_owned(),
            ..job(&format!("image_{number}"))
        })
        .collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    let runs = Runs::default();
    let counted = Arc::clone(&runs);
    let handlers = handlers(move |job| {
        let counted = Arc::clone(&counted);
        async move {
            let mut runs = counted.lock().expect("no holder panics");
            let run = runs.entry(job.idempotency_key.clone()).or_default();
            *run += 1;
            // Half of them fail once first, so that retries lose their answers too.
            if *run == 1 && job.idempotency_key.ends_with(['1', '3', '5', '7', '9']) {
                return Err(HandlerError::known("unavailable", "503"));
            }
            done(&job.idempotency_key)
        }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let lossy = Arc::new(Faulty::new(open(ledger).await));
    lossy.set(Way::LosesAnswers);
    let options = WorkerOptions {
        concurrency: 4,
        ..options("w1")
    };
    let worker = start(Arc::clone(&lossy) as Arc<dyn Store>, handlers, options);
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    let tally = worker.stop().await;
    let runs = runs.lock().expect("no holder panics").clone();
    for (key, count) in &runs {
        let odd = key.ends_with(['1', '3', '5', '7', '9']);
        assert_eq!(*count, if odd { 2 } else { 1 }, "{key}");
    }
    assert_eq!(count_events(ledger, "succeed").await, 40);
    assert_eq!(count_events(ledger, "retry").await, 20);
    assert_eq!(count_events(ledger, "stale_refused").await, 0, "{tally:?}");
    // A result whose answers are lost until long after its lease is given up, never a failure.
    let known = tally.succeeded + tally.retried + tally.given_up;
    assert_eq!(known, 60, "{tally:?}");
    assert_eq!((tally.stale, tally.refused, tally.lost), (0, 0, 0));
}

pub(crate) async fn a_claim_whose_answer_was_lost_is_taken_up_at_once_and_costs_no_attempt(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    policy(store.as_ref(), "hold", |policy| {
        policy.on_unknown = OnUnknown::Hold;
    })
    .await;
    let runs = Runs::default();
    let counted = Arc::clone(&runs);
    let handlers = handlers(move |job| {
        let counted = Arc::clone(&counted);
        async move {
            let mut runs = counted.lock().expect("no holder panics");
            *runs.entry(job.idempotency_key.clone()).or_default() += 1;
            if job.idempotency_key == "held" {
                return Err(HandlerError::known("unclassified", "who knows"));
            }
            done("out")
        }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let lossy = Arc::new(Faulty::new(open(ledger).await));
    // Far longer than the case takes: what waits for its lease is never done.
    let options = WorkerOptions {
        lease: Duration::from_hours(1),
        ..options("w1")
    };
    let worker = start(Arc::clone(&lossy) as Arc<dyn Store>, handlers, options);
    // One that was begun and is left for a person is in the worker's name too.
    let held = enqueue_under(store.as_ref(), "held", "hold").await;
    until("it is held", || {
        runs.lock().expect("no holder panics").contains_key("held")
    })
    .await;
    for round in 0..5 {
        lossy.set(Way::LosesOneClaim);
        let jobs: Vec<NewJob> = (0..4).map(|n| job(&format!("image_{round}_{n}"))).collect();
        let ids = enqueue(store.as_ref(), &jobs).await;
        until_all(store.as_ref(), &ids, State::Succeeded).await;
    }
    let tally = worker.stop().await;
    let runs = runs.lock().expect("no holder panics").clone();
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
    assert_eq!(row(store.as_ref(), held).await.state, State::Running);
    assert_eq!((tally.claimed, tally.succeeded, tally.held), (21, 20, 1));
    assert_eq!(count_events(ledger, "claim").await, 21);
    assert_eq!(count_events(ledger, "lease_expire").await, 0);
}

pub(crate) async fn results_wait_for_a_ledger_that_is_away(ledger: &Ledger) {
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let finish = Arc::new(Notify::new());
    let told = Arc::clone(&finish);
    let handlers = handlers(move |_| {
        let told = Arc::clone(&told);
        async move {
            told.notified().await;
            done("kept")
        }
    });
    let far = Arc::new(Faulty::new(open(ledger).await));
    let options = WorkerOptions {
        lease: Duration::from_secs(20),
        ..options("w1")
    };
    let worker = start(Arc::clone(&far) as Arc<dyn Store>, handlers, options);
    until_state(store.as_ref(), id, State::Running).await;
    far.set(Way::Closed);
    finish.notify_one();
    sleep(Duration::from_millis(500)).await;
    assert_eq!(row(store.as_ref(), id).await.state, State::Running);
    far.set(Way::Open);
    let row = until_state(store.as_ref(), id, State::Succeeded).await;
    let tally = worker.stop().await;
    assert_eq!(row.output_ref, Some("kept".into()));
    assert_eq!((row.attempt, tally.succeeded, tally.stale), (1, 1, 0));
}

pub(crate) async fn a_settlement_that_is_refused_holds_up_no_other(ledger: &Ledger) {
    let store = open(ledger).await;
    let jobs: Vec<NewJob> = (0..8).map(|n| job(&format!("image_{n}"))).collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    // Somebody takes one job away under the worker, by the rules: its settlement is stale, the
    // others of the same exchange are not.
    let held = Arc::new(Notify::new());
    let told = Arc::clone(&held);
    let handlers = handlers(move |_| {
        let told = Arc::clone(&told);
        async move {
            told.notified().await;
            done("out")
        }
    });
    let options = WorkerOptions {
        lease: Duration::from_secs(20),
        ..options("w1")
    };
    let worker = start(Arc::clone(&store), handlers, options);
    until_all(store.as_ref(), &ids, State::Running).await;
    let version = row(store.as_ref(), ids[3]).await.version;
    let act = ledgertop::store::Act {
        operation: ledgertop::ledger::job::Operation::Revoke,
        job: ids[3],
        version,
        actor: "op".to_owned(),
        note: "wrong tenant".to_owned(),
    };
    store.operate(&act).await.expect("an answer");
    held.notify_waiters();
    for (position, id) in ids.iter().enumerate() {
        let state = if position == 3 {
            State::Quarantined
        } else {
            State::Succeeded
        };
        until_state(store.as_ref(), *id, state).await;
    }
    let tally = worker.stop().await;
    assert_eq!((tally.succeeded, tally.stale), (7, 1));
    assert_eq!(count_events(ledger, "stale_refused").await, 1);
}

pub(crate) async fn two_housekeepers_move_each_job_once(ledger: &Ledger) {
    let store = open(ledger).await;
    policy(store.as_ref(), "short", |_| {}).await;
    let jobs: Vec<NewJob> = (0..60)
        .map(|number| NewJob {
            policy: "short".to_owned(),
            ..job(&format!("image_{number}"))
        })
        .collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    let _one = Housekeeper::start(open(ledger).await);
    let _two = Housekeeper::start(open(ledger).await);
    let handlers = handlers(|job| async move {
        if job.attempt == 1 {
            Err(HandlerError::known("unavailable", "503"))
        } else {
            done("out")
        }
    });
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    worker.stop().await;
    assert_eq!(count_events(ledger, "due").await, 60);
    assert_eq!(count_events(ledger, "succeed").await, 60);
}
