//! The dialog, step by step: what it demands, what it gives, and what changes nothing.

use uuid::Uuid;

use super::*;
use crate::ledger::job::JobRow;
use crate::ledger::state::State;
use crate::ledger::time::Timestamp;
use crate::ledger::view::ListedJob;

fn job(number: u128, state: State) -> ListedJob {
    let text = |text: &str| SafeText::new(text);
    ListedJob {
        row: JobRow {
            id: Uuid::from_u128(number),
            idempotency_key: text(&format!("key-{number}")),
            queue: text("billing"),
            kind: text("collect"),
            tenant: text(""),
            state,
            state_since: Timestamp::from_seconds(0),
            version: 7,
            fence: 2,
            attempt: 2,
            redrives: 0,
            available_at: Timestamp::from_seconds(0),
            output_ref: None,
        },
        created_at: Timestamp::from_seconds(0),
        class: None,
        reason: None,
        error: None,
        worker: None,
        lease_expires_at: None,
        policy: text("default"),
        policy_version: 1,
        unsettled: 0,
    }
}

fn opened(jobs: u128, state: State) -> Operating {
    let jobs: Vec<ListedJob> = (0..jobs).map(|number| job(number, state)).collect();
    let preview = Preview::of(Operation::Redrive, Timestamp::from_seconds(9), &jobs);
    let mut dialog = Operating::new(Operation::Redrive, Subject::Filter(SafeText::new("x")));
    dialog.read(preview);
    dialog
}

fn typed(dialog: &mut Operating, text: &str) {
    if let Some(field) = dialog.field() {
        field.insert(text);
    }
}

#[test]
fn one_job_takes_a_reason_and_another_key_and_is_bound_to_what_was_seen() {
    let mut dialog = opened(1, State::Dead);
    assert_eq!(dialog.place(), Place::Field);
    typed(&mut dialog, " mended ");
    assert_eq!(dialog.enter(), None);
    assert_eq!(dialog.place(), Place::Question);
    let order = dialog.confirm().unwrap();
    assert_eq!(order.reason, "mended");
    assert_eq!(order.pace, None, "one job is no plan");
    let target = order.targets[0];
    assert_eq!((target.job, target.version), (Uuid::from_u128(0), 7));
}

#[test]
fn without_a_reason_nothing_goes_on() {
    let mut dialog = opened(1, State::Dead);
    for text in ["", "   "] {
        typed(&mut dialog, text);
        assert_eq!(dialog.enter(), None);
        assert!(matches!(&dialog.stage, Stage::Reason(asked) if asked.complaint.is_some()));
        assert_eq!(dialog.confirm(), None);
    }
}

#[test]
fn many_jobs_are_confirmed_by_their_number_and_by_nothing_else() {
    let mut dialog = opened(213, State::Dead);
    typed(&mut dialog, "INC-1");
    assert_eq!(dialog.enter(), None);
    assert!(matches!(dialog.stage, Stage::Count(_)));
    assert_eq!(dialog.confirm(), None, "the key means nothing here");
    for wrong in ["", "212", "2 13", "-213", "213x"] {
        typed(&mut dialog, wrong);
        assert_eq!(dialog.enter(), None, "{wrong:?}");
        assert!(matches!(&dialog.stage, Stage::Count(asked) if asked.complaint.is_some()));
    }
    typed(&mut dialog, "213");
    let order = dialog.enter().unwrap();
    assert_eq!(order.targets.len(), 213);
    assert!(order.pace.is_some_and(|pace| pace.canary), "a plan");
    assert_eq!(order.query.as_deref(), Some("x"));
}

#[test]
fn pasted_text_reaches_the_field_and_confirms_nothing() {
    let mut dialog = opened(1, State::Dead);
    typed(&mut dialog, "why\r\ny\n\u{1b}[201~\u{202e}");
    assert!(matches!(&dialog.stage, Stage::Reason(asked) if asked.reason.text() == "whyy[201~"));
    dialog.enter();
    assert!(dialog.field().is_none(), "nothing takes text any more");
    typed(&mut dialog, "y\n");
    assert!(matches!(dialog.stage, Stage::Confirm(_)));
}

#[test]
fn out_goes_back_to_the_reason_and_then_closes() {
    let mut dialog = opened(213, State::Dead);
    typed(&mut dialog, "INC-1");
    dialog.enter();
    typed(&mut dialog, "21");
    assert_eq!(dialog.out(), Outward::Stays);
    assert!(matches!(&dialog.stage, Stage::Reason(asked)
        if asked.reason.text() == "INC-1" && asked.count.text().is_empty()));
    assert_eq!(dialog.out(), Outward::Closes);
}

#[test]
fn where_no_job_may_be_taken_there_is_nothing_to_confirm() {
    let mut dialog = opened(3, State::Succeeded);
    assert!(matches!(dialog.stage, Stage::Nothing(_)));
    assert_eq!(dialog.enter(), None);
    assert_eq!(dialog.confirm(), None);
    assert_eq!(dialog.out(), Outward::Closes);
}

#[test]
fn what_was_shown_is_never_exchanged_beneath_a_person() {
    let mut dialog = opened(1, State::Dead);
    let other = Preview::of(
        Operation::Redrive,
        Timestamp::from_seconds(10),
        &[job(5, State::Dead), job(6, State::Dead)],
    );
    dialog.read(other);
    typed(&mut dialog, "mended");
    dialog.enter();
    assert_eq!(dialog.confirm().unwrap().targets.len(), 1);
}
