//! `verify` finds each law broken alone, by an owner who switches the triggers off, and finds
//! nothing in a ledger that only ever saw the triggers.
//!
//! What one event says wrong is also tested on histories made up in `src/verify/tests.rs`; here it
//! is read from a database. Next: `operate.rs`.

#![expect(clippy::panic, reason = "a step that cannot be taken fails the test")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ledgertop::cli::verify::judge;
use ledgertop::ledger::job::{Enqueued, NewJob, Operation};
use ledgertop::store::{DatabaseKind, StoreError};
use ledgertop::verify::{Law, Report};
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::{
    claim, claim_one, enqueue, enqueue_one, job, lease_of, operate, producer, reject, retry,
    settle, settle_as, succeed, sweep,
};

/// What every case ends with: the laws hold, if the ledger is one that this program can read. The
/// cases of this file and of `look_corrupt.rs` end with a broken ledger.
pub(crate) async fn holds_its_laws(ledger: &Ledger, module: &str) {
    if matches!(module, "audit" | "look_corrupt") {
        return;
    }
    match judge(&mut *ledger.url().audit(), 10).await {
        Ok(report) => assert_eq!(report.breaches, [], "a law is broken"),
        // What the case was about.
        Err(
            StoreError::NotALedger { .. }
            | StoreError::NewerSchema { .. }
            | StoreError::ChangedSchema { .. },
        ) => {}
        Err(error) => panic!("{error}"),
    }
}

async fn judged(ledger: &Ledger) -> Report {
    judge(&mut *ledger.url().audit(), 100)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs SQL as an owner who has switched the rules off.
pub(crate) async fn tamper(ledger: &Ledger, text: &str) {
    let mut connection = ledger.connect().await;
    let off = match ledger.kind() {
        DatabaseKind::Postgres => "SET session_replication_role = replica;".to_owned(),
        DatabaseKind::Sqlite => {
            let triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'";
            let names = connection.rows(triggers).await;
            let names: Vec<String> = names.into_iter().flatten().flatten().collect();
            format!("DROP TRIGGER {};", names.join("; DROP TRIGGER "))
        }
    };
    connection
        .run(&format!("{off} {text}"))
        .await
        .unwrap_or_else(|error| panic!("'{text}': {error}"));
}

/// What is found after `text` was run: law, job and event of each breach.
async fn found_after(ledger: &Ledger, text: &str) -> Vec<(Law, Option<String>, Option<i64>)> {
    assert_eq!(
        judged(ledger).await.breaches,
        [],
        "before anything was done"
    );
    tamper(ledger, text).await;
    let report = judged(ledger).await;
    let breaches = report.breaches.into_iter();
    breaches
        .map(|breach| {
            let job = breach.job.map(|job| job.to_string());
            (breach.law, job, breach.version)
        })
        .collect()
}

/// The one breach that is expected.
fn only(law: Law, job: Uuid, version: i64) -> Vec<(Law, Option<String>, Option<i64>)> {
    vec![(law, Some(job.to_string()), Some(version))]
}

/// One job that succeeded (events 1 to 3), and another that nobody touches.
async fn a_success(ledger: &Ledger) -> Uuid {
    let id = enqueue_one(ledger, "invoice_1").await;
    settle(ledger, &claim_one(ledger).await, succeed()).await;
    enqueue_one(ledger, "invoice_2").await;
    id
}

/// SQL that puts a copy of an event of one job behind the last event of another.
fn copy_event(ledger: &Ledger, from: (Uuid, i64), to: (Uuid, i64)) -> String {
    let number = match ledger.kind() {
        DatabaseKind::Postgres => "",
        DatabaseKind::Sqlite => {
            ", seq = (SELECT max(seq) + 1 FROM job_events), idempotency_key = NULL"
        }
    };
    format!(
        "CREATE TEMP TABLE copied AS SELECT * FROM job_events WHERE job_id = '{}' AND version = {};
         UPDATE copied SET job_id = '{}', version = {}{number};
         INSERT INTO job_events SELECT * FROM copied;
         DROP TABLE copied;",
        from.0, from.1, to.0, to.1
    )
}

/// SQL that puts a copy of a job beside it.
fn copy_job(job: Uuid, copy: Uuid, key: &str) -> String {
    format!(
        "CREATE TEMP TABLE copied_job AS SELECT * FROM jobs WHERE id = '{job}';
         UPDATE copied_job SET id = '{copy}', idempotency_key = '{key}';
         INSERT INTO jobs SELECT * FROM copied_job;
         DROP TABLE copied_job;"
    )
}

const fn an_hour(ledger: &Ledger) -> &'static str {
    match ledger.kind() {
        DatabaseKind::Postgres => "interval '1 hour'",
        DatabaseKind::Sqlite => "3600000",
    }
}

pub(crate) async fn a_move_that_the_table_does_not_hold_breaks_l1(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!(
        "UPDATE job_events SET actor_kind = 'operator' WHERE job_id = '{id}' AND version = 2"
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L1, id, 2));
}

pub(crate) async fn an_event_that_was_removed_breaks_l1(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!("DELETE FROM job_events WHERE job_id = '{id}' AND version = 2");
    let mut expected = only(Law::L1, id, 3);
    if ledger.kind() == DatabaseKind::Sqlite {
        // Where events have numbers, the number is missed as well.
        expected.push((Law::L3, None, None));
    }
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn an_event_that_cannot_be_understood_breaks_l1(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!(
        "UPDATE job_events SET to_state = 'finished' WHERE job_id = '{id}' AND version = 2"
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L1, id, 2));
}

pub(crate) async fn a_moment_before_the_last_breaks_l2(ledger: &Ledger) {
    let id = enqueue_one(ledger, "invoice_1").await;
    enqueue(ledger, &[job("invoice_1")]).await;
    settle(ledger, &claim_one(ledger).await, succeed()).await;
    let text = format!(
        "UPDATE job_events SET at = at - {} WHERE job_id = '{id}' AND version = 2",
        an_hour(ledger)
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L2, id, 2));
}

pub(crate) async fn a_job_whose_row_is_gone_breaks_l3_and_the_sum(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!("DELETE FROM jobs WHERE id = '{id}'");
    let mut expected = only(Law::L3, id, 3);
    expected.push((Law::L9, None, None));
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn a_job_that_is_gone_whole_breaks_l3_where_events_have_numbers(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text =
        format!("DELETE FROM jobs WHERE id = '{id}'; DELETE FROM job_events WHERE job_id = '{id}'");
    let expected = match ledger.kind() {
        // PostgreSQL keeps nothing that a job without any trace could be missed by.
        DatabaseKind::Postgres => vec![],
        DatabaseKind::Sqlite => vec![(Law::L3, None, None)],
    };
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn a_settle_with_an_old_fence_breaks_l4(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!(
        "UPDATE job_events SET fence = 0 WHERE job_id = '{id}' AND version = 3;
         UPDATE jobs SET fence = 0 WHERE id = '{id}'"
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L4, id, 3));
}

pub(crate) async fn a_settle_by_another_worker_breaks_l4(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!(
        "UPDATE job_events SET actor = 'zombie' WHERE job_id = '{id}' AND version = 3;
         UPDATE jobs SET actor = 'zombie' WHERE id = '{id}'"
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L4, id, 3));
}

pub(crate) async fn a_second_end_of_an_attempt_breaks_l5(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!(
        "{} UPDATE jobs SET version = 4 WHERE id = '{id}'",
        copy_event(ledger, (id, 3), (id, 4))
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L5, id, 4));
}

pub(crate) async fn two_jobs_with_one_key_break_l5(ledger: &Ledger) {
    a_success(ledger).await;
    let id = enqueue_one(ledger, "invoice_3").await;
    let twin = Uuid::now_v7();
    let without_index = match ledger.kind() {
        DatabaseKind::Postgres => {
            "ALTER TABLE jobs DROP CONSTRAINT jobs_idempotency_key_names_one_operation;"
        }
        DatabaseKind::Sqlite => {
            "CREATE TABLE kept AS SELECT * FROM jobs; DROP TABLE jobs;
             ALTER TABLE kept RENAME TO jobs;"
        }
    };
    let text = format!(
        "{without_index} {} {}",
        copy_job(id, twin, "invoice_3"),
        copy_event(ledger, (id, 1), (twin, 1))
    );
    let expected = vec![(Law::L5, Some(twin.to_string()), None)];
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn an_attempt_beyond_the_budget_breaks_l6(ledger: &Ledger) {
    let id = enqueue_one(ledger, "invoice_1").await;
    settle(ledger, &claim_one(ledger).await, retry(Duration::ZERO)).await;
    a_success_of_another(ledger).await;
    // The retry was the first of six attempts; now there is but one.
    let text = "UPDATE policies SET max_attempts = 1 WHERE name = 'default'";
    assert_eq!(found_after(ledger, text).await, only(Law::L6, id, 3));
}

async fn a_success_of_another(ledger: &Ledger) {
    enqueue_one(ledger, "another").await;
    settle(ledger, &claim_one(ledger).await, succeed()).await;
}

pub(crate) async fn a_start_before_its_moment_breaks_l6(ledger: &Ledger) {
    let id = enqueue_one(ledger, "invoice_1").await;
    settle(ledger, &claim_one(ledger).await, retry(Duration::ZERO)).await;
    sweep(ledger).await;
    let text = format!(
        "UPDATE job_events SET available_at = available_at + {hour} WHERE job_id = '{id}';
         UPDATE jobs SET available_at = available_at + {hour} WHERE id = '{id}'",
        hour = an_hour(ledger)
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L6, id, 4));
}

pub(crate) async fn a_parent_that_did_not_wait_breaks_l6(ledger: &Ledger) {
    let parent = NewJob {
        awaits_children: true,
        ..job("album_1")
    };
    let child = NewJob {
        parent: Some(ledgertop::ledger::job::ParentLink {
            key: "album_1".to_owned(),
            required: true,
        }),
        ..job("picture_1")
    };
    let created = enqueue(ledger, &[parent, child]).await;
    let [Enqueued::Created(parent), Enqueued::Created(child)] = created.as_slice() else {
        panic!("two jobs were created: {created:?}");
    };
    settle(ledger, &claim_one(ledger).await, succeed()).await;
    sweep(ledger).await;
    // The child never ran: its history ends with the enqueue.
    let text = format!(
        "DELETE FROM job_events WHERE job_id = '{child}' AND version > 1;
         UPDATE jobs SET state = 'ready', version = 1, fence = 0, attempt = 0, event = 'enqueue',
           actor_kind = 'producer', actor = 'a producer', first_attempt_at = NULL,
           state_since = created_at, updated_at = created_at
         WHERE id = '{child}'"
    );
    let mut expected = only(Law::L6, *parent, 2);
    if ledger.kind() == DatabaseKind::Sqlite {
        expected.push((Law::L3, None, None));
    }
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn a_redrive_of_an_unknown_plan_breaks_l7(ledger: &Ledger) {
    let id = enqueue_one(ledger, "invoice_1").await;
    settle(ledger, &claim_one(ledger).await, reject()).await;
    operate(ledger, id, Operation::Redrive).await;
    let plan = Uuid::now_v7();
    let text = format!(
        "UPDATE job_events SET plan = '{plan}' WHERE job_id = '{id}' AND version = 4;
         UPDATE jobs SET plan = '{plan}' WHERE id = '{id}'"
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L7, id, 4));
}

pub(crate) async fn a_row_that_was_changed_behind_its_events_breaks_l8(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!("UPDATE jobs SET output_ref = 'elsewhere', unsettled = 3 WHERE id = '{id}'");
    assert_eq!(found_after(ledger, &text).await, only(Law::L8, id, 3));
    let report = judged(ledger).await;
    let breach = report.breaches.first().map(|breach| breach.found.clone());
    assert_eq!(breach.as_deref(), Some("unsettled 3, output_ref elsewhere"));
}

pub(crate) async fn a_change_that_was_never_recorded_breaks_l8(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!("DELETE FROM job_events WHERE job_id = '{id}' AND version = 3");
    let mut expected = only(Law::L8, id, 2);
    if ledger.kind() == DatabaseKind::Sqlite {
        // No event came later, so that its number is not missed: the last one is another job's.
        expected.push((Law::L3, None, None));
    }
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn a_row_that_nobody_enqueued_breaks_l9(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let stranger = Uuid::now_v7();
    let expected = vec![
        (Law::L9, Some(stranger.to_string()), None),
        (Law::L9, None, None),
    ];
    let text = copy_job(id, stranger, "stranger");
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn a_way_out_of_a_terminal_state_breaks_l10(ledger: &Ledger) {
    let id = a_success(ledger).await;
    let text = format!(
        "{} UPDATE job_events SET event = 'quarantine', from_state = 'succeeded',
           to_state = 'quarantined', from_since = at, actor_kind = 'operator', actor = 'sql',
           worker = NULL, lease_expires_at = NULL
         WHERE job_id = '{id}' AND version = 4;
         UPDATE jobs SET version = 4, event = 'quarantine', state = 'quarantined',
           actor_kind = 'operator', actor = 'sql'
         WHERE id = '{id}'",
        copy_event(ledger, (id, 3), (id, 4))
    );
    assert_eq!(found_after(ledger, &text).await, only(Law::L10, id, 4));
}

pub(crate) async fn a_ledger_of_several_pages_is_read_once_and_whole(ledger: &Ledger) {
    // One job with more events than a page takes, among more jobs than a page takes.
    let busy = enqueue_one(ledger, "busy").await;
    for batch in 0..6 {
        let jobs: Vec<NewJob> = (0..1_000).map(|n| job(&format!("{batch}_{n}"))).collect();
        enqueue(ledger, &jobs).await;
        enqueue(ledger, &vec![job("busy"); 1_000]).await;
    }
    let report = judged(ledger).await;
    assert_eq!(report.breaches, []);
    assert_eq!((report.jobs, report.events), (6_001, 12_001));
    let text =
        format!("UPDATE job_events SET attempt = 1 WHERE job_id = '{busy}' AND version = 5500");
    let expected = vec![
        (Law::L6, Some(busy.to_string()), Some(5_500)),
        (Law::L6, Some(busy.to_string()), Some(5_501)),
    ];
    assert_eq!(found_after(ledger, &text).await, expected);
}

pub(crate) async fn a_ledger_at_work_breaks_no_law(ledger: &Ledger) {
    let done = AtomicBool::new(false);
    let work = async {
        let store = ledger.another_store().await;
        for round in 0..40 {
            let jobs: Vec<NewJob> = (0..50)
                .map(|n| job(&format!("{round}_{}", n % 45)))
                .collect();
            let enqueued = store.enqueue(&jobs, &producer()).await;
            enqueued.unwrap_or_else(|error| panic!("{error}"));
            for (place, claimed) in claim(&*store, "worker-1", 40).await.iter().enumerate() {
                let verdict = match place % 4 {
                    0 => retry(Duration::ZERO),
                    1 => reject(),
                    _ => succeed(),
                };
                settle_as(ledger, "worker-1", lease_of(claimed), verdict).await;
            }
            sweep(ledger).await;
        }
        done.store(true, Ordering::Release);
    };
    let audits = async {
        let mut audits = 0;
        while !done.load(Ordering::Acquire) {
            assert_eq!(judged(ledger).await.breaches, []);
            audits += 1;
        }
        audits
    };
    let ((), audits) = tokio::join!(work, audits);
    assert!(audits > 2, "only {audits} audits beside the work");
    assert_eq!(judged(ledger).await.accepted, 40 * 45);
}
