//! Leases: renewed, run out, taken back, revoked; and deliveries that come in between.
//!
//! Next: `operate.rs`, what people do.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what a case does not find fails it"
)]

use std::time::Duration;

use ledgertop::ledger::job::{Disposition, LeaseRef, Operation, Outcome, Verdict};
use ledgertop::ledger::state::State;
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::*;

pub(crate) async fn a_renewal_moves_the_lease_and_a_stale_one_is_recorded(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let store = ledger.store().await;
    let held = claim_for(store, WORKER, 1, Duration::from_secs(5)).await;
    let lease = lease_of(&held[0]);
    let other = LeaseRef {
        job: Uuid::now_v7(),
        fence: 1,
    };
    let outcomes = store
        .renew(WORKER, &[other, lease], LEASE)
        .await
        .expect("renewed");
    let applied = Outcome::Applied {
        state: State::Running,
        version: 3,
    };
    assert_eq!(outcomes, [Outcome::NotFound, applied]);
    // A shorter one never takes time away.
    store
        .renew(WORKER, &[lease], Duration::ZERO)
        .await
        .expect("renewed");
    sweep(ledger).await;
    assert_eq!(read(ledger, id).await.state, State::Running);
    settle(ledger, &held[0], succeed()).await;
    let outcomes = store
        .renew(WORKER, &[lease], LEASE)
        .await
        .expect("answered");
    assert_eq!(
        outcomes,
        [Outcome::Stale {
            state: State::Succeeded,
            version: 6
        }]
    );
    let events = [
        "enqueue",
        "claim",
        "renew",
        "renew",
        "succeed",
        "stale_refused",
    ];
    assert_eq!(history(ledger, id).await, events);
    let outcomes = store
        .renew("another", &[lease], LEASE)
        .await
        .expect("answered");
    assert!(
        matches!(outcomes[..], [Outcome::Stale { .. }]),
        "{outcomes:?}"
    );
}

pub(crate) async fn a_lease_that_ran_out_is_taken_back_or_ends_the_job(ledger: &Ledger) {
    one_attempt(ledger).await;
    let many = enqueue_one(ledger, "many").await;
    let mut new = job("once");
    ONCE.clone_into(&mut new.policy);
    let once = enqueue_as(ledger, new).await;
    let running = enqueue_one(ledger, "running").await;
    let store = ledger.store().await;
    claim_for(store, WORKER, 2, Duration::ZERO).await;
    claim(store, WORKER, 1).await;
    let swept = store.sweep("housekeeping", 100).await.expect("swept");
    assert_eq!((swept.due, swept.expired, swept.parents), (0, 2, 0));
    assert_eq!(read(ledger, many).await.state, State::Ready);
    assert_eq!(read(ledger, once).await.state, State::Dead);
    assert_eq!(read(ledger, running).await.state, State::Running);
    let why = format!(
        "SELECT error_class || ' ' || reason || ' ' || actor_kind || ' ' || actor || ' ' || worker \
         FROM job_events WHERE job_id = '{once}' AND version = 3"
    );
    let expected = "transient lease_expired system housekeeping worker-1";
    assert_eq!(ledger.value(&why).await, expected);
}

pub(crate) async fn a_sweep_moves_no_more_than_its_limit(ledger: &Ledger) {
    let batch: Vec<_> = (0..7).map(|number| job(&number.to_string())).collect();
    enqueue(ledger, &batch).await;
    let store = ledger.store().await;
    claim_for(store, WORKER, 7, Duration::ZERO).await;
    let mut expired = Vec::new();
    for _sweep in 0..4 {
        expired.push(store.sweep("housekeeping", 3).await.expect("swept").expired);
    }
    assert_eq!(expired, [3, 3, 1, 0]);
}

pub(crate) async fn sweeps_at_once_share_the_work(ledger: &Ledger) {
    let batch: Vec<_> = (0..200).map(|number| job(&number.to_string())).collect();
    enqueue(ledger, &batch).await;
    claim_for(ledger.store().await, WORKER, 200, Duration::ZERO).await;
    let mut sweepers = Vec::new();
    for _process in 0..6 {
        let store = ledger.another_store().await;
        sweepers.push(tokio::spawn(async move {
            let mut expired = 0;
            loop {
                let swept = store.sweep("housekeeping", 20).await.expect("swept");
                expired += swept.expired;
                if swept.is_empty() {
                    return expired;
                }
            }
        }));
    }
    let mut expired = 0;
    for sweeper in sweepers {
        expired += sweeper.await.expect("no panic");
    }
    // One may find all rows held by the others and stop early; none is moved twice.
    assert_eq!(expired, 200);
    assert_eq!(count_events(ledger, "lease_expire").await, "200");
}

pub(crate) async fn a_delivery_learns_what_to_do_with_it(ledger: &Ledger) {
    one_attempt(ledger).await;
    let store = ledger.store().await;
    let ready = job_in(ledger, State::Ready).await;
    let begun = store.begin(ready, WORKER, LEASE).await.expect("begun");
    let Disposition::Run(claimed) = begun else {
        panic!("it was ready, not {begun:?}");
    };
    assert_eq!((claimed.id, claimed.attempt, claimed.fence), (ready, 1, 1));
    let again = store
        .begin(ready, "another", LEASE)
        .await
        .expect("answered");
    assert_eq!(again, Disposition::AlreadyRunning);
    for (state, expected) in [
        (State::Pending, Disposition::AlreadyScheduled),
        (State::RetryWait, Disposition::AlreadyScheduled),
        (State::Running, Disposition::AlreadyRunning),
        (State::Succeeded, Disposition::AlreadySucceeded),
        (State::Dead, Disposition::SetAside(State::Dead)),
        (
            State::Quarantined,
            Disposition::SetAside(State::Quarantined),
        ),
        (State::Discarded, Disposition::SetAside(State::Discarded)),
    ] {
        let id = job_in(ledger, state).await;
        let before = read(ledger, id).await.version;
        let answer = store.begin(id, WORKER, LEASE).await.expect("answered");
        assert_eq!(answer, expected, "{state}");
        let row = read(ledger, id).await;
        assert_eq!((row.state, row.version), (state, before + 1));
        assert_eq!(
            history(ledger, id).await.last().map(String::as_str),
            Some("duplicate")
        );
    }
    let answer = store
        .begin(Uuid::now_v7(), WORKER, LEASE)
        .await
        .expect("answered");
    assert_eq!(answer, Disposition::NotFound);
}

pub(crate) async fn of_many_deliveries_of_one_job_one_runs_it(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let mut deliveries = Vec::new();
    for number in 0..12 {
        let store = ledger.another_store().await;
        deliveries.push(tokio::spawn(async move {
            store
                .begin(id, &format!("worker-{number}"), LEASE)
                .await
                .expect("answered")
        }));
    }
    let mut run = 0;
    for delivery in deliveries {
        match delivery.await.expect("no panic") {
            Disposition::Run(_) => run += 1,
            other => assert_eq!(other, Disposition::AlreadyRunning),
        }
    }
    assert_eq!(run, 1);
    assert_eq!(count_events(ledger, "duplicate").await, "11");
}

pub(crate) async fn a_revoked_job_refuses_its_late_result(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let held = claim_one(ledger).await;
    operate(ledger, id, Operation::Revoke).await;
    let outcome = settle(ledger, &held, succeed()).await;
    assert_eq!(
        outcome,
        Outcome::Stale {
            state: State::Quarantined,
            version: 4
        }
    );
    assert_eq!(read(ledger, id).await.fence, 2);
}

pub(crate) async fn what_a_worker_holds_is_told_as_its_claim_was(ledger: &Ledger) {
    let store = ledger.store().await;
    assert_eq!(store.held(WORKER, 10).await.expect("told"), []);
    let batch: Vec<_> = ["a", "b", "c", "d", "e"].map(job).into();
    enqueue(ledger, &batch).await;
    let over = claim_for(store, WORKER, 1, Duration::ZERO).await;
    let mine = claim(store, WORKER, 3).await;
    claim(store, "worker-10", 1).await;
    settle(ledger, &mine[2], succeed()).await;

    // Not the one whose lease is over, not the one that is settled, not another worker's.
    let held = store.held(WORKER, 10).await.expect("told");
    assert_eq!(held, mine[..2], "beside {over:?}");
    assert_eq!(store.held(WORKER, 1).await.expect("told"), mine[..1]);
    let renewed = store.renew(WORKER, &[lease_of(&mine[0])], 2 * LEASE).await;
    renewed.expect("renewed");
    let held = store.held(WORKER, 10).await.expect("told");
    let order: Vec<_> = held.iter().map(|job| job.id).collect();
    assert_eq!(order, [mine[1].id, mine[0].id], "the first to end leads");
    assert_eq!(held[1].claimed_at, mine[0].claimed_at);
    // What is told can be settled.
    settle(ledger, &held[1], succeed()).await;
    assert_eq!(read(ledger, mine[0].id).await.state, State::Succeeded);
}

pub(crate) async fn an_attempt_that_nobody_settled_is_counted_and_stays_counted(ledger: &Ledger) {
    one_attempt(ledger).await;
    let store = ledger.store().await;
    let id = enqueue_one(ledger, "a").await;
    let late = claim_for(store, WORKER, 1, Duration::ZERO).await;
    sweep_until_moved(ledger, id).await;
    assert_eq!(unsettled(ledger, id).await, "1", "its lease ran out");
    // A late answer is refused, so it tells nothing for certain.
    settle(ledger, &late[0], succeed()).await;
    claim_one(ledger).await;
    operate(ledger, id, Operation::Revoke).await;
    assert_eq!(unsettled(ledger, id).await, "2", "it was revoked");
    operate(ledger, id, Operation::Redrive).await;
    let held = claim_one(ledger).await;
    settle(ledger, &held, retry(Duration::ZERO)).await;
    sweep_until_moved(ledger, id).await;
    let held = claim_one(ledger).await;
    settle(ledger, &held, Verdict::Release).await;
    let held = claim_one(ledger).await;
    settle(ledger, &held, succeed()).await;
    assert_eq!(
        unsettled(ledger, id).await,
        "2",
        "settled attempts do not count"
    );

    let mut once = job("once");
    ONCE.clone_into(&mut once.policy);
    let once = enqueue_as(ledger, once).await;
    claim_for(store, WORKER, 1, Duration::ZERO).await;
    sweep_until_moved(ledger, once).await;
    assert_eq!(read(ledger, once).await.state, State::Dead);
    assert_eq!(
        unsettled(ledger, once).await,
        "1",
        "the last attempt counts"
    );
}

pub(crate) async fn sql_by_hand_counts_an_unsettled_attempt_without_saying_so(ledger: &Ledger) {
    one_attempt(ledger).await;
    let mut new = job("once");
    ONCE.clone_into(&mut new.policy);
    let id = enqueue_as(ledger, new).await;
    claim(ledger.store().await, WORKER, 1).await;
    let exhaust = |more: &str| {
        format!(
            "UPDATE jobs SET event = 'exhaust', state = 'dead', actor_kind = 'system', \
             actor = 'a script', error_class = 'unknown', reason = 'unclassified', \
             version = version + 1{more} WHERE id = '{id}'"
        )
    };
    let two = ledger.sql(&exhaust(", unsettled = unsettled + 2")).await;
    let said = two.expect_err("one attempt counts once");
    assert!(said.contains("unsettled"), "{said}");
    let done = ledger.sql(&exhaust("")).await;
    done.expect("the triggers fill it in");
    assert_eq!(unsettled(ledger, id).await, "1");
    let insert = "INSERT INTO jobs (idempotency_key, queue, kind, unsettled) \
                  VALUES ('new', 'q', 'k', 1)";
    let said = ledger.sql(insert).await.expect_err("a new job has none");
    assert!(said.contains("unsettled"), "{said}");
}

async fn unsettled(ledger: &Ledger, job: Uuid) -> String {
    let query = format!("SELECT CAST(unsettled AS text) FROM jobs WHERE id = '{job}'");
    ledger.value(&query).await
}

pub(crate) async fn a_job_given_back_wakes_whoever_waits(ledger: &Ledger) {
    enqueue_one(ledger, "a").await;
    let waiting = ledger.another_store().await;
    waiting.wait_for_hint(Duration::from_millis(300)).await;
    let waiter = tokio::spawn(async move {
        let began = tokio::time::Instant::now();
        waiting.wait_for_hint(Duration::from_secs(20)).await;
        began.elapsed()
    });
    for _ in 0..50 {
        let held = claim_one(ledger).await;
        settle(ledger, &held, Verdict::Release).await;
        if waiter.is_finished() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let elapsed = waiter.await.expect("no panic");
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
}

pub(crate) async fn a_hint_wakes_whoever_waits(ledger: &Ledger) {
    let waiting = ledger.another_store().await;
    // The first wait may return at once or time out; after it the listener is up.
    waiting.wait_for_hint(Duration::from_millis(300)).await;
    let waiter = tokio::spawn(async move {
        let began = tokio::time::Instant::now();
        // Other hints may come first; the deadline of the whole is what tells.
        waiting.wait_for_hint(Duration::from_secs(20)).await;
        began.elapsed()
    });
    for number in 0..50 {
        enqueue_one(ledger, &number.to_string()).await;
        if waiter.is_finished() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let elapsed = waiter.await.expect("no panic");
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
}
