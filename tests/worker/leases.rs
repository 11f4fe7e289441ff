//! What happens when an attempt and its worker part: long handlers, deaths, late results,
//! shutdowns.
//!
//! Next: `faults.rs`, what happens when worker and ledger part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ledgertop::ledger::job::{Operation, Outcome};
use ledgertop::ledger::state::State;
use ledgertop::store::{Act, Store};
use ledgertop::worker::WorkerOptions;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::bench::{
    Housekeeper, count_events, done, enqueue, enqueue_under, events, handlers, job, open, options,
    policy, row, start, until, until_state,
};
use crate::faulty::{Faulty, Way};
use crate::ledger::Ledger;

pub(crate) async fn a_handler_ten_leases_long_keeps_its_job(ledger: &Ledger) {
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("film_1")]).await[0];
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let lease = Duration::from_secs(1);
    let handlers = handlers(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            sleep(lease * 10).await;
            done("rendered")
        }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let option = |name| WorkerOptions {
        lease,
        ..options(name)
    };
    let one = start(Arc::clone(&store), handlers.clone(), option("w1"));
    let two = start(open(ledger).await, handlers, option("w2"));
    until_state(store.as_ref(), id, State::Succeeded).await;
    let (one, two) = (one.stop().await, two.stop().await);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(one.succeeded + two.succeeded, 1);
    assert!(one.renewed + two.renewed >= 10, "{one:?} {two:?}");
    assert_eq!(count_events(ledger, "lease_expire").await, 0);
    assert_eq!(count_events(ledger, "stale_refused").await, 0);
}

pub(crate) async fn a_worker_that_dies_leaves_its_jobs_to_the_next(ledger: &Ledger) {
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let never = handlers(|_| std::future::pending());
    let first = start(open(ledger).await, never, options("dies"));
    until_state(store.as_ref(), id, State::Running).await;
    first.shutdown.at_once.cancel();
    first.ended().await;
    let next = handlers(|_| async { done("by the next") });
    let second = start(Arc::clone(&store), next, options("next"));
    let row = until_state(store.as_ref(), id, State::Succeeded).await;
    second.stop().await;
    assert_eq!((row.attempt, row.fence), (2, 2));
    assert_eq!(
        events(ledger, id).await,
        ["enqueue", "claim", "lease_expire", "claim", "succeed"]
    );
}

pub(crate) async fn a_job_that_kills_every_worker_is_dead_after_exactly_its_budget(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    policy(store.as_ref(), "three", |_| {}).await;
    let id = enqueue_under(store.as_ref(), "poison", "three").await;
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    for attempt in 1..=3 {
        let never = handlers(|_| std::future::pending());
        let worker = start(open(ledger).await, never, options(&format!("w{attempt}")));
        let row = until_state(store.as_ref(), id, State::Running).await;
        assert_eq!(row.attempt, attempt);
        worker.shutdown.at_once.cancel();
        worker.ended().await;
        let next = if attempt == 3 {
            State::Dead
        } else {
            State::Ready
        };
        until_state(store.as_ref(), id, next).await;
    }
    assert_eq!(
        events(ledger, id).await,
        [
            "enqueue",
            "claim",
            "lease_expire",
            "claim",
            "lease_expire",
            "claim",
            "lease_expire"
        ]
    );
}

pub(crate) async fn a_late_result_is_refused_and_recorded(ledger: &Ledger) {
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    // The first worker's way to the ledger is cut while its handler runs; the handler ends well.
    let far = Arc::new(Faulty::new(open(ledger).await));
    let finish = Arc::new(Notify::new());
    let told = Arc::clone(&finish);
    let slow = handlers(move |_| {
        let told = Arc::clone(&told);
        async move {
            told.notified().await;
            done("too late")
        }
    });
    let first = start(Arc::clone(&far) as Arc<dyn Store>, slow, options("cut off"));
    until_state(store.as_ref(), id, State::Running).await;
    far.set(Way::Hangs);
    finish.notify_one();
    let quick = handlers(|_| async { done("in time") });
    let second = start(Arc::clone(&store), quick, options("next"));
    until_state(store.as_ref(), id, State::Succeeded).await;
    far.set(Way::Open);
    until("the refusal", || far.answered() > 0).await;
    let (first, _second) = (first.stop().await, second.stop().await);
    assert_eq!(first.succeeded, 0);
    assert_eq!(first.stale + first.lost, 1, "{first:?}");
    let row = row(store.as_ref(), id).await;
    assert_eq!(row.output_ref, Some("in time".into()));
    assert_eq!(
        events(ledger, id).await,
        [
            "enqueue",
            "claim",
            "lease_expire",
            "claim",
            "succeed",
            "stale_refused"
        ]
    );
}

pub(crate) async fn a_shutdown_finishes_what_it_can_and_gives_back_the_rest_with_its_attempt(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    let ids = enqueue(store.as_ref(), &[job("ends"), job("never ends")]).await;
    let finish = Arc::new(Notify::new());
    let told = Arc::clone(&finish);
    let handlers = handlers(move |job| {
        let told = Arc::clone(&told);
        async move {
            if job.idempotency_key == "never ends" {
                std::future::pending::<()>().await;
            }
            told.notified().await;
            done("in the grace")
        }
    });
    let options = WorkerOptions {
        grace: Duration::from_millis(600),
        ..options("w1")
    };
    let worker = start(Arc::clone(&store), handlers, options);
    until_state(store.as_ref(), ids[0], State::Running).await;
    until_state(store.as_ref(), ids[1], State::Running).await;
    worker.shutdown.gently.cancel();
    let more = enqueue(store.as_ref(), &[job("comes too late")]).await[0];
    finish.notify_one();
    let tally = worker.ended().await;
    assert_eq!((tally.succeeded, tally.released), (1, 1));
    assert_eq!(row(store.as_ref(), ids[0]).await.state, State::Succeeded);
    let given_back = row(store.as_ref(), ids[1]).await;
    assert_eq!((given_back.state, given_back.attempt), (State::Ready, 0));
    let untouched = row(store.as_ref(), more).await;
    assert_eq!((untouched.state, untouched.attempt), (State::Ready, 0));
}

pub(crate) async fn a_revoked_job_stops_its_handler(ledger: &Ledger) {
    struct Dropped(Arc<AtomicU32>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let stopped = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&stopped);
    let handlers = handlers(move |_| {
        let guard = Dropped(Arc::clone(&seen));
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    let version = until_state(store.as_ref(), id, State::Running)
        .await
        .version;
    let act = |version| Act {
        operation: Operation::Revoke,
        job: id,
        version,
        actor: "op".to_owned(),
        note: "wrong tenant".to_owned(),
    };
    // A renewal may come between the look and the act: then the act is stale, and is made again.
    let mut outcome = store.operate(&act(version)).await.expect("an answer");
    while let Outcome::Stale { version, .. } = outcome {
        outcome = store.operate(&act(version)).await.expect("an answer");
    }
    until("the handler's end", || stopped.load(Ordering::SeqCst) == 1).await;
    let tally = worker.stop().await;
    assert_eq!((tally.lost, tally.stale, tally.succeeded), (1, 0, 0));
    assert_eq!(row(store.as_ref(), id).await.state, State::Quarantined);
    assert_eq!(count_events(ledger, "stale_refused").await, 1);
}
