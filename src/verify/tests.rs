//! Each law broken alone is found, and named with its event; legal lives never break one.

use std::time::Duration;

use proptest::prelude::*;

use super::testing::{Choice, LATE_PLAN, PLAN, Story, choices, judge, judge_pages, text};
use super::{Breach, Law, Report, Verifier};
use crate::ledger::audit::{Children, Ending, Outline, Twins, Unreadable};
use crate::ledger::event::{ActorKind, EventKind as E};
use crate::ledger::num;
use crate::ledger::state::State as S;

/// Law and event of each breach.
fn found(report: &Report) -> Vec<(Law, Option<i64>)> {
    report
        .breaches
        .iter()
        .map(|breach| (breach.law, breach.version))
        .collect()
}

fn second() -> Duration {
    Duration::from_secs(1)
}

/// A job that failed once, was retried, and succeeded: events 1 to 6.
fn retried() -> Story {
    Story::ready()
        .attempt(E::Retry, S::RetryWait)
        .then(E::Due, S::Ready)
        .attempt(E::Succeed, S::Succeeded)
}

#[test]
fn legal_lives_break_no_law() {
    let lives = [
        Story::ready(),
        retried(),
        retried().then(E::Duplicate, S::Succeeded),
        Story::ready()
            .attempt(E::Reject, S::Quarantined)
            .then(E::Redrive, S::Ready)
            .attempt(E::Release, S::Ready)
            .attempt(E::LeaseExpire, S::Ready),
        Story::enqueue(S::Pending, Children::Done, Duration::ZERO).then(E::ChildrenDone, S::Ready),
        Story::enqueue(S::Pending, Children::NotAwaited, second()).then(E::Due, S::Ready),
        Story::ready()
            .then(E::Claim, S::Running)
            .then(E::Renew, S::Running)
            .then(E::Revoke, S::Quarantined)
            .then(E::Discard, S::Discarded),
        Story::ready().attempt(E::Exhaust, S::Dead),
    ];
    for life in lives {
        let report = life.judge();
        assert_eq!(report.breaches, [], "{life:#?}");
        assert_eq!(report.events, num::count(life.entries.len()));
    }
}

#[test]
fn a_missing_event_is_a_gap_and_nothing_else() {
    let mut story = retried();
    story.entries.remove(2);
    assert_eq!(found(&story.judge()), [(Law::L1, Some(4))]);
    let mut story = retried();
    story.entries.remove(0);
    let expected = [(Law::L1, Some(2)), (Law::L9, None)];
    assert_eq!(found(&story.judge()), expected);
}

#[test]
fn an_illegal_move_breaks_l1() {
    let mut story = Story::ready().attempt(E::Succeed, S::Succeeded);
    story.last().doing.actor_kind = ActorKind::Operator;
    story.row.doing.actor_kind = ActorKind::Operator;
    let report = story.judge();
    assert_eq!(found(&report), [(Law::L1, Some(3))]);
    let breach = report.breaches.first().unwrap();
    assert_eq!(breach.event, Some(E::Succeed));
    assert!(
        breach.expected.contains("succeed to succeeded (worker)"),
        "{breach:?}"
    );
    assert_eq!(breach.found, "succeed to succeeded (operator)");
}

#[test]
fn a_clock_that_goes_back_within_a_job_breaks_l2() {
    let mut story = Story::ready()
        .then(E::Claim, S::Running)
        .then(E::Duplicate, S::Running);
    let early = super::testing::BEGIN;
    story.last().at = early;
    story.row.updated_at = early;
    assert_eq!(found(&story.judge()), [(Law::L2, Some(3))]);
}

#[test]
fn a_lost_row_breaks_l3_and_the_sum_l9() {
    let mut chapter = retried().chapter();
    chapter.ending = Ending::Missing;
    let expected = [(Law::L3, Some(6)), (Law::L9, None)];
    assert_eq!(found(&judge(vec![chapter])), expected);
}

#[test]
fn a_number_that_no_event_has_breaks_l3() {
    let outline = Outline {
        last_event: Some(5),
        ..Outline::default()
    };
    let report = Verifier::new(outline, 10).finish();
    assert_eq!(found(&report), [(Law::L3, None)]);
    assert_eq!(report.breached_jobs, 0);
}

#[test]
fn a_settle_with_an_old_fence_breaks_l4() {
    let mut story = Story::ready()
        .attempt(E::LeaseExpire, S::Ready)
        .attempt(E::Succeed, S::Succeeded);
    story.last().fence = 1;
    story.row.fence = 1;
    assert_eq!(found(&story.judge()), [(Law::L4, Some(5))]);
}

#[test]
fn a_settle_by_another_than_the_holder_breaks_l4() {
    let mut story = Story::ready().attempt(E::Succeed, S::Succeeded);
    story.last().doing.actor = text("someone else");
    story.row.doing.actor = text("someone else");
    assert_eq!(found(&story.judge()), [(Law::L4, Some(3))]);
}

#[test]
fn a_lease_that_shrinks_breaks_l4() {
    let mut story = Story::ready()
        .then(E::Claim, S::Running)
        .then(E::Renew, S::Running);
    let at = story.last().at;
    story.last().lease_expires_at = Some(at);
    story.row.lease_expires_at = Some(at);
    assert_eq!(found(&story.judge()), [(Law::L4, Some(3))]);
}

#[test]
fn a_second_end_of_an_attempt_breaks_l5() {
    let mut story = Story::ready().attempt(E::Succeed, S::Succeeded);
    let mut again = story.last().clone();
    again.version = 4;
    again.from_since = Some(story.row.state_since);
    story.entries.push(again);
    story.row.version = 4;
    assert_eq!(found(&story.judge()), [(Law::L5, Some(4))]);
}

#[test]
fn two_jobs_with_one_key_break_l5() {
    let mut verifier = Verifier::new(Outline::default(), 10);
    verifier.twins(&[Twins {
        idempotency_key: text("invoice_1"),
        jobs: 2,
        first: text("a"),
        last: text("b"),
    }]);
    let report = verifier.finish();
    let breach = report.breaches.first().unwrap();
    assert_eq!((breach.law, &breach.job), (Law::L5, &Some(text("b"))));
    assert_eq!(breach.expected, "one job with the key 'invoice_1'");
}

#[test]
fn a_retry_beyond_the_attempts_breaks_l6() {
    let mut story = Story::ready();
    for _ in 0..2 {
        story = story.attempt(E::Retry, S::RetryWait).then(E::Due, S::Ready);
    }
    // The third of three attempts ends in `dead`; here it says that it is retried.
    story = story.attempt(E::Retry, S::RetryWait);
    assert_eq!(story.judge().breaches, []);
    let until = story.row.updated_at.plus(second());
    story.row.doing.event = E::Retry;
    story.row.state = S::RetryWait;
    story.row.available_at = until;
    story.last().doing.event = E::Retry;
    story.last().to = S::RetryWait;
    story.last().available_at = Some(until);
    assert_eq!(found(&story.judge()), [(Law::L6, Some(9))]);
}

#[test]
fn an_end_within_the_budgets_breaks_l6() {
    let mut story = Story::ready().attempt(E::Exhaust, S::Dead);
    assert_eq!(story.judge().breaches, []);
    story.row.available_at = story.now;
    let report = story.judge();
    assert_eq!(found(&report), [(Law::L6, Some(3))]);
    // What the row no longer tells is not held against the job.
    let mut story = story.then(E::Redrive, S::Ready);
    story.row.available_at = story.now;
    assert_eq!(story.judge().breaches, []);
}

#[test]
fn a_lease_taken_back_early_breaks_l6() {
    let mut story = Story::ready().attempt(E::LeaseExpire, S::Ready);
    let early = story.row.created_at.plus(Duration::from_secs(2));
    story.last().at = early;
    story.row.updated_at = early;
    story.row.state_since = early;
    assert_eq!(found(&story.judge()), [(Law::L6, Some(3))]);
}

#[test]
fn a_job_ready_before_it_is_due_breaks_l6() {
    let mut story =
        Story::enqueue(S::Pending, Children::NotAwaited, second()).then(E::Due, S::Ready);
    let late = story.now.plus(second());
    for entry in &mut story.entries {
        entry.available_at = Some(late);
    }
    story.row.available_at = late;
    assert_eq!(found(&story.judge()), [(Law::L6, Some(2))]);
}

#[test]
fn a_parent_that_did_not_wait_breaks_l6() {
    let mut story =
        Story::enqueue(S::Pending, Children::Done, Duration::ZERO).then(E::ChildrenDone, S::Ready);
    story.row.children = Children::Open;
    assert_eq!(found(&story.judge()), [(Law::L6, Some(2))]);
    let mut story = Story::ready();
    story.row.children = Children::Done;
    assert_eq!(found(&story.judge()), [(Law::L6, Some(1))]);
}

#[test]
fn a_plan_that_nobody_approved_breaks_l7() {
    let mut story = Story::ready()
        .attempt(E::Reject, S::Quarantined)
        .then(E::Redrive, S::Ready);
    let plan = Some(text("0197e3f0-0000-7000-8000-000000000001"));
    story.last().doing.plan.clone_from(&plan);
    story.row.doing.plan.clone_from(&plan);
    assert_eq!(found(&story.judge()), [(Law::L7, Some(4))]);
    // A row keeps the plan of its last event: the claim after it did not bring it.
    let mut later = story.then(E::Claim, S::Running);
    later.last().doing.plan.clone_from(&plan);
    later.row.doing.plan = plan;
    assert_eq!(found(&later.judge()), [(Law::L7, Some(4))]);
}

#[test]
fn an_approved_plan_acts_once_on_a_job_as_it_was_approved_to() {
    let plan = Some(text(PLAN));
    let rejected = Story::ready().attempt(E::Reject, S::Quarantined);
    let mut redriven = rejected.clone().then(E::Redrive, S::Ready);
    redriven.last().doing.plan.clone_from(&plan);
    redriven.row.doing.plan.clone_from(&plan);
    assert_eq!(found(&redriven.judge()), []);

    let mut again = redriven
        .attempt(E::Reject, S::Quarantined)
        .then(E::Redrive, S::Ready);
    again.last().doing.plan.clone_from(&plan);
    again.row.doing.plan.clone_from(&plan);
    assert_eq!(found(&again.judge()), [(Law::L7, Some(7))]);

    let mut discarded = rejected.clone().then(E::Discard, S::Discarded);
    discarded.last().doing.plan.clone_from(&plan);
    discarded.row.doing.plan.clone_from(&plan);
    assert_eq!(found(&discarded.judge()), [(Law::L7, Some(4))]);

    let late = Some(text(LATE_PLAN));
    let mut early = rejected.then(E::Redrive, S::Ready);
    early.last().doing.plan.clone_from(&late);
    early.row.doing.plan = late;
    assert_eq!(found(&early.judge()), [(Law::L7, Some(4))]);
}

#[test]
fn a_row_that_its_events_do_not_make_breaks_l8() {
    let mut story = retried();
    story.row.output_ref = Some(text("receipts/other"));
    story.row.fence = 9;
    let report = story.judge();
    assert_eq!(found(&report), [(Law::L8, Some(6))]);
    let breach = report.breaches.first().unwrap();
    assert_eq!(breach.expected, "fence 2, output_ref receipts/0");
    assert_eq!(breach.found, "fence 9, output_ref receipts/other");
    assert_eq!(breach.event, Some(E::Succeed));
}

#[test]
fn a_row_without_events_breaks_l9() {
    let mut chapter = Story::ready().chapter();
    chapter.entries.clear();
    let expected = [(Law::L9, None), (Law::L9, None)];
    let report = judge(vec![chapter]);
    assert_eq!(found(&report), expected);
    assert!(report.breaches.iter().any(|breach| breach.job.is_some()));
}

#[test]
fn a_way_out_of_a_terminal_state_breaks_l10() {
    let mut story = Story::ready()
        .attempt(E::Reject, S::Quarantined)
        .then(E::Redrive, S::Ready);
    // The redrive finds the job discarded instead of quarantined.
    let mut closing = story.entries.get(3).unwrap().clone();
    closing.doing.event = E::Discard;
    closing.to = S::Discarded;
    closing.attempt = 1;
    closing.policy.version = 1;
    let redrive = story.last();
    redrive.version = 5;
    redrive.from = Some(S::Discarded);
    redrive.from_since = Some(closing.at);
    story.entries.insert(3, closing);
    story.row.version = 5;
    assert_eq!(found(&story.judge()), [(Law::L10, Some(5))]);
}

#[test]
fn a_value_that_cannot_be_understood_is_one_breach() {
    let bad = Unreadable {
        version: Some(3),
        column: "to_state",
        value: text("finished"),
    };
    let mut chapter = retried().chapter();
    *chapter.entries.get_mut(2).unwrap() = Err(bad.clone());
    let report = judge(vec![chapter]);
    assert_eq!(found(&report), [(Law::L1, Some(3))]);
    let expected = "a value of column 'to_state' that can be understood";
    assert_eq!(report.breaches.first().unwrap().expected, expected);

    let mut chapter = retried().chapter();
    chapter.ending = Ending::Unreadable(Unreadable {
        version: None,
        ..bad
    });
    assert_eq!(found(&judge(vec![chapter])), [(Law::L8, None)]);
}

#[test]
fn all_breaches_are_counted_and_the_first_are_kept() {
    let mut verifier = Verifier::new(Outline::default(), 3);
    let twins = Twins {
        idempotency_key: text("k"),
        jobs: 2,
        first: text("a"),
        last: text("b"),
    };
    verifier.twins(&vec![twins; 10]);
    let report = verifier.finish();
    assert_eq!(report.breaches.len(), 3);
    assert_eq!(report.total(), 10);
    assert_eq!(report.by_law.get(&Law::L5), Some(&10));
}

/// One change of one stored value, of those that the ledger stores twice.
#[derive(Debug, Clone, Copy)]
enum Tampering {
    Version,
    At,
    From,
    To,
    FromSince,
    Queue,
    Attempt,
    Fence,
    Worker,
    Lease,
    First,
    Available,
    Policy,
    Removed,
    RowVersion,
    RowState,
    RowSince,
    RowUpdated,
    RowFence,
    RowAttempt,
    RowRedrives,
    RowUnsettled,
    RowFirst,
    RowWorker,
    RowPolicy,
    RowOutput,
    RowReason,
    RowError,
    RowNote,
    RowActor,
    RowKey,
}

const TAMPERINGS: [Tampering; 31] = {
    use Tampering as T;
    [
        T::Version,
        T::At,
        T::From,
        T::To,
        T::FromSince,
        T::Queue,
        T::Attempt,
        T::Fence,
        T::Worker,
        T::Lease,
        T::First,
        T::Available,
        T::Policy,
        T::Removed,
        T::RowVersion,
        T::RowState,
        T::RowSince,
        T::RowUpdated,
        T::RowFence,
        T::RowAttempt,
        T::RowRedrives,
        T::RowUnsettled,
        T::RowFirst,
        T::RowWorker,
        T::RowPolicy,
        T::RowOutput,
        T::RowReason,
        T::RowError,
        T::RowNote,
        T::RowActor,
        T::RowKey,
    ]
};

fn tamper(story: &mut Story, what: Tampering, place: usize) {
    use Tampering as T;
    let tick = Duration::from_micros(1);
    let other = Some(text("somebody"));
    let index = place % story.entries.len();
    if matches!(what, T::Removed) {
        story.entries.remove(index);
        return;
    }
    // An event that keeps the state may have been a moment later without any trace, but the last.
    let last = story.entries.len() - 1;
    let index = if matches!(what, T::At) { last } else { index };
    let entry = story.entries.get_mut(index).unwrap();
    let row = &mut story.row;
    let next = |state: S| if state == S::Ready { S::Dead } else { S::Ready };
    match what {
        T::Version => entry.version += 1,
        T::At => entry.at = entry.at.plus(tick),
        T::From => entry.from = Some(entry.from.map_or(S::Ready, next)),
        T::To => entry.to = next(entry.to),
        T::FromSince => entry.from_since = Some(entry.from_since.unwrap_or(entry.at).plus(tick)),
        T::Queue => entry.queue = text("elsewhere"),
        T::Attempt => entry.attempt += 1,
        T::Fence => entry.fence += 1,
        T::Worker => entry.worker = other,
        T::Lease => {
            let end = entry.lease_expires_at.unwrap_or(entry.at);
            entry.lease_expires_at = Some(end.plus(tick));
        }
        T::First => {
            let first = entry.first_attempt_at.unwrap_or(entry.at);
            entry.first_attempt_at = Some(first.plus(tick));
        }
        T::Available => {
            let due = entry.available_at.unwrap_or(entry.at);
            entry.available_at = Some(due.plus(tick));
        }
        T::Policy => entry.policy.name = text("lenient"),
        T::Removed => {}
        T::RowVersion => row.version += 1,
        T::RowState => row.state = next(row.state),
        T::RowSince => row.state_since = row.state_since.plus(tick),
        T::RowUpdated => row.updated_at = row.updated_at.plus(tick),
        T::RowFence => row.fence += 1,
        T::RowAttempt => row.attempt += 1,
        T::RowRedrives => row.redrives += 1,
        T::RowUnsettled => row.unsettled += 1,
        T::RowFirst => row.first_attempt_at = Some(row.updated_at.plus(tick)),
        T::RowWorker => row.worker = other,
        T::RowPolicy => row.policy.version += 1,
        T::RowOutput => row.output_ref = other,
        T::RowReason => row.failure.reason = other,
        T::RowError => row.failure.error = other,
        T::RowNote => row.doing.note = other,
        T::RowActor => row.doing.actor = text("somebody"),
        T::RowKey => row.idempotency_key = text("another"),
    }
}

/// The life in pages of which each ends after some events, as a busy job is read.
fn cut(story: &Story, sizes: &[usize]) -> Vec<Vec<crate::ledger::audit::Chapter>> {
    let whole = story.chapter();
    let mut rest = whole.entries.as_slice();
    let mut pages = Vec::new();
    for size in sizes {
        let (page, left) = rest.split_at((*size).min(rest.len()));
        rest = left;
        let mut chapter = whole.clone();
        chapter.entries = page.to_vec();
        chapter.ending = Ending::Open;
        pages.push(vec![chapter]);
    }
    let mut chapter = whole.clone();
    chapter.entries = rest.to_vec();
    pages.push(vec![chapter]);
    pages
}

fn lives() -> impl Strategy<Value = Vec<Vec<Choice>>> {
    prop::collection::vec(choices(40), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_legal_life_breaks_a_law(lives in lives()) {
        let stories: Vec<Story> = lives.iter().map(|choices| Story::of(choices)).collect();
        let report = judge(stories.iter().map(Story::chapter).collect());
        prop_assert_eq!(&report.breaches, &Vec::<Breach>::new());
        prop_assert_eq!(report.jobs, num::count(stories.len()));
        prop_assert_eq!(report.accepted, report.stored());
    }

    #[test]
    fn pages_may_end_anywhere_in_a_life(
        choices in choices(40),
        sizes in prop::collection::vec(0_usize..8, 0..6),
    ) {
        let story = Story::of(&choices);
        let report = judge_pages(cut(&story, &sizes));
        prop_assert_eq!(&report.breaches, &Vec::<Breach>::new());
        prop_assert_eq!(report.jobs, 1);
    }

    #[test]
    fn every_value_that_is_stored_twice_is_guarded(
        choices in choices(40),
        what in prop::sample::select(TAMPERINGS.as_slice()),
        place: usize,
    ) {
        let mut story = Story::of(&choices);
        tamper(&mut story, what, place);
        let report = story.judge();
        prop_assert!(report.total() > 0, "{:?} was not found in {:#?}", what, story);
    }
}
