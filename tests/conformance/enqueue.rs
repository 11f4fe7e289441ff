//! Enqueueing: one job for one key, whole batches, bounds, due times and families.
//!
//! Next: `work.rs`, what workers do with jobs.

#![expect(clippy::expect_used, reason = "what a case does not find fails it")]

use std::collections::HashSet;
use std::time::Duration;

use ledgertop::ledger::job::{Enqueued, Operation, Outcome, PAYLOAD_MAX_BYTES, ParentLink};
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::ledger::time::Timestamp;
use ledgertop::store::StoreError;

use crate::ledger::Ledger;
use crate::steps::*;

pub(crate) async fn a_known_key_is_a_duplicate_of_the_job_that_has_it(ledger: &Ledger) {
    let id = enqueue_one(ledger, "tenant_7:invoice_184:collect").await;
    let mut again = job("tenant_7:invoice_184:collect");
    "another".clone_into(&mut again.queue);
    assert_eq!(enqueue(ledger, &[again]).await, [Enqueued::Duplicate(id)]);
    let now = read(ledger, id).await;
    assert_eq!(
        (now.state, now.version, now.queue.as_str()),
        (State::Ready, 2, QUEUE)
    );
    assert_eq!(history(ledger, id).await, ["enqueue", "duplicate"]);
}

pub(crate) async fn a_key_twice_in_one_batch_is_one_job_and_a_duplicate(ledger: &Ledger) {
    let batch = [job("b"), job("a"), job("b"), job("b")];
    let first = batch[0].id;
    let outcomes = enqueue(ledger, &batch).await;
    let twin = Enqueued::Duplicate(first);
    assert_eq!(
        outcomes,
        [
            Enqueued::Created(first),
            Enqueued::Created(batch[1].id),
            twin,
            twin
        ]
    );
    assert_eq!(
        history(ledger, first).await,
        ["enqueue", "duplicate", "duplicate"]
    );
}

pub(crate) async fn producers_racing_for_the_same_keys_make_one_job_of_each(ledger: &Ledger) {
    let keys: Vec<String> = (0..40).map(|number| format!("key {number:03}")).collect();
    let mut producers = Vec::new();
    for turn in 0..12 {
        let store = ledger.another_store().await;
        let mut batch: Vec<_> = keys.iter().map(|key| job(key)).collect();
        // Each in another order: the store must not let them wait for each other in a ring.
        batch.rotate_left(turn * 3);
        producers.push(tokio::spawn(async move {
            store
                .enqueue(&batch, &producer())
                .await
                .expect("it waits its turn")
        }));
    }
    let mut created = 0;
    for each in producers {
        let outcomes = each.await.expect("no panic");
        created += outcomes
            .iter()
            .filter(|one| matches!(one, Enqueued::Created(_)))
            .count();
    }
    assert_eq!(created, keys.len());
    let jobs = ledger
        .value("SELECT CAST(count(*) AS text) FROM jobs")
        .await;
    assert_eq!(jobs, keys.len().to_string());
    assert_eq!(
        count_events(ledger, "duplicate").await,
        (11 * keys.len()).to_string()
    );
}

pub(crate) async fn a_call_repeated_after_a_lost_answer_finds_its_own_jobs(ledger: &Ledger) {
    let batch = [job("a"), job("b")];
    let first = enqueue(ledger, &batch).await;
    // The answer was lost, so the very same call is made again.
    assert_eq!(enqueue(ledger, &batch).await, first);
    assert_eq!(count_events(ledger, "duplicate").await, "0");
}

pub(crate) async fn a_batch_is_enqueued_whole_or_not_at_all(ledger: &Ledger) {
    let mut bad = job("bad");
    "no such policy".clone_into(&mut bad.policy);
    let batch = [job("good"), bad, job("also good")];
    let store = ledger.store().await;
    let error = store
        .enqueue(&batch, &producer())
        .await
        .expect_err("it is refused");
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    let said = error.to_string();
    assert!(
        said.contains("no such policy") && said.contains("nothing was changed"),
        "{said}"
    );
    assert!(
        said.contains(&batch[1].id.to_string()),
        "it names the job: {said}"
    );
    assert_eq!(
        ledger
            .value("SELECT CAST(count(*) AS text) FROM jobs")
            .await,
        "0"
    );
    assert_eq!(
        ledger
            .value("SELECT CAST(count(*) AS text) FROM job_events")
            .await,
        "0"
    );
}

pub(crate) async fn a_job_that_breaks_a_bound_is_named_by_place_and_key(ledger: &Ledger) {
    let mut large = job("large\u{1b}[2J");
    large.payload = serde_json::json!({ "body": "x".repeat(PAYLOAD_MAX_BYTES) });
    let mut nameless = job("nameless");
    nameless.queue = String::new();
    let mut nul = job("nul");
    nul.payload = serde_json::json!({ "a": "b\u{0}c" });
    for (bad, wanted) in [
        (large, "'payload' has"),
        (nameless, "'queue' is empty"),
        (nul, "NUL"),
        (job(&"k".repeat(513)), "'idempotency_key' has 513 bytes"),
    ] {
        let batch = [job("good"), bad];
        let store = ledger.store().await;
        let error = store
            .enqueue(&batch, &producer())
            .await
            .expect_err("a bound is broken");
        let said = error.to_string();
        assert!(
            said.contains("job 2 of 2") && said.contains(wanted),
            "{said}"
        );
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
    assert_eq!(
        ledger
            .value("SELECT CAST(count(*) AS text) FROM jobs")
            .await,
        "0"
    );
}

pub(crate) async fn everything_that_was_asked_for_arrives_at_the_worker(ledger: &Ledger) {
    let mut new = job("schlüssel 図書館 🚀");
    "kind".clone_into(&mut new.kind);
    new.schema_version = Some("3".to_owned());
    new.payload = serde_json::json!({ "n": 1.5, "deep": [null, true, { "ü": "図" }] });
    let id = enqueue_as(ledger, new.clone()).await;
    let claimed = claim_one(ledger).await;
    assert_eq!(
        (claimed.id, claimed.fence, claimed.version, claimed.attempt),
        (id, 1, 2, 1)
    );
    assert_eq!(claimed.idempotency_key, new.idempotency_key);
    assert_eq!(claimed.kind, new.kind);
    assert_eq!(claimed.schema_version, new.schema_version);
    assert_eq!(claimed.payload, new.payload);
    assert_eq!(claimed.policy, Policy::default_v1());
    assert_eq!(claimed.first_attempt_at, claimed.claimed_at);
    assert_eq!(claimed.lease_expires_at, claimed.claimed_at.plus(LEASE));
}

pub(crate) async fn a_job_is_not_ready_before_it_is_due(ledger: &Ledger) {
    let now = ledger.now_ms().await;
    let mut late = job("late");
    late.available_at = Some(Timestamp::from_millis(now + 3_600_000));
    let mut soon = job("soon");
    soon.available_at = Some(Timestamp::from_millis(now + 300));
    let mut past = job("past");
    past.available_at = Some(Timestamp::from_millis(now - 5_000));
    let late = enqueue_as(ledger, late).await;
    let soon = enqueue_as(ledger, soon).await;
    let past = enqueue_as(ledger, past).await;
    assert_eq!(read(ledger, past).await.state, State::Ready);
    assert_eq!(read(ledger, soon).await.state, State::Pending);

    sweep_until_moved(ledger, soon).await;
    let row = read(ledger, soon).await;
    assert_eq!(row.state, State::Ready);
    assert!(
        row.state_since.millis() >= now + 300,
        "not before its moment"
    );
    assert_eq!(history(ledger, soon).await, ["enqueue", "due"]);
    assert_eq!(read(ledger, late).await.version, 1);
}

pub(crate) async fn a_new_job_is_under_the_newest_version_of_its_policy(ledger: &Ledger) {
    let store = ledger.store().await;
    let mut rules = Policy {
        name: "billing".to_owned(),
        max_attempts: 3,
        ..Policy::default_v1()
    };
    assert_eq!(
        store
            .apply_policy(&rules, &producer())
            .await
            .expect("added"),
        1
    );
    assert_eq!(
        store
            .apply_policy(&rules, &producer())
            .await
            .expect("the same"),
        1
    );
    rules.max_attempts = 4;
    assert_eq!(
        store
            .apply_policy(&rules, &producer())
            .await
            .expect("new rules"),
        2
    );
    let mut new = job("a");
    "billing".clone_into(&mut new.policy);
    enqueue_as(ledger, new).await;
    rules.version = 2;
    assert_eq!(claim_one(ledger).await.policy, rules);
    let names: Vec<(String, u32)> = store
        .policies()
        .await
        .expect("they are listed")
        .into_iter()
        .map(|policy| (policy.name, policy.version))
        .collect();
    assert_eq!(
        names,
        [("billing".to_owned(), 2), ("default".to_owned(), 1)]
    );
}

pub(crate) async fn policies_applied_at_once_get_versions_without_a_gap(ledger: &Ledger) {
    let mut tasks = Vec::new();
    for number in 0..8_u32 {
        let store = ledger.another_store().await;
        let rules = Policy {
            name: "raced".to_owned(),
            max_attempts: 1 + number / 2,
            ..Policy::default_v1()
        };
        tasks.push(tokio::spawn(async move {
            store.apply_policy(&rules, &producer()).await
        }));
    }
    let mut versions = HashSet::new();
    for task in tasks {
        versions.insert(task.await.expect("no panic").expect("a version"));
    }
    let stored = ledger
        .value("SELECT CAST(count(*) AS text) FROM policies WHERE name = 'raced'")
        .await;
    let newest = ledger
        .value("SELECT CAST(max(version) AS text) FROM policies WHERE name = 'raced'")
        .await;
    assert_eq!(stored, newest, "versions without a gap");
    assert!(versions.len() >= 4, "four sets of rules: {versions:?}");
}

pub(crate) async fn rules_out_of_their_range_are_refused(ledger: &Ledger) {
    let rules = Policy {
        name: "endless".to_owned(),
        max_attempts: 0,
        ..Policy::default_v1()
    };
    let store = ledger.store().await;
    let error = store
        .apply_policy(&rules, &producer())
        .await
        .expect_err("no attempts");
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
}

fn child(key: &str, parent: &str, required: bool) -> ledgertop::ledger::job::NewJob {
    let mut child = job(key);
    "children".clone_into(&mut child.queue);
    child.parent = Some(ParentLink {
        key: parent.to_owned(),
        required,
    });
    child
}

/// Claims one child and lets it succeed.
async fn finish_a_child(ledger: &Ledger) {
    let claimed = claim_in(ledger, "children", LEASE).await;
    let outcome = settle(ledger, &claimed, succeed()).await;
    assert!(matches!(
        outcome,
        Outcome::Applied {
            state: State::Succeeded,
            ..
        }
    ));
}

pub(crate) async fn a_parent_waits_for_its_required_children_in_any_order(ledger: &Ledger) {
    // One child before, one in the same batch ahead of the parent, one behind, one that is not
    // required.
    enqueue_as(ledger, child("before", "family", true)).await;
    let mut parent = job("family");
    "parents".clone_into(&mut parent.queue);
    let id = parent.id;
    let batch = [
        child("ahead", "family", true),
        parent,
        child("optional", "family", false),
    ];
    enqueue(ledger, &batch).await;
    enqueue_as(ledger, child("behind", "family", true)).await;
    assert_eq!(read(ledger, id).await.state, State::Pending);

    finish_a_child(ledger).await;
    sweep(ledger).await;
    assert_eq!(read(ledger, id).await.state, State::Pending);
    for _rest in 0..3 {
        finish_a_child(ledger).await;
    }
    sweep(ledger).await;
    assert_eq!(read(ledger, id).await.state, State::Ready);
    assert_eq!(history(ledger, id).await, ["enqueue", "children_done"]);
}

pub(crate) async fn a_parent_that_failed_is_due_again_like_any_job(ledger: &Ledger) {
    let mut parent = job("family");
    parent.awaits_children = true;
    let id = enqueue_as(ledger, parent).await;
    sweep(ledger).await;
    let claimed = claim_one(ledger).await;
    settle(ledger, &claimed, retry(Duration::ZERO)).await;
    sweep_until_moved(ledger, id).await;
    assert_eq!(read(ledger, id).await.state, State::Ready);
}

pub(crate) async fn a_required_child_of_a_parent_that_has_begun_is_refused(ledger: &Ledger) {
    enqueue_one(ledger, "family").await;
    let store = ledger.store().await;
    let late = [child("late", "family", true)];
    let error = store
        .enqueue(&late, &producer())
        .await
        .expect_err("too late");
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("family"), "{error}");
    enqueue_as(ledger, child("optional", "family", false)).await;
}

pub(crate) async fn an_enqueue_of_nothing_changes_nothing(ledger: &Ledger) {
    assert_eq!(enqueue(ledger, &[]).await, []);
    let store = ledger.store().await;
    let many: Vec<_> = (0..1_001).map(|number| job(&number.to_string())).collect();
    let error = store
        .enqueue(&many, &producer())
        .await
        .expect_err("more than a batch");
    assert!(error.to_string().contains("at most 1000"), "{error}");
}

pub(crate) async fn a_job_of_a_family_can_be_set_aside_and_sent_back(ledger: &Ledger) {
    let mut parent = job("family");
    parent.awaits_children = true;
    let id = enqueue_as(ledger, parent).await;
    enqueue_as(ledger, child("a", "family", true)).await;
    operate(ledger, id, Operation::Quarantine).await;
    sweep(ledger).await;
    assert_eq!(read(ledger, id).await.state, State::Quarantined);
    let outcome = operate(ledger, id, Operation::Redrive).await;
    assert!(
        matches!(
            outcome,
            Outcome::Applied {
                state: State::Ready,
                ..
            }
        ),
        "{outcome:?}"
    );
}
