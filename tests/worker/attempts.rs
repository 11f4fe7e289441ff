//! What follows an attempt: budgets, waits, classes, families.
//!
//! Next: `leases.rs`, what happens when an attempt and its worker part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::job::{NewJob, ParentLink};
use ledgertop::ledger::policy::OnUnknown;
use ledgertop::ledger::state::State;
use ledgertop::worker::HandlerError;
use uuid::Uuid;

use crate::bench::{
    Housekeeper, done, enqueue, enqueue_under, events, handlers, job, open, options, policy, row,
    start, until_state,
};
use crate::ledger::Ledger;

pub(crate) async fn a_job_is_run_once_and_settled_with_its_output(ledger: &Ledger) {
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let handlers = handlers(|job| async move { done(&format!("out/{}", job.idempotency_key)) });
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    let row = until_state(store.as_ref(), id, State::Succeeded).await;
    let tally = worker.stop().await;
    assert_eq!(row.output_ref, Some("out/image_1".into()));
    assert_eq!((row.attempt, tally.claimed, tally.succeeded), (1, 1, 1));
    assert_eq!(events(ledger, id).await, ["enqueue", "claim", "succeed"]);
}

pub(crate) async fn a_budget_of_three_attempts_ends_dead_after_exactly_three(ledger: &Ledger) {
    let store = open(ledger).await;
    policy(store.as_ref(), "three", |_| {}).await;
    let id = enqueue_under(store.as_ref(), "image_1", "three").await;
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let handlers = handlers(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Err(HandlerError::known("connection_refused", "port 443")) }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    let row = until_state(store.as_ref(), id, State::Dead).await;
    let tally = worker.stop().await;
    assert_eq!((row.attempt, runs.load(Ordering::SeqCst)), (3, 3));
    assert_eq!((tally.retried, tally.exhausted), (2, 1));
    assert_eq!(
        events(ledger, id).await,
        [
            "enqueue", "claim", "retry", "due", "claim", "retry", "due", "claim", "exhaust"
        ]
    );
}

pub(crate) async fn retry_after_is_a_floor_under_the_wait(ledger: &Ledger) {
    let store = open(ledger).await;
    policy(store.as_ref(), "short", |_| {}).await;
    policy(store.as_ref(), "clipped", |policy| {
        policy.retry_after_cap = Duration::from_secs(30);
    })
    .await;
    let asked = enqueue_under(store.as_ref(), "image_1", "short").await;
    let clipped = enqueue_under(store.as_ref(), "image_2", "clipped").await;
    let handlers = handlers(|_| async {
        let minutes = Duration::from_mins(5);
        Err(HandlerError::known("rate_limited", "429").retry_after(minutes))
    });
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    for (job, least, most) in [(asked, 300, 301), (clipped, 30, 31)] {
        let row = until_state(store.as_ref(), job, State::RetryWait).await;
        let wait = row.available_at.since(row.state_since);
        assert!(wait >= Duration::from_secs(least), "{wait:?}");
        assert!(wait <= Duration::from_secs(most), "{wait:?}");
    }
    worker.stop().await;
}

pub(crate) async fn a_permanent_failure_is_quarantined_with_its_first_attempt(ledger: &Ledger) {
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let handlers = handlers(|_| async {
        Err(HandlerError::known(
            "schema_violation",
            "no field 'amount_cents'",
        ))
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    let row = until_state(store.as_ref(), id, State::Quarantined).await;
    let tally = worker.stop().await;
    assert_eq!((row.attempt, tally.rejected, tally.claimed), (1, 1, 1));
    assert_eq!(events(ledger, id).await, ["enqueue", "claim", "reject"]);
}

pub(crate) async fn an_unknown_failure_is_held_until_its_lease_ends_where_the_policy_says_so(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    policy(store.as_ref(), "held", |policy| {
        policy.on_unknown = OnUnknown::Hold;
    })
    .await;
    let id = enqueue_under(store.as_ref(), "invoice_184", "held").await;
    let handlers = handlers(|job| async move {
        if job.attempt == 1 {
            let odd = HandlerError::known("odd_code", "the provider said PENDING_REVIEW_7");
            assert_eq!(odd.class, ErrorClass::Unknown);
            Err(odd)
        } else {
            done("collected")
        }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    until_state(store.as_ref(), id, State::Succeeded).await;
    let tally = worker.stop().await;
    assert_eq!((tally.held, tally.succeeded), (1, 1));
    assert_eq!(
        events(ledger, id).await,
        ["enqueue", "claim", "lease_expire", "claim", "succeed"]
    );
}

pub(crate) async fn panics_and_timeouts_are_typed_and_harm_no_other_job(ledger: &Ledger) {
    let store = open(ledger).await;
    let ids = enqueue(
        store.as_ref(),
        &[job("panics"), job("hangs"), job("works"), job("nul")],
    )
    .await;
    let handlers = handlers(|job| async move {
        match job.idempotency_key.as_str() {
            "panics" => panic!("at the disco"),
            "hangs" => std::future::pending().await,
            "nul" => Err(HandlerError::known("Bad Reason", "zero \0 byte")),
            _ => done("out"),
        }
    });
    let options = ledgertop::worker::WorkerOptions {
        timeout: Duration::from_millis(150),
        ..options("w1")
    };
    let worker = start(Arc::clone(&store), handlers, options);
    until_state(store.as_ref(), ids[2], State::Succeeded).await;
    for (id, failure) in [
        (ids[0], "unknown/panic"),
        (ids[1], "transient/timeout"),
        (ids[3], "unknown/unclassified"),
    ] {
        until_state(store.as_ref(), id, State::RetryWait).await;
        let query = format!("SELECT error_class || '/' || reason FROM jobs WHERE id = '{id}'");
        assert_eq!(ledger.value(&query).await, failure);
    }
    worker.stop().await;
}

pub(crate) async fn a_parent_that_failed_is_retried_like_any_other_job(ledger: &Ledger) {
    let store = open(ledger).await;
    policy(store.as_ref(), "default", |_| {}).await;
    let parent = NewJob {
        awaits_children: true,
        ..job("digest")
    };
    let id = enqueue(store.as_ref(), &[parent]).await[0];
    let handlers = handlers(|job| async move {
        if job.attempt < 3 {
            Err(HandlerError::known("connection_lost", "reset by peer"))
        } else {
            done("sent")
        }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let worker = start(Arc::clone(&store), handlers, options("w1"));
    let row = until_state(store.as_ref(), id, State::Succeeded).await;
    worker.stop().await;
    assert_eq!(row.attempt, 3);
}

pub(crate) async fn a_parent_waits_for_its_required_children_and_for_no_other(ledger: &Ledger) {
    let store = open(ledger).await;
    let child = |key: &str, required| NewJob {
        parent: Some(ParentLink {
            key: "digest".to_owned(),
            required,
        }),
        ..job(key)
    };
    let parent = NewJob {
        awaits_children: true,
        ..job("digest")
    };
    let family = [
        parent,
        child("chart_1", true),
        child("chart_2", true),
        child("extra", false),
    ];
    let ids = enqueue(store.as_ref(), &family).await;
    // The optional child never ends while the case lasts; one required child fails once first.
    policy(store.as_ref(), "default", |_| {}).await;
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let handlers = handlers(move |job| {
        let noted = Arc::clone(&noted);
        async move {
            let key = job.idempotency_key.clone();
            if key == "extra" {
                std::future::pending::<()>().await;
            }
            noted.lock().expect("no holder panics").push(key.clone());
            done(&key)
        }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    assert_eq!(row(store.as_ref(), ids[0]).await.state, State::Pending);
    let options = ledgertop::worker::WorkerOptions {
        grace: Duration::ZERO,
        ..options("w1")
    };
    let worker = start(Arc::clone(&store), handlers, options);
    until_state(store.as_ref(), ids[0], State::Succeeded).await;
    worker.stop().await;
    let order = order.lock().expect("no holder panics").clone();
    assert_eq!(order.last().map(String::as_str), Some("digest"));
    assert_eq!(order.len(), 3);
    assert_eq!(
        events(ledger, ids[0]).await,
        ["enqueue", "children_done", "claim", "succeed"]
    );
    let extra: Uuid = ids[3];
    assert_eq!(row(store.as_ref(), extra).await.state, State::Ready);
}
