//! The words of the headline: one sentence for each concern, from the numbers it was raised by.

use super::format::{coarse, count, exact, percent, rate, time_of_day};
use super::headline::{Case, Concern};
use super::limits::LEASE_GRACE;
use super::summary::{Drain, QueueSummary};
use super::window::{WINDOW, seconds};
use crate::ledger::event::FailureKey;
use crate::ledger::time::Timestamp;

/// Below this many retries in the window, their shares say nothing.
const RETRIES_MIN: u64 = 10;

/// A reason with at least this share of the retries is named, in percent.
const SHARE_MIN: u64 = 50;

/// The sentence for a concern that is raised. The limit that it names is the first one, also where
/// the second one is passed: that is the promise that was broken.
pub(crate) fn of(concern: Concern, case: &Case<'_>) -> String {
    match concern {
        Concern::OldestReady => oldest_ready(case),
        Concern::DeadLettersGrow => dead_letters_grow(case),
        Concern::ExpiredLeases => expired_leases(case),
        Concern::NeverDrains => never_drains(case),
        Concern::OldestDeadLetter => oldest_dead_letter(case),
    }
}

fn oldest_ready(case: &Case<'_>) -> String {
    let summary = case.summary;
    let age = summary.oldest_ready_age.unwrap_or_default();
    let limit = case.limits.oldest_ready.warning;
    format!(
        "oldest ready {} (limit {}){}{}",
        coarse(age),
        exact(limit),
        trend(summary),
        retries(summary)
    )
}

/// Where the backlog goes.
fn trend(summary: &QueueSummary) -> String {
    let (inn, out) = (rate(summary.in_per_s), rate(summary.out_per_s));
    match summary.drain {
        Drain::Never if summary.out_per_s <= 0.0 && summary.in_per_s <= 0.0 => {
            ", nothing leaves".to_owned()
        }
        Drain::Never if summary.in_per_s > summary.out_per_s => {
            format!(", growing: {inn}/s in, {out}/s out")
        }
        Drain::Never => format!(", not shrinking: {inn}/s in, {out}/s out"),
        Drain::In(time) => format!(", drains in {}: {inn}/s in, {out}/s out", coarse(time)),
        Drain::Empty | Drain::Unknown => String::new(),
    }
}

/// The reason of most retries, if there is one.
fn retries(summary: &QueueSummary) -> String {
    let all: u64 = summary.retries.iter().map(|retry| retry.count).sum();
    let Some(most) = summary.retries.first().filter(|_| all >= RETRIES_MIN) else {
        return String::new();
    };
    let share = percent(most.count, all);
    if share < SHARE_MIN {
        return String::new();
    }
    format!("; {share} % of retries {}", reason(&most.failure))
}

fn dead_letters_grow(case: &Case<'_>) -> String {
    let first_s = case.reach.first_s(WINDOW);
    let Some(burst) = case.queue.dead_letters().burst(first_s) else {
        // Raised by what came in the window and is gone from its queue again.
        let per_h = case.summary.dead_letters.growth_per_h;
        let limit = case.limits.dead_letters_per_h.warning;
        return format!("dead letters grow by {}/h (limit {limit}/h)", rate(per_h));
    };
    let kind = match (burst.dead, burst.quarantined) {
        (_, 0) => "dead",
        (0, _) => "quarantined",
        _ => "dead letters",
    };
    let first = Timestamp::from_seconds(burst.first_s);
    let (failure, most) = burst.most.clone();
    let share = percent(most, burst.total());
    let why = if share == 100 {
        format!(", all {}", reason(&failure))
    } else if share >= SHARE_MIN {
        format!(", {share} % {}", reason(&failure))
    } else {
        String::new()
    };
    format!(
        "{} {kind} in {}{why}, first at {}",
        count(burst.total()),
        coarse(case.reach.now.since(first)),
        time_of_day(first)
    )
}

fn expired_leases(case: &Case<'_>) -> String {
    let leases = case.queue.leases();
    let now_s = case.reach.now_s();
    let ended = leases.ended(now_s, seconds(LEASE_GRACE));
    let since = leases.first_end().map(Timestamp::from_seconds);
    let longest = since.map_or_else(String::new, |since| coarse(case.reach.now.since(since)));
    let leases = if ended == 1 { "lease" } else { "leases" };
    format!(
        "{} {leases} expired and not reclaimed, the first {longest} ago",
        count(ended)
    )
}

fn never_drains(case: &Case<'_>) -> String {
    let summary = case.summary;
    format!(
        "backlog of {} does not shrink: {}/s in, {}/s out{}",
        count(summary.depth.at_work()),
        rate(summary.in_per_s),
        rate(summary.out_per_s),
        retries(summary)
    )
}

fn oldest_dead_letter(case: &Case<'_>) -> String {
    let summary = &case.summary.dead_letters;
    let age = summary.oldest_age().unwrap_or_default();
    let all: u64 = summary.by_reason.iter().map(|(_, count)| count).sum();
    let limit = case.limits.oldest_dead_letter.warning;
    let why = match summary.by_reason.first() {
        Some((failure, most)) if percent(*most, all) >= SHARE_MIN => {
            format!(", {} % {}", percent(*most, all), reason(failure))
        }
        Some(_) | None => String::new(),
    };
    format!(
        "oldest dead letter {} (limit {}), {} in all{why}",
        coarse(age),
        exact(limit),
        count(all)
    )
}

/// How a failure is named in a sentence.
fn reason(failure: &FailureKey) -> String {
    failure
        .reason
        .as_ref()
        .map_or_else(|| "without a failure".to_owned(), ToString::to_string)
}
