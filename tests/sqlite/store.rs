//! The calls of the store, as SQLite answers them.
//!
//! Next: `feed.rs`.

use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::job::{Claimed, Failed, LeaseRef, NewJob, Outcome, Settlement, Verdict};
use ledgertop::ledger::state::State;
use uuid::Uuid;

use crate::ledger::{done, good, job, ledger, settled};

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

fn under(policy: &str, key: &str) -> NewJob {
    let mut job = job(key);
    policy.clone_into(&mut job.policy);
    job
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
