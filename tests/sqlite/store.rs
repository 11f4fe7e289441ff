//! The calls of the store, as SQLite answers them.
//!
//! Next: `feed.rs`.

use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::job::{
    Claimed, Disposition, Enqueued, Failed, Lane, LeaseRef, NewJob, Operation, Outcome, ParentLink,
    Settlement, Verdict,
};
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::store::Act;
use uuid::Uuid;

use crate::ledger::{done, good, job, ledger, producer, settled, wish};

const SOON: Duration = Duration::from_secs(60);

const fn applied(state: State, version: u32) -> Outcome {
    Outcome::Applied { state, version }
}

const fn stale(state: State, version: u32) -> Outcome {
    Outcome::Stale { state, version }
}

fn retry(claimed: &Claimed, delay: Duration) -> Settlement {
    let failure = Failed {
        class: ErrorClass::Transient,
        reason: "timeout".to_owned(),
        error: "no answer".to_owned(),
    };
    settled(claimed, Verdict::Retry { failure, delay })
}

fn child(key: &str, parent: &str) -> NewJob {
    let mut child = job(key);
    child.parent = Some(ParentLink {
        key: parent.to_owned(),
        required: true,
    });
    child
}

fn under(policy: &str, key: &str) -> NewJob {
    let mut job = job(key);
    policy.clone_into(&mut job.policy);
    job
}

#[tokio::test]
async fn a_key_is_enqueued_once_also_inside_one_batch() {
    let ledger = ledger().await;
    let (a, b) = (job("a"), job("b"));
    let enqueued = ledger.enqueue(&[a.clone(), b.clone(), job("a")]).await;
    let expected = [
        Enqueued::Created(a.id),
        Enqueued::Created(b.id),
        Enqueued::Duplicate(a.id),
    ];
    assert_eq!(enqueued, expected);
    assert_eq!(
        ledger.enqueue(&[job("b")]).await,
        [Enqueued::Duplicate(b.id)]
    );
    let row = ledger.job(b.id).await;
    assert_eq!((row.state, row.version), (State::Ready, 2));
}

#[tokio::test]
async fn an_enqueue_whose_answer_was_lost_is_recognised_and_leaves_nothing() {
    let ledger = ledger().await;
    let jobs = [job("a"), job("b")];
    let first = ledger.enqueue(&jobs).await;
    assert_eq!(ledger.enqueue(&jobs).await, first);
    assert_eq!(ledger.job(jobs[0].id).await.version, 1);
}

#[tokio::test]
async fn a_bad_job_is_named_by_its_position_and_none_is_enqueued() {
    let ledger = ledger().await;
    let first = job("a");
    let text = ledger
        .refused(&[first.clone(), under("no such policy", "b"), job("c")])
        .await;
    assert!(text.contains("job 2 of 3"), "{text}");
    assert!(
        text.contains("(key \"b\"): there is no policy \"no such policy\"; nothing was changed"),
        "{text}"
    );
    let text = ledger.refused(&[first.clone(), job("b"), job("")]).await;
    assert!(text.contains("job 3 of 3"), "{text}");
    assert_eq!(good(ledger.store.job(first.id).await), None);
}

#[tokio::test]
async fn a_parent_waits_for_children_enqueued_before_with_and_around_it() {
    let parents = [job("p0"), job("p1"), job("p2")];
    let [before, with, around] = &parents;
    let batches = [
        vec![child("a0", "p0"), child("b0", "p0")],
        vec![before.clone()],
        vec![with.clone(), child("a1", "p1"), child("b1", "p1")],
        vec![child("a2", "p2"), around.clone(), child("b2", "p2")],
    ];
    let ledger = ledger().await;
    for batch in batches {
        ledger.enqueue(&batch).await;
    }
    for parent in &parents {
        assert_eq!(ledger.job(parent.id).await.state, State::Pending);
    }
    let children = ledger.claim().await;
    assert_eq!(children.len(), 6);
    let settlements: Vec<_> = children.iter().map(done).collect();
    ledger.settle(&settlements[1..]).await;
    assert_eq!(ledger.sweep().await.parents, 2);
    ledger.settle(&settlements[..1]).await;
    assert_eq!(ledger.sweep().await.parents, 1);
    assert_eq!(ledger.claim().await.len(), 3);
    let text = ledger.refused(&[child("late", "p0")]).await;
    assert!(
        text.contains("\"p0\" does not wait for it (it is running)"),
        "{text}"
    );
}

#[tokio::test]
async fn a_repeated_settle_is_recognised_and_another_is_stale() {
    let ledger = ledger().await;
    ledger.enqueue(&[job("a"), job("b")]).await;
    let claimed = ledger.claim().await;
    let output = Verdict::Succeed {
        output_ref: Some("s3://bucket/a".to_owned()),
    };
    let settlements = [
        settled(&claimed[0], output),
        retry(&claimed[1], Duration::ZERO),
    ];
    let expected = [applied(State::Succeeded, 3), applied(State::RetryWait, 3)];
    assert_eq!(ledger.settle(&settlements).await, expected);
    ledger.sweep().await;
    assert_eq!(ledger.settle(&settlements).await, expected);
    assert_eq!(ledger.job(claimed[0].id).await.version, 3);
    let other = good(ledger.store.exchange("v", &settlements[..1], None).await);
    assert_eq!(other.outcomes, [stale(State::Succeeded, 4)]);
    let released = settled(&claimed[0], Verdict::Release);
    assert_eq!(
        ledger.settle(&[released]).await,
        [stale(State::Succeeded, 5)]
    );
    let nobodys = LeaseRef {
        job: Uuid::now_v7(),
        fence: 1,
    };
    let renewed = good(ledger.store.renew("w", &[nobodys], SOON).await);
    assert_eq!(renewed, [Outcome::NotFound]);
}

#[tokio::test]
async fn of_two_settlements_of_one_lease_the_first_is_applied() {
    let ledger = ledger().await;
    ledger.enqueue(&[job("a")]).await;
    let claimed = ledger.claim().await;
    let both = [
        done(&claimed[0]),
        settled(&claimed[0], Verdict::Release),
        done(&claimed[0]),
    ];
    let expected = [
        applied(State::Succeeded, 3),
        stale(State::Succeeded, 4),
        applied(State::Succeeded, 3),
    ];
    assert_eq!(ledger.settle(&both).await, expected);
}

#[tokio::test]
async fn budgets_are_decided_by_the_settling_statement() {
    let ledger = ledger().await;
    let mut policy = Policy::default_v1();
    "strict".clone_into(&mut policy.name);
    policy.max_attempts = 2;
    policy.max_age = SOON;
    good(ledger.store.apply_policy(&policy, &producer()).await);
    ledger
        .enqueue(&[under("strict", "a"), under("strict", "b")])
        .await;
    let claimed = ledger.claim().await;
    let too_late = retry(&claimed[0], SOON + Duration::from_millis(1));
    let in_time = retry(&claimed[1], Duration::ZERO);
    let outcomes = ledger.settle(&[too_late, in_time]).await;
    let expected = [applied(State::Dead, 3), applied(State::RetryWait, 3)];
    assert_eq!(outcomes, expected);
    assert_eq!(ledger.sweep().await.due, 1);
    let last = ledger.claim().await;
    assert_eq!(last[0].attempt, 2);
    let outcomes = ledger.settle(&[retry(&last[0], Duration::ZERO)]).await;
    assert_eq!(outcomes, [applied(State::Dead, 6)]);
}

#[tokio::test]
async fn the_same_rules_make_no_new_version_of_a_policy() {
    let ledger = ledger().await;
    let mut policy = Policy::default_v1();
    let apply = async |policy: &Policy| good(ledger.store.apply_policy(policy, &producer()).await);
    assert_eq!(apply(&policy).await, 1);
    policy.max_attempts = 3;
    assert_eq!(apply(&policy).await, 2);
    assert_eq!(apply(&policy).await, 2);
    let newest = good(ledger.store.policies().await);
    assert_eq!((newest.len(), newest[0].version), (1, 2));
    policy.max_attempts = 0;
    let error = ledger.store.apply_policy(&policy, &producer()).await;
    let text = error.expect_err("it is refused").to_string();
    assert!(text.contains("max_attempts"), "{text}");
}

#[tokio::test]
async fn a_lease_that_ran_out_is_taken_back_until_the_budget_is_spent() {
    let ledger = ledger().await;
    let mut policy = Policy::default_v1();
    policy.max_attempts = 2;
    good(ledger.store.apply_policy(&policy, &producer()).await);
    ledger.enqueue(&[job("a")]).await;
    let mut short = wish("w", 1);
    short.lease = Duration::ZERO;
    for state in [State::Ready, State::Dead] {
        let claimed = good(ledger.store.exchange("w", &[], Some(&short)).await).claimed;
        assert_eq!(ledger.sweep().await.expired, 1);
        let row = ledger.job(claimed[0].id).await;
        assert_eq!(row.state, state);
        let late = ledger.settle(&[done(&claimed[0])]).await;
        assert_eq!(late, [stale(state, row.version + 1)]);
    }
}

#[tokio::test]
async fn each_disposition_but_the_first_leaves_a_duplicate() {
    let ledger = ledger().await;
    let job = job("a");
    let begin = async || good(ledger.store.begin(job.id, "w", SOON).await);
    assert_eq!(begin().await, Disposition::NotFound);
    ledger.enqueue(std::slice::from_ref(&job)).await;
    let Disposition::Run(claimed) = begin().await else {
        panic!("it was not to be run");
    };
    assert_eq!(begin().await, Disposition::AlreadyRunning);
    ledger.settle(&[retry(&claimed, SOON)]).await;
    assert_eq!(begin().await, Disposition::AlreadyScheduled);
    assert_eq!(ledger.job(job.id).await.version, 5);
}

#[tokio::test]
async fn an_act_is_done_once_and_recognised_when_repeated() {
    let ledger = ledger().await;
    let job = job("a");
    ledger.enqueue(std::slice::from_ref(&job)).await;
    let act = |operation, version, actor: &str| Act {
        operation,
        job: job.id,
        version,
        actor: actor.to_owned(),
        note: "a customer waits".to_owned(),
    };
    let operate = async |act: Act| good(ledger.store.operate(&act).await);
    let steps = [
        (Operation::Quarantine, State::Quarantined),
        (Operation::Redrive, State::Ready),
        (Operation::Quarantine, State::Quarantined),
        (Operation::Discard, State::Discarded),
    ];
    for (seen, (operation, state)) in (1..).zip(steps) {
        let outcome = applied(state, seen + 1);
        assert_eq!(operate(act(operation, seen, "ann")).await, outcome);
        assert_eq!(operate(act(operation, seen, "ann")).await, outcome);
        let other = operate(act(operation, seen, "bob")).await;
        assert_eq!(other, stale(state, seen + 1));
    }
    let refused = Outcome::Refused {
        state: State::Discarded,
        version: 5,
    };
    assert_eq!(operate(act(Operation::Redrive, 5, "ann")).await, refused);
    assert_eq!(ledger.job(job.id).await.redrives, 1);
}

#[tokio::test]
async fn lanes_are_the_queues_and_tenants_with_ready_jobs() {
    let ledger = ledger().await;
    let lanes = [("a", "1"), ("a", "2"), ("b", ""), ("a", "1"), ("c", "x")];
    let jobs: Vec<_> = (1..)
        .zip(lanes)
        .map(|(number, (queue, tenant))| {
            let mut job = job(&format!("job {number}"));
            queue.clone_into(&mut job.queue);
            tenant.clone_into(&mut job.tenant);
            job
        })
        .collect();
    ledger.enqueue(&jobs).await;
    let named = |lanes: Vec<Lane>| -> Vec<String> {
        let name = |lane: &Lane| format!("{}/{}", lane.queue, lane.tenant);
        let mut names: Vec<_> = lanes.iter().map(name).collect();
        names.sort();
        names
    };
    let all = good(ledger.store.lanes(&[], 100).await);
    assert_eq!(named(all), ["a/1", "a/2", "b/", "c/x"]);
    let queues = ["a", "nothing", "b"].map(str::to_owned);
    let some = good(ledger.store.lanes(&queues, 100).await);
    assert_eq!(named(some), ["a/1", "a/2", "b/"]);
    assert_eq!(good(ledger.store.lanes(&[], 2).await).len(), 2);
}

#[tokio::test]
async fn a_job_that_cannot_be_read_is_set_aside_and_the_others_run() {
    let ledger = ledger().await;
    ledger.enqueue(&[job("a")]).await;
    // Legal JSON for SQLite, and too large a number for this program.
    crate::ledger::sql(
        ledger.path(),
        "INSERT INTO jobs (idempotency_key, queue, kind, payload) \
         VALUES ('huge', 'billing', 'collect', '[1e999]')",
    );
    let claimed = ledger.claim().await;
    assert_eq!(claimed.len(), 1);
    let reasons = crate::ledger::sql(
        ledger.path(),
        "SELECT state, reason FROM jobs WHERE idempotency_key = 'huge'",
    );
    assert_eq!(reasons, "quarantined|malformed");
}
