//! S5: the answer is lost after everything was done. Asking again changes nothing and tells the
//! true outcome.
//!
//! Each call is made through the proxy, which swallows the answer to the statement that made the
//! change durable, once by cutting the connection and once by saying nothing until the caller's
//! deadline. Next: `hangs.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ledgertop::ledger::job::{
    Actor, Claimed, Enqueued, LeaseRef, NewJob, Operation, Outcome, Settlement, Verdict,
};
use ledgertop::ledger::state::State;
use ledgertop::store::{Act, ClaimRequest, LaneShare, Store, StoreError};
use uuid::Uuid;

use crate::bench::{events, job, open, row, until_state};
use crate::ledger::Ledger;
use crate::process::{Worker, verify};
use crate::proxy::{Act as Fault, Moment, Proxy};

/// How long the store waits for a statement: short, because some answers never come.
const PATIENCE: Duration = Duration::from_secs(1);

/// A store behind the proxy.
pub(crate) struct Far {
    pub(crate) proxy: Proxy,
    pub(crate) store: Arc<dyn Store>,
}

pub(crate) async fn far(ledger: &Ledger, patience: Duration) -> Far {
    let proxy = Proxy::before(ledger).await;
    let store = proxy.url().patient_store(patience).await.expect("opened");
    Far { proxy, store }
}

pub(crate) fn producer() -> Actor {
    Actor {
        kind: ledgertop::ledger::event::ActorKind::Producer,
        name: "producer".to_owned(),
    }
}

pub(crate) fn wish(worker: &str, lease: Duration, limit: u32) -> ClaimRequest {
    ClaimRequest {
        worker: worker.to_owned(),
        lease,
        shares: vec![LaneShare {
            lane: ledgertop::ledger::job::Lane {
                queue: "thumbnails".to_owned(),
                tenant: String::new(),
            },
            limit,
        }],
    }
}

pub(crate) fn settlement(job: &Claimed, verdict: Verdict) -> Settlement {
    Settlement {
        lease: LeaseRef {
            job: job.id,
            fence: job.fence,
        },
        verdict,
    }
}

pub(crate) fn succeeded(job: &Claimed) -> Settlement {
    let output_ref = Some(format!("output_of_{}", job.idempotency_key));
    settlement(job, Verdict::Succeed { output_ref })
}

async fn claim(store: &dyn Store, limit: u32) -> Result<Vec<Claimed>, StoreError> {
    let wish = wish("w1", Duration::from_secs(2), limit);
    let exchanged = store.exchange("w1", &[], Some(&wish)).await?;
    Ok(exchanged.claimed)
}

#[track_caller]
fn assert_unknown<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    let error = answer.expect_err("the answer was swallowed");
    let unknown = matches!(error, StoreError::OutcomeUnknown { .. });
    assert!(unknown && error.is_transient(), "{error:?}");
}

/// The ways in which an answer gets lost.
const LOST: [Fault; 2] = [Fault::Cut, Fault::Hang];

pub(crate) async fn an_enqueue_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again(
    ledger: &Ledger,
) {
    let far = far(ledger, PATIENCE).await;
    for (round, fault) in LOST.into_iter().enumerate() {
        let jobs: Vec<NewJob> = (0..3).map(|n| job(&format!("{round}_{n}"))).collect();
        far.proxy.once("COMMIT", Moment::Answered, fault);
        assert_unknown(far.store.enqueue(&jobs, &producer()).await);
        let again = far.store.enqueue(&jobs, &producer()).await;
        let created: Vec<Enqueued> = jobs.iter().map(|job| Enqueued::Created(job.id)).collect();
        assert_eq!(again.expect("an answer"), created, "{fault:?}");
        // Where the request itself is lost nothing was made, and the caller may not know that.
        let jobs = [job(&format!("{round}_later"))];
        far.proxy.once("COMMIT", Moment::Asked, fault);
        let lost = far.store.enqueue(&jobs, &producer()).await;
        let error = lost.expect_err("the request was swallowed");
        assert!(error.is_transient(), "{error:?}");
        let again = far.store.enqueue(&jobs, &producer()).await;
        assert_eq!(again.expect("an answer"), [Enqueued::Created(jobs[0].id)]);
    }
    let counts = "SELECT CAST(count(*) AS text) FROM jobs";
    assert_eq!(ledger.value(counts).await, "8");
    verify(ledger).await;
}

pub(crate) async fn a_settlement_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again(
    ledger: &Ledger,
) {
    let near = open(ledger).await;
    let far = far(ledger, PATIENCE).await;
    let by_verdict: [(Verdict, State, &str); 4] = [
        (
            Verdict::Succeed { output_ref: None },
            State::Succeeded,
            "succeed",
        ),
        (failed(false), State::RetryWait, "retry"),
        (failed(true), State::Quarantined, "reject"),
        (Verdict::Release, State::Ready, "release"),
    ];
    for fault in LOST {
        for (verdict, state, event) in &by_verdict {
            let new = [job(&Uuid::now_v7().to_string())];
            near.enqueue(&new, &producer()).await.expect("enqueued");
            let wish = wish("w1", Duration::from_secs(60), 1);
            let claimed = near
                .exchange("w1", &[], Some(&wish))
                .await
                .expect("claimed");
            let settled = [settlement(&claimed.claimed[0], verdict.clone())];
            far.proxy.once("exchange", Moment::Answered, fault);
            assert_unknown(far.store.exchange("w1", &settled, None).await);
            let before = row(near.as_ref(), new[0].id).await;
            assert_eq!(before.state, *state, "it was made");
            let again = far.store.exchange("w1", &settled, None).await;
            let version = before.version;
            let applied = Outcome::Applied {
                state: *state,
                version,
            };
            assert_eq!(again.expect("an answer").outcomes, [applied]);
            assert_eq!(
                events(ledger, new[0].id).await,
                ["enqueue", "claim", event],
                "asking again leaves nothing"
            );
            set_aside(near.as_ref(), new[0].id).await;
        }
    }
    verify(ledger).await;
}

pub(crate) fn failed(for_good: bool) -> Verdict {
    let class = if for_good {
        ledgertop::ledger::error_class::ErrorClass::Permanent
    } else {
        ledgertop::ledger::error_class::ErrorClass::Transient
    };
    let failure = ledgertop::ledger::job::Failed {
        class,
        reason: if for_good { "malformed" } else { "timeout" }.to_owned(),
        error: String::new(),
    };
    if for_good {
        Verdict::Reject { failure }
    } else {
        Verdict::Retry {
            failure,
            delay: Duration::from_secs(600),
        }
    }
}

/// Out of the way of the next claim.
async fn set_aside(store: &dyn Store, job: Uuid) {
    let row = row(store, job).await;
    if row.state == State::Ready {
        let act = act(Operation::Quarantine, job, row.version);
        store.operate(&act).await.expect("an answer");
    }
}

fn act(operation: Operation, job: Uuid, version: u32) -> Act {
    Act {
        operation,
        job,
        version,
        actor: "op".to_owned(),
        note: "S5".to_owned(),
    }
}

pub(crate) async fn a_claim_whose_answer_is_lost_is_told_to_its_worker_when_asked_for(
    ledger: &Ledger,
) {
    let near = open(ledger).await;
    let far = far(ledger, PATIENCE).await;
    for (round, fault) in LOST.into_iter().enumerate() {
        let new = [job(&format!("{round}"))];
        near.enqueue(&new, &producer()).await.expect("enqueued");
        far.proxy.once("exchange", Moment::Answered, fault);
        assert_unknown(claim(far.store.as_ref(), 1).await);
        // Claiming again brings nothing: the job has its holder, who has only to ask for it.
        assert_eq!(claim(far.store.as_ref(), 1).await.expect("an answer"), []);
        let held = far.store.held("w1", 10).await.expect("an answer");
        let known: Vec<(Uuid, u32, u32)> = held
            .iter()
            .map(|job| (job.id, job.attempt, job.fence))
            .collect();
        assert_eq!(known, [(new[0].id, 1, 1)], "{fault:?}");
        let others = far.store.held("w2", 10).await.expect("an answer");
        assert_eq!(others, [], "it is nobody else's");
        let settled = far.store.exchange("w1", &[succeeded(&held[0])], None).await;
        let outcome = settled.expect("an answer").outcomes[0];
        assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
        let found = events(ledger, new[0].id).await;
        assert_eq!(found, ["enqueue", "claim", "succeed"], "no attempt is lost");
    }
    verify(ledger).await;
}

pub(crate) async fn a_worker_whose_claims_and_settlements_lose_their_answers_spends_no_attempt(
    ledger: &Ledger,
) {
    let near = open(ledger).await;
    let proxy = Proxy::before(ledger).await;
    let lost = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&lost);
    // Every third answer to an exchange, whatever it settled or claimed.
    let answers = AtomicU32::new(0);
    proxy.rule(move |point| {
        let here = point.is("exchange", Moment::Answered);
        if here && answers.fetch_add(1, Ordering::SeqCst) % 3 == 2 {
            counted.fetch_add(1, Ordering::SeqCst);
            return Fault::Cut;
        }
        Fault::Pass
    });
    let worker = Worker::start(&proxy.address(), "w1", &["--exec", "sh -c 'echo done'"]);
    let mut ids = Vec::new();
    for number in 0..40 {
        let new = [job(&format!("image_{number}"))];
        near.enqueue(&new, &producer()).await.expect("enqueued");
        ids.push(new[0].id);
        until_state(near.as_ref(), new[0].id, State::Succeeded).await;
    }
    proxy.no_rule();
    worker.stop().await;
    let lost = lost.load(Ordering::SeqCst);
    assert!(lost > 10, "only {lost} answers were lost");
    for id in ids {
        let found = events(ledger, id).await;
        let found: Vec<&String> = found.iter().filter(|event| *event != "renew").collect();
        assert_eq!(found, ["enqueue", "claim", "succeed"]);
    }
    verify(ledger).await;
}

pub(crate) async fn an_act_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again(
    ledger: &Ledger,
) {
    let near = open(ledger).await;
    let far = far(ledger, PATIENCE).await;
    let new = [job("one")];
    near.enqueue(&new, &producer()).await.expect("enqueued");
    let id = new[0].id;
    let mut version = 1;
    for fault in LOST {
        for (operation, state) in [
            (Operation::Quarantine, State::Quarantined),
            (Operation::Redrive, State::Ready),
        ] {
            far.proxy.once("operate", Moment::Answered, fault);
            let act = act(operation, id, version);
            assert_unknown(far.store.operate(&act).await);
            version += 1;
            let applied = Outcome::Applied { state, version };
            let again = far.store.operate(&act).await.expect("an answer");
            assert_eq!(again, applied, "{fault:?}");
        }
    }
    assert_eq!(row(near.as_ref(), id).await.redrives, 2);
    let events = events(ledger, id).await;
    let expected = ["enqueue", "quarantine", "redrive", "quarantine", "redrive"];
    assert_eq!(events, expected);
    verify(ledger).await;
}

pub(crate) async fn a_renewal_and_a_sweep_whose_answers_are_lost_harm_nothing(ledger: &Ledger) {
    let near = open(ledger).await;
    let far = far(ledger, PATIENCE).await;
    let new = [job("one"), job("two")];
    near.enqueue(&new, &producer()).await.expect("enqueued");
    let claimed = claim(near.as_ref(), 2).await.expect("claimed");
    let leases: Vec<LeaseRef> = claimed
        .iter()
        .map(|job| settlement(job, Verdict::Release).lease)
        .collect();
    let lease = Duration::from_secs(2);
    for fault in LOST {
        far.proxy.once("renew", Moment::Answered, fault);
        assert_unknown(far.store.renew("w1", &leases, lease).await);
        let again = far.store.renew("w1", &leases, lease).await;
        let applied = |each: &Outcome| matches!(each, Outcome::Applied { .. });
        assert!(again.expect("an answer").iter().all(applied), "{fault:?}");
    }
    let over = "SELECT CAST(count(*) AS text) FROM jobs WHERE lease_expires_at < clock_timestamp()";
    while ledger.value(over).await != "2" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The sweep that takes both leases back is made, and nobody hears of it.
    far.proxy.once("sweep", Moment::Answered, Fault::Cut);
    assert_unknown(far.store.sweep("housekeeping", 10).await);
    let swept = far.store.sweep("housekeeping", 10).await.expect("swept");
    assert!(swept.is_empty(), "{swept:?}");
    for job in &new {
        assert_eq!(row(near.as_ref(), job.id).await.state, State::Ready);
    }
    let expired = "SELECT CAST(count(*) AS text) FROM job_events WHERE event = 'lease_expire'";
    assert_eq!(ledger.value(expired).await, "2");
    verify(ledger).await;
}
