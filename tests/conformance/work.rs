//! What workers do: claim jobs and settle attempts, within the budgets.
//!
//! Next: `leases.rs`, what happens to leases in between.

#![expect(clippy::expect_used, reason = "what a case does not find fails it")]

use std::collections::HashSet;
use std::time::Duration;

use ledgertop::ledger::job::{Lane, LeaseRef, Outcome, Settlement, Verdict};
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::store::{ClaimRequest, LaneShare, StoreError};
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::*;

pub(crate) async fn the_oldest_ready_jobs_are_claimed_first(ledger: &Ledger) {
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(enqueue_one(ledger, &number.to_string()).await);
    }
    let store = ledger.store().await;
    let first: Vec<Uuid> = claim(store, WORKER, 3)
        .await
        .iter()
        .map(|job| job.id)
        .collect();
    let rest: Vec<Uuid> = claim(store, WORKER, 3)
        .await
        .iter()
        .map(|job| job.id)
        .collect();
    assert_eq!(
        first.iter().collect::<HashSet<_>>(),
        ids[..3].iter().collect()
    );
    assert_eq!(
        rest.iter().collect::<HashSet<_>>(),
        ids[3..].iter().collect()
    );
}

pub(crate) async fn each_lane_gives_its_share_in_the_order_asked(ledger: &Ledger) {
    let mut batch = Vec::new();
    for (queue, tenant) in [("a", ""), ("a", "t1"), ("a", "t2"), ("b", ""), ("b", "t1")] {
        for number in 0..3 {
            let mut new = job(&format!("{queue} {tenant} {number}"));
            queue.clone_into(&mut new.queue);
            tenant.clone_into(&mut new.tenant);
            batch.push(new);
        }
    }
    enqueue(ledger, &batch).await;
    let store = ledger.store().await;
    let lane = |queue: &str, tenant: &str| Lane {
        queue: queue.to_owned(),
        tenant: tenant.to_owned(),
    };
    let mut all = store.lanes(&[], 100).await.expect("every lane");
    all.sort();
    assert_eq!(
        all,
        [
            lane("a", ""),
            lane("a", "t1"),
            lane("a", "t2"),
            lane("b", ""),
            lane("b", "t1")
        ]
    );
    let mut some = store
        .lanes(&["b".to_owned(), "c".to_owned()], 100)
        .await
        .expect("of b");
    some.sort();
    assert_eq!(some, [lane("b", ""), lane("b", "t1")]);
    assert_eq!(store.lanes(&[], 2).await.expect("two lanes").len(), 2);

    let share = |queue, tenant, limit| LaneShare {
        lane: lane(queue, tenant),
        limit,
    };
    let request = ClaimRequest {
        worker: WORKER.to_owned(),
        lease: LEASE,
        shares: vec![share("b", "t1", 2), share("a", "", 9), share("none", "", 5)],
    };
    let claimed = store
        .exchange(WORKER, &[], Some(&request))
        .await
        .expect("claimed")
        .claimed;
    let from: Vec<_> = claimed
        .iter()
        .map(|job| (job.queue.as_str(), job.tenant.as_str()))
        .collect();
    assert_eq!(
        from,
        [("b", "t1"), ("b", "t1"), ("a", ""), ("a", ""), ("a", "")]
    );
}

pub(crate) async fn a_hundred_claimers_never_share_a_job(ledger: &Ledger) {
    let batch: Vec<_> = (0..600).map(|number| job(&number.to_string())).collect();
    enqueue(ledger, &batch).await;
    let mut stores = Vec::new();
    for _process in 0..4 {
        stores.push(ledger.another_store().await);
    }
    let mut workers = Vec::new();
    for number in 0..100 {
        let store = std::sync::Arc::clone(&stores[number % stores.len()]);
        workers.push(tokio::spawn(async move {
            let name = format!("worker-{number}");
            let mut mine = Vec::new();
            loop {
                let claimed = claim(store.as_ref(), &name, 3).await;
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed.into_iter().map(|job| job.id));
            }
        }));
    }
    let mut all = Vec::new();
    for worker in workers {
        all.extend(worker.await.expect("no panic"));
    }
    let distinct: HashSet<_> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (600, 600));
    assert_eq!(count_events(ledger, "claim").await, "600");
}

pub(crate) async fn each_verdict_leads_where_the_table_says(ledger: &Ledger) {
    for (verdict, state, event) in [
        (succeed(), State::Succeeded, "succeed"),
        (retry(Duration::from_secs(60)), State::RetryWait, "retry"),
        (reject(), State::Quarantined, "reject"),
        (Verdict::Release, State::Ready, "release"),
    ] {
        let id = enqueue_one(ledger, event).await;
        let claimed = claim_one(ledger).await;
        let outcome = settle(ledger, &claimed, verdict).await;
        assert_eq!(outcome, Outcome::Applied { state, version: 3 }, "{event}");
        let row = read(ledger, id).await;
        assert_eq!((row.state, row.version, row.fence), (state, 3, 1));
        assert_eq!(row.attempt, u32::from(state != State::Ready), "{event}");
        assert_eq!(history(ledger, id).await, ["enqueue", "claim", event]);
    }
}

pub(crate) async fn the_output_is_written_with_the_completion_and_cut_to_its_bound(
    ledger: &Ledger,
) {
    let id = enqueue_one(ledger, "a").await;
    let claimed = claim_one(ledger).await;
    let output_ref = Some(format!("s3://bucket/{}", "ü".repeat(2_000)));
    settle(ledger, &claimed, Verdict::Succeed { output_ref }).await;
    let kept = read(ledger, id).await.output_ref.expect("it is kept");
    assert!(kept.as_str().starts_with("s3://bucket/üü") && kept.as_str().len() <= 2_000);
}

pub(crate) async fn one_call_settles_many_and_claims_the_next(ledger: &Ledger) {
    let batch: Vec<_> = (0..30).map(|number| job(&format!("{number:02}"))).collect();
    enqueue(ledger, &batch).await;
    let store = ledger.store().await;
    let held = claim(store, WORKER, 20).await;
    let settlements: Vec<Settlement> = held
        .iter()
        .map(|job| Settlement {
            lease: lease_of(job),
            verdict: succeed(),
        })
        .collect();
    let request = claim_of(WORKER, 20, LEASE);
    let exchanged = store
        .exchange(WORKER, &settlements, Some(&request))
        .await
        .expect("both halves");
    let done = Outcome::Applied {
        state: State::Succeeded,
        version: 3,
    };
    assert_eq!(exchanged.outcomes, vec![done; 20]);
    assert_eq!(exchanged.claimed.len(), 10);
}

pub(crate) async fn a_spent_attempt_budget_makes_a_dead_letter(ledger: &Ledger) {
    one_attempt(ledger).await;
    let mut new = job("a");
    ONCE.clone_into(&mut new.policy);
    let id = enqueue_as(ledger, new).await;
    let claimed = claim_one(ledger).await;
    let outcome = settle(ledger, &claimed, retry(Duration::from_secs(1))).await;
    assert_eq!(
        outcome,
        Outcome::Applied {
            state: State::Dead,
            version: 3
        }
    );
    assert_eq!(history(ledger, id).await, ["enqueue", "claim", "exhaust"]);
    let why = format!(
        "SELECT error_class || ' ' || reason || ' ' || error FROM job_events \
         WHERE job_id = '{id}' AND version = 3"
    );
    assert_eq!(
        ledger.value(&why).await,
        "transient timeout it took too long"
    );
}

pub(crate) async fn a_retry_past_the_age_budget_makes_a_dead_letter(ledger: &Ledger) {
    let hasty = Policy {
        name: "hasty".to_owned(),
        max_age: Duration::from_secs(100),
        ..Policy::default_v1()
    };
    let store = ledger.store().await;
    store
        .apply_policy(&hasty, &producer())
        .await
        .expect("added");
    for (delay, state) in [(99, State::RetryWait), (101, State::Dead)] {
        let mut new = job(&delay.to_string());
        "hasty".clone_into(&mut new.policy);
        enqueue_as(ledger, new).await;
        let claimed = claim_one(ledger).await;
        let outcome = settle(ledger, &claimed, retry(Duration::from_secs(delay))).await;
        assert_eq!(outcome, Outcome::Applied { state, version: 3 }, "{delay} s");
    }
}

pub(crate) async fn attempts_are_counted_until_the_budget_is_spent(ledger: &Ledger) {
    let thrice = Policy {
        name: "thrice".to_owned(),
        max_attempts: 3,
        ..Policy::default_v1()
    };
    let store = ledger.store().await;
    store
        .apply_policy(&thrice, &producer())
        .await
        .expect("added");
    let mut new = job("a");
    "thrice".clone_into(&mut new.policy);
    let id = enqueue_as(ledger, new).await;
    for attempt in 1..=3 {
        let claimed = claim_one(ledger).await;
        assert_eq!((claimed.attempt, claimed.fence), (attempt, attempt));
        settle(ledger, &claimed, retry(Duration::ZERO)).await;
        sweep(ledger).await;
    }
    assert_eq!(read(ledger, id).await.state, State::Dead);
}

pub(crate) async fn a_failed_job_waits_as_long_as_it_was_told(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let claimed = claim_one(ledger).await;
    settle(ledger, &claimed, retry(Duration::from_secs(3_600))).await;
    sweep(ledger).await;
    let row = read(ledger, id).await;
    assert_eq!(row.state, State::RetryWait);
    assert_eq!(
        row.available_at,
        row.state_since.plus(Duration::from_secs(3_600))
    );
    // The longest delay there is must not overflow anything.
    enqueue_one(ledger, "b").await;
    let claimed = claim_one(ledger).await;
    let outcome = settle(ledger, &claimed, retry(Duration::MAX)).await;
    assert!(
        matches!(
            outcome,
            Outcome::Applied {
                state: State::Dead,
                ..
            }
        ),
        "{outcome:?}"
    );
}

pub(crate) async fn a_settle_with_an_old_fence_is_refused_and_recorded(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let old = claim_for(ledger.store().await, "slow", 1, Duration::ZERO).await;
    sweep(ledger).await;
    let new = claim_one(ledger).await;
    assert_eq!((new.id, new.fence, new.attempt), (id, 2, 2));

    let outcome = settle_as(ledger, "slow", lease_of(&old[0]), succeed()).await;
    assert_eq!(
        outcome,
        Outcome::Stale {
            state: State::Running,
            version: 5
        }
    );
    let events = ["enqueue", "claim", "lease_expire", "claim", "stale_refused"];
    assert_eq!(history(ledger, id).await, events);
    // The holder is not disturbed.
    let outcome = settle(ledger, &new, succeed()).await;
    assert_eq!(
        outcome,
        Outcome::Applied {
            state: State::Succeeded,
            version: 6
        }
    );
    // Nor does a late one change what is done.
    let outcome = settle_as(ledger, "slow", lease_of(&old[0]), reject()).await;
    assert_eq!(
        outcome,
        Outcome::Stale {
            state: State::Succeeded,
            version: 7
        }
    );
}

pub(crate) async fn only_the_worker_that_holds_a_lease_settles_it(ledger: &Ledger) {
    enqueue_one(ledger, "a").await;
    let held = claim_one(ledger).await;
    let outcome = settle_as(ledger, "someone else", lease_of(&held), succeed()).await;
    assert!(
        matches!(
            outcome,
            Outcome::Stale {
                state: State::Running,
                ..
            }
        ),
        "{outcome:?}"
    );
    let outcome = settle(ledger, &held, succeed()).await;
    assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
}

pub(crate) async fn a_settle_repeated_after_a_lost_answer_learns_what_it_did(ledger: &Ledger) {
    one_attempt(ledger).await;
    for (verdict, policy) in [
        (succeed(), "default"),
        (retry(Duration::ZERO), "default"),
        (retry(Duration::ZERO), ONCE),
        (reject(), "default"),
        (Verdict::Release, "default"),
    ] {
        let mut new = job(&format!("{verdict:?} {policy}"));
        policy.clone_into(&mut new.policy);
        let id = enqueue_as(ledger, new).await;
        let claimed = claim_one(ledger).await;
        let first = settle(ledger, &claimed, verdict.clone()).await;
        assert_eq!(
            settle(ledger, &claimed, verdict.clone()).await,
            first,
            "{verdict:?}"
        );
        // Also when the job has moved on meanwhile.
        sweep(ledger).await;
        assert_eq!(
            settle(ledger, &claimed, verdict.clone()).await,
            first,
            "{verdict:?}"
        );
        assert!(
            !history(ledger, id)
                .await
                .contains(&"stale_refused".to_owned())
        );
        // Another verdict on the same attempt is not the same settle.
        let other = Verdict::Succeed { output_ref: None };
        if verdict != other {
            let outcome = settle(ledger, &claimed, other).await;
            assert!(matches!(outcome, Outcome::Stale { .. }), "{outcome:?}");
        }
        // Out of the way of the next round.
        if read(ledger, id).await.state == State::Ready {
            let again = claim_one(ledger).await;
            settle(ledger, &again, reject()).await;
        }
    }
}

pub(crate) async fn a_settle_repeated_with_another_answer_is_another_settle(ledger: &Ledger) {
    let output = |text: &str| Verdict::Succeed {
        output_ref: Some(text.to_owned()),
    };
    let refusal = |reason: &str| Verdict::Reject {
        failure: failed(reason),
    };
    for (first, second) in [
        (output("blob:1"), output("blob:2")),
        (output("blob:1"), succeed()),
        (refusal("malformed"), refusal("timeout")),
    ] {
        enqueue_one(ledger, &format!("{first:?} {second:?}")).await;
        let claimed = claim_one(ledger).await;
        let done = settle(ledger, &claimed, first.clone()).await;
        let outcome = settle(ledger, &claimed, second).await;
        assert!(matches!(outcome, Outcome::Stale { .. }), "{outcome:?}");
        assert_eq!(settle(ledger, &claimed, first).await, done);
    }
}

pub(crate) async fn outcomes_keep_the_order_of_the_settlements(ledger: &Ledger) {
    let store = ledger.store().await;
    enqueue(ledger, &[job("a"), job("b"), job("c")]).await;
    let held = claim(store, WORKER, 3).await;
    settle(ledger, &held[1], reject()).await;
    let nobody = LeaseRef {
        job: Uuid::now_v7(),
        fence: 1,
    };
    let settlement = |lease| Settlement {
        lease,
        verdict: succeed(),
    };
    let wrong_fence = LeaseRef {
        job: held[2].id,
        fence: u32::MAX,
    };
    let settlements = [
        settlement(nobody),
        settlement(lease_of(&held[0])),
        settlement(lease_of(&held[1])),
        settlement(wrong_fence),
    ];
    let outcomes = store
        .exchange(WORKER, &settlements, None)
        .await
        .expect("answers")
        .outcomes;
    assert_eq!(
        outcomes,
        [
            Outcome::NotFound,
            Outcome::Applied {
                state: State::Succeeded,
                version: 3
            },
            Outcome::Stale {
                state: State::Quarantined,
                version: 4
            },
            Outcome::Stale {
                state: State::Running,
                version: 3
            },
        ]
    );
}

pub(crate) async fn a_reason_that_is_no_registered_word_is_refused_as_a_whole(ledger: &Ledger) {
    enqueue_one(ledger, "a").await;
    let held = claim_one(ledger).await;
    let settlement = Settlement {
        lease: lease_of(&held),
        verdict: Verdict::Reject {
            failure: failed("Something: went wrong!"),
        },
    };
    let store = ledger.store().await;
    let error = store
        .exchange(WORKER, &[settlement], None)
        .await
        .expect_err("no word");
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    assert_eq!(read(ledger, held.id).await.state, State::Running);
}
