//! The usual steps of a case: enqueue a job, claim it, settle it, bring one into a state, read its
//! history.
//!
//! Each step fails the test when the ledger does not do it. Next: the files of cases.

#![expect(clippy::panic, reason = "a step that cannot be taken fails the test")]

use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{
    Actor, Claimed, Enqueued, Failed, JobRow, Lane, LeaseRef, NewJob, Operation, Outcome,
    Settlement, Verdict,
};
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::store::{Act, ClaimRequest, LaneShare, Store};
use uuid::Uuid;

use crate::ledger::Ledger;

pub(crate) const QUEUE: &str = "thumbnails";
pub(crate) const WORKER: &str = "worker-1";
pub(crate) const OPERATOR: &str = "an operator";
/// Long enough for any case.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// The name of a policy of one attempt; see [`one_attempt`].
pub(crate) const ONCE: &str = "once";

pub(crate) fn producer() -> Actor {
    Actor {
        kind: ActorKind::Producer,
        name: "a producer".to_owned(),
    }
}

/// A job with that key in the queue [`QUEUE`].
pub(crate) fn job(key: &str) -> NewJob {
    NewJob::new(Uuid::now_v7(), QUEUE, "render", key)
}

pub(crate) fn failed(reason: &str) -> Failed {
    Failed {
        class: ErrorClass::Transient,
        reason: reason.to_owned(),
        error: "it took too long".to_owned(),
    }
}

pub(crate) fn retry(delay: Duration) -> Verdict {
    Verdict::Retry {
        failure: failed("timeout"),
        delay,
    }
}

pub(crate) const fn succeed() -> Verdict {
    Verdict::Succeed { output_ref: None }
}

pub(crate) fn reject() -> Verdict {
    Verdict::Reject {
        failure: Failed {
            class: ErrorClass::Permanent,
            ..failed("malformed")
        },
    }
}

pub(crate) fn claim_of(worker: &str, limit: u32, lease: Duration) -> ClaimRequest {
    ClaimRequest {
        worker: worker.to_owned(),
        lease,
        shares: vec![LaneShare {
            lane: Lane {
                queue: QUEUE.to_owned(),
                tenant: String::new(),
            },
            limit,
        }],
    }
}

/// Adds the policy [`ONCE`], under which the first failure is the last.
pub(crate) async fn one_attempt(ledger: &Ledger) {
    let policy = Policy {
        name: ONCE.to_owned(),
        max_attempts: 1,
        ..Policy::default_v1()
    };
    let store = ledger.store().await;
    store
        .apply_policy(&policy, &producer())
        .await
        .unwrap_or_else(|error| panic!("{error}"));
}

pub(crate) async fn enqueue(ledger: &Ledger, jobs: &[NewJob]) -> Vec<Enqueued> {
    let store = ledger.store().await;
    store
        .enqueue(jobs, &producer())
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Enqueues one job with that key; its id.
pub(crate) async fn enqueue_one(ledger: &Ledger, key: &str) -> Uuid {
    enqueue_as(ledger, job(key)).await
}

pub(crate) async fn enqueue_as(ledger: &Ledger, job: NewJob) -> Uuid {
    match enqueue(ledger, &[job]).await.as_slice() {
        [Enqueued::Created(id)] => *id,
        other => panic!("not created: {other:?}"),
    }
}

pub(crate) async fn claim(store: &dyn Store, worker: &str, limit: u32) -> Vec<Claimed> {
    claim_for(store, worker, limit, LEASE).await
}

pub(crate) async fn claim_for(
    store: &dyn Store,
    worker: &str,
    limit: u32,
    lease: Duration,
) -> Vec<Claimed> {
    let request = claim_of(worker, limit, lease);
    store
        .exchange(worker, &[], Some(&request))
        .await
        .unwrap_or_else(|error| panic!("{error}"))
        .claimed
}

/// Claims the oldest ready job of a queue.
pub(crate) async fn claim_in(ledger: &Ledger, queue: &str, lease: Duration) -> Claimed {
    let mut request = claim_of(WORKER, 1, lease);
    queue.clone_into(&mut request.shares[0].lane.queue);
    let store = ledger.store().await;
    let claimed = store
        .exchange(WORKER, &[], Some(&request))
        .await
        .unwrap_or_else(|error| panic!("{error}"))
        .claimed;
    match claimed.as_slice() {
        [one] => one.clone(),
        other => panic!(
            "one job of '{queue}' was to be claimed, not {}",
            other.len()
        ),
    }
}

/// Claims the one job that is ready.
pub(crate) async fn claim_one(ledger: &Ledger) -> Claimed {
    let claimed = claim(ledger.store().await, WORKER, 2).await;
    match claimed.as_slice() {
        [one] => one.clone(),
        other => panic!("one job was to be claimed, not {}", other.len()),
    }
}

pub(crate) const fn lease_of(claimed: &Claimed) -> LeaseRef {
    LeaseRef {
        job: claimed.id,
        fence: claimed.fence,
    }
}

pub(crate) async fn settle_as(
    ledger: &Ledger,
    worker: &str,
    lease: LeaseRef,
    verdict: Verdict,
) -> Outcome {
    let settlement = Settlement { lease, verdict };
    let exchanged = ledger
        .store()
        .await
        .exchange(worker, &[settlement], None)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    match exchanged.outcomes.as_slice() {
        [outcome] => *outcome,
        other => panic!("one settlement, {} outcomes", other.len()),
    }
}

pub(crate) async fn settle(ledger: &Ledger, claimed: &Claimed, verdict: Verdict) -> Outcome {
    settle_as(ledger, WORKER, lease_of(claimed), verdict).await
}

pub(crate) async fn operate(ledger: &Ledger, job: Uuid, operation: Operation) -> Outcome {
    let act = act(ledger, job, operation).await;
    operate_as(ledger, &act).await
}

/// An act on the job as it is now.
pub(crate) async fn act(ledger: &Ledger, job: Uuid, operation: Operation) -> Act {
    Act {
        operation,
        job,
        version: read(ledger, job).await.version,
        actor: OPERATOR.to_owned(),
        note: format!("because {operation:?}"),
    }
}

pub(crate) async fn operate_as(ledger: &Ledger, act: &Act) -> Outcome {
    let store = ledger.store().await;
    store
        .operate(act)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The job as it is.
pub(crate) async fn read(ledger: &Ledger, job: Uuid) -> JobRow {
    let store = ledger.store().await;
    store
        .job(job)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
        .unwrap_or_else(|| panic!("job {job} is gone"))
}

/// Sweeps until nothing is left to do.
pub(crate) async fn sweep(ledger: &Ledger) {
    let store = ledger.store().await;
    loop {
        let swept = store
            .sweep("housekeeping", 100)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        if swept.is_empty() {
            return;
        }
    }
}

/// Sweeps until the job has left its state. The wait is for the database's clock, which nothing
/// else moves on.
pub(crate) async fn sweep_until_moved(ledger: &Ledger, job: Uuid) {
    let before = read(ledger, job).await.version;
    for _each in 0..2_000 {
        sweep(ledger).await;
        if read(ledger, job).await.version > before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("job {job} was never moved");
}

/// The names of the job's events, oldest first.
pub(crate) async fn history(ledger: &Ledger, job: Uuid) -> Vec<String> {
    let query = format!("SELECT event FROM job_events WHERE job_id = '{job}' ORDER BY version");
    let rows = ledger.rows(&query).await;
    rows.into_iter().flatten().flatten().collect()
}

/// How many events of that name there are.
pub(crate) async fn count_events(ledger: &Ledger, event: &str) -> String {
    let query = format!("SELECT CAST(count(*) AS text) FROM job_events WHERE event = '{event}'");
    ledger.value(&query).await
}

/// A fresh job, brought into `state` by legal moves. [`one_attempt`] must have been called.
pub(crate) async fn job_in(ledger: &Ledger, state: State) -> Uuid {
    let key = Uuid::now_v7().to_string();
    let mut new = job(&key);
    // Alone in its queue, so that the claim takes this one.
    new.queue.clone_from(&key);
    new.policy = match state {
        State::Dead | State::Discarded => ONCE.to_owned(),
        State::Pending
        | State::Ready
        | State::Running
        | State::RetryWait
        | State::Succeeded
        | State::Quarantined => new.policy,
    };
    if state == State::Pending {
        new.awaits_children = true;
    }
    let id = enqueue_as(ledger, new).await;
    if matches!(state, State::Pending | State::Ready) {
        return id;
    }
    let claimed = claim_in(ledger, &key, LEASE).await;
    let verdict = match state {
        State::Pending | State::Ready | State::Running => return id,
        State::RetryWait => retry(Duration::from_secs(3_600)),
        State::Succeeded => succeed(),
        State::Dead | State::Discarded => retry(Duration::ZERO),
        State::Quarantined => reject(),
    };
    settle(ledger, &claimed, verdict).await;
    if state == State::Discarded {
        operate(ledger, id, Operation::Discard).await;
    }
    assert_eq!(read(ledger, id).await.state, state);
    id
}
