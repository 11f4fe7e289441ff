//! What is raised when, and in which words.

use std::time::Duration;

use super::super::Board;
use super::super::limits::{Limits, QueueLimits};
use super::super::summary::{Headline, Level, Summary};
use super::super::testing::{BEGIN, Script, at};
use super::*;
use crate::ledger::event::EventKind as E;
use crate::ledger::feed::Base;
use crate::ledger::state::State as S;

/// Names of failures, see `testing::failure`.
const RATE_LIMITED: u8 = 3;
const SCHEMA_VIOLATION: u8 = 9;
const TIMEOUT: u8 = 0;

fn board(script: &Script) -> Board {
    let mut board = Board::load(&Base {
        recent_since: BEGIN.minus(Duration::from_hours(24)),
        ..Base::default()
    });
    for event in &script.events {
        board.apply(event);
    }
    assert_eq!(board.mismatches(), 0);
    board
}

fn ask(script: &Script, seconds: u64, judge: &mut Judge) -> Summary {
    board(script).summary(at(seconds), judge)
}

fn once(script: &Script, seconds: u64) -> Vec<Headline> {
    ask(script, seconds, &mut Judge::default()).headline
}

fn said(headline: &[Headline]) -> Vec<(&str, Level, &str)> {
    headline
        .iter()
        .map(|one| (one.queue.as_str(), one.level, one.text.as_str()))
        .collect()
}

#[test]
fn a_queue_that_falls_behind_is_told_with_its_rates_and_the_reason_of_its_retries() {
    let mut script = Script::default();
    script.enqueue(0, ("thumbnails", 0));
    // 3.1 a second arrive, 0.4 a second succeed, 15 of 18 retries are rate_limited.
    for job in 1..=186 {
        script.enqueue(781 + u64::from(job) / 4, ("thumbnails", job));
    }
    for job in 1..=24 {
        script.attempt(835, ("thumbnails", job), E::Succeed, S::Succeeded);
    }
    for job in 25..=42 {
        let name = if job < 40 { RATE_LIMITED } else { TIMEOUT };
        script.with(Duration::from_mins(5), name);
        script.attempt(836, ("thumbnails", job), E::Retry, S::RetryWait);
    }
    let text = "oldest ready 14m (limit 2m), growing: 3.1/s in, 0.4/s out; \
                83 % of retries rate_limited";
    let headline = once(&script, 840);
    assert_eq!(said(&headline), [("thumbnails", Level::Critical, text)]);
}

#[test]
fn a_burst_of_dead_letters_is_told_with_its_reason_and_its_beginning() {
    let mut script = Script::default();
    script.with(Duration::from_mins(1), SCHEMA_VIOLATION);
    for job in 0..312 {
        script.reject(780 + u64::from(job), ("billing", job));
    }
    let text = "312 quarantined in 6m, all schema_violation, first at 02:58";
    let headline = once(&script, 1_140);
    assert_eq!(said(&headline), [("billing", Level::Critical, text)]);
}

#[test]
fn one_retry_and_one_dead_letter_are_no_incident() {
    let mut script = Script::default();
    script.enqueue(0, ("billing", 0));
    script.attempt(1, ("billing", 0), E::Retry, S::RetryWait);
    script.reject(2, ("billing", 1));
    for seconds in [2, 60, 600, 3_600] {
        assert_eq!(once(&script, seconds), []);
    }
}

#[test]
fn a_limit_is_raised_above_itself_and_clears_below_80_percent() {
    use Level::{Critical, Fine, Warning};

    let bound = Bound {
        warning: 100.0,
        critical: 1_000.0,
    };
    let mut level = Fine;
    let mut levels = Vec::new();
    for value in [
        99.0, 100.0, 101.0, 100.0, 80.0, 79.9, 81.0, 1_001.0, 800.0, 799.0, 999.0, 80.0, 1.0,
    ] {
        level = next_level(value, bound, level);
        levels.push(level);
    }
    let expected = [
        Fine, Fine, Warning, Warning, Warning, Fine, Fine, Critical, Critical, Warning, Warning,
        Warning, Fine,
    ];
    assert_eq!(levels, expected);
}

#[test]
fn a_limit_of_none_at_all_clears_when_none_is_left() {
    let bound = Bound {
        warning: 0.0,
        critical: 100.0,
    };
    assert_eq!(next_level(1.0, bound, Level::Fine), Level::Warning);
    assert_eq!(next_level(1.0, bound, Level::Warning), Level::Warning);
    assert_eq!(next_level(0.0, bound, Level::Warning), Level::Fine);
}

#[test]
fn a_judge_that_is_kept_remembers_and_a_new_one_does_not() {
    let mut script = Script::default();
    script.enqueue(0, ("digest", 0));
    script.enqueue(20, ("digest", 1));
    let mut judge = Judge::default();
    let before = ask(&script, 120, &mut judge);
    assert_eq!(before.total.level, Level::Fine, "at the limit, not above");
    assert_eq!(ask(&script, 121, &mut judge).total.level, Level::Warning);
    script.attempt(122, ("digest", 0), E::Succeed, S::Succeeded);
    // The oldest is 102 s old now: below the limit of 120 s, above 80 % of it.
    assert_eq!(ask(&script, 122, &mut judge).total.level, Level::Warning);
    assert_eq!(once(&script, 122), []);
    script.attempt(122, ("digest", 1), E::Succeed, S::Succeeded);
    let after = ask(&script, 122, &mut judge);
    assert_eq!((after.total.level, after.headline), (Level::Fine, vec![]));
}

#[test]
fn a_queue_may_have_limits_of_its_own() {
    let mut script = Script::default();
    script.enqueue(0, ("digest", 0));
    script.enqueue(0, ("billing", 1));
    let mut limits = Limits::default();
    let patient = QueueLimits {
        oldest_ready: Bound {
            warning: Duration::from_hours(1),
            critical: Duration::from_hours(2),
        },
        ..QueueLimits::default()
    };
    limits.queues.insert("digest".to_owned(), patient);
    let summary = ask(&script, 200, &mut Judge::new(limits));
    let text = "oldest ready 3m (limit 2m), nothing leaves";
    assert_eq!(said(&summary.headline), [("billing", Level::Warning, text)]);
    let levels: Vec<_> = (summary.queues.iter())
        .map(|queue| (queue.queue.as_str(), queue.level))
        .collect();
    assert_eq!(
        levels,
        [("billing", Level::Warning), ("digest", Level::Fine)],
        "worst first"
    );
}

#[test]
fn the_headline_has_at_most_three_sentences_and_first_one_of_each_queue() {
    let mut script = Script::default();
    script.with(Duration::from_mins(1), SCHEMA_VIOLATION);
    for (index, queue) in (0..).zip(["a", "b", "c", "d"]) {
        script.enqueue(index, (queue, 1_000 + u32::try_from(index).unwrap()));
    }
    for job in 0..100 {
        script.reject(300, ("a", job));
    }
    let headline = once(&script, 300);
    let queues: Vec<_> = headline.iter().map(|one| one.queue.as_str()).collect();
    assert_eq!(
        queues,
        ["a", "b", "c"],
        "the oldest of the same level first"
    );
    let mut script = Script::default();
    script.with(Duration::from_mins(1), SCHEMA_VIOLATION);
    script.enqueue(0, ("a", 1_000));
    for job in 0..100 {
        script.reject(300, ("a", job));
    }
    let texts: Vec<_> = once(&script, 300).into_iter().map(|one| one.text).collect();
    assert_eq!(
        texts,
        [
            "oldest ready 5m (limit 2m), not shrinking: 1.7/s in, 1.7/s out",
            "100 quarantined in 0s, all schema_violation, first at 02:50"
        ]
    );
}

#[test]
fn leases_count_once_housekeeping_is_late() {
    let mut script = Script::default();
    script.with(Duration::from_secs(60), 0);
    for job in 0..2 {
        script.enqueue(0, ("webhooks", job));
        script.step(0, ("webhooks", job), E::Claim, S::Running);
    }
    assert_eq!(once(&script, 90), []);
    let text = "2 leases expired and not reclaimed, the first 31s ago";
    let headline = once(&script, 91);
    assert_eq!(said(&headline), [("webhooks", Level::Warning, text)]);
    script.step(92, ("webhooks", 0), E::LeaseExpire, S::Ready);
    script.step(92, ("webhooks", 1), E::LeaseExpire, S::Ready);
    assert_eq!(once(&script, 92), []);
}

/// Jobs arrive each second from 0 to 300 and fail into `retry_wait`; nothing is ready for long.
fn broken_dependency() -> Script {
    let mut script = Script::default();
    script.with(Duration::from_hours(1), TIMEOUT);
    for job in 0..300 {
        script.enqueue(u64::from(job), ("webhooks", job));
        script.attempt(u64::from(job), ("webhooks", job), E::Retry, S::RetryWait);
    }
    script
}

#[test]
fn retries_that_pile_up_are_a_backlog_that_does_not_shrink() {
    let script = broken_dependency();
    let text = "backlog of 300 does not shrink: 1.0/s in, 0.0/s out; 100 % of retries timeout";
    let headline = once(&script, 299);
    assert_eq!(said(&headline), [("webhooks", Level::Warning, text)]);
}

#[test]
fn a_burst_that_has_just_come_in_says_nothing_yet() {
    let mut script = Script::default();
    for job in 0..1_000 {
        script.enqueue(600, ("digest", job));
    }
    assert_eq!(once(&script, 600), []);
    assert_eq!(once(&script, 655), []);
    let text = "backlog of 1,000 does not shrink: 0.0/s in, 0.0/s out";
    let headline = once(&script, 665);
    assert_eq!(said(&headline), [("digest", Level::Warning, text)]);
}

#[test]
fn a_backlog_is_not_said_to_stand_before_it_was_watched_for_long_enough() {
    let script = broken_dependency();
    let mut board = Board::load(&Base {
        recent_since: at(200),
        ..Base::default()
    });
    for event in &script.events {
        board.apply(event);
    }
    let headline = |seconds| board.summary(at(seconds), &mut Judge::default()).headline;
    assert_eq!(headline(299), [], "99 s were watched");
    assert_eq!(headline(320).len(), 1, "120 s were watched");
}

#[test]
fn a_backlog_that_begins_to_shrink_is_told_until_it_has_shrunk_for_a_while() {
    let mut script = broken_dependency();
    let mut judge = Judge::default();
    assert_eq!(ask(&script, 299, &mut judge).headline.len(), 1);
    for job in 0..30 {
        script.step(361, ("webhooks", job), E::Due, S::Ready);
        script.attempt(361, ("webhooks", job), E::Succeed, S::Succeeded);
    }
    assert_eq!(once(&script, 361), [], "30 left in a minute and none came");
    let headline = ask(&script, 361, &mut judge).headline;
    assert_eq!(headline.len(), 1, "30 left in two minutes and 58 came");
    for job in 30..60 {
        script.step(362, ("webhooks", job), E::Due, S::Ready);
        script.attempt(362, ("webhooks", job), E::Succeed, S::Succeeded);
    }
    let headline = ask(&script, 362, &mut judge).headline;
    assert_eq!(headline, [], "60 left in two minutes and 57 came");
}

#[test]
fn a_dead_letter_that_nobody_looks_at_is_told_after_a_day() {
    let mut script = Script::default();
    script.with(Duration::from_mins(1), SCHEMA_VIOLATION);
    script.reject(0, ("billing", 0));
    let day = 86_400;
    assert_eq!(once(&script, day), []);
    let text = "oldest dead letter 3d 4h (limit 1d), 1 in all, 100 % schema_violation";
    let headline = once(&script, 3 * day + 4 * 3_600);
    assert_eq!(said(&headline), [("billing", Level::Warning, text)]);
    script.step(day + 1, ("billing", 0), E::Discard, S::Discarded);
    assert_eq!(once(&script, day + 1), []);
}

#[test]
fn a_queue_that_is_gone_is_forgotten() {
    let mut script = Script::default();
    script.enqueue(0, ("digest", 0));
    let mut judge = Judge::default();
    ask(&script, 500, &mut judge);
    assert_eq!(judge.raised.len(), 1);
    ask(&Script::default(), 500, &mut judge);
    assert_eq!(judge.raised.len(), 0);
}
