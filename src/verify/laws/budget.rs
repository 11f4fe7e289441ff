//! L6: attempt and age budgets and not-before times hold.

use crate::ledger::audit::Entry;
use crate::ledger::event::EventKind;
use crate::ledger::policy::Policy;
use crate::ledger::state::State;
use crate::ledger::transition::{self, AttemptStep};

use super::{Findings, shown};
use crate::verify::law::Law;
use crate::verify::replay::{Due, Replay};
use crate::verify::rules::Rulebook;

/// Attempts are counted at the claim, given back by an orderly release, and begin anew with a
/// redrive.
pub(super) fn counts_the_attempts(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let row = transition::TABLE
        .iter()
        .find(|row| row.event == entry.doing.event);
    let expected = match row.map(|row| row.attempt) {
        Some(AttemptStep::Next) => before.attempt.checked_add(1),
        Some(AttemptStep::GiveBack) => before.attempt.checked_sub(1),
        Some(AttemptStep::Reset) => Some(0),
        Some(AttemptStep::Keep) | None => Some(before.attempt),
    };
    if Some(entry.attempt) != expected {
        let expected = format!("attempts counted: {}", shown(expected.as_ref()));
        findings.event(Law::L6, entry, expected, entry.attempt.to_string());
    }
}

/// A job stays under its policy version until it is redriven, and the ledger has that version.
pub(super) fn keeps_its_policy(
    before: &Replay,
    entry: &Entry,
    rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let may_change = matches!(entry.doing.event, EventKind::Enqueue | EventKind::Redrive);
    if !may_change && before.policy.as_ref() != Some(&entry.policy) {
        let expected = format!("policy {}", shown(before.policy.as_ref()));
        findings.event(Law::L6, entry, expected, entry.policy.to_string());
    } else if rules.policy(&entry.policy).is_none() {
        let expected = "a policy of this ledger";
        findings.event(Law::L6, entry, expected, entry.policy.to_string());
    }
}

/// The age budget counts from the first claim of a drive.
pub(super) fn keeps_its_first_attempt(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let begins = entry.doing.event == EventKind::Claim && before.first_attempt_at.is_none();
    let expected = if begins {
        Some(entry.at)
    } else {
        before.first_attempt_at
    };
    if entry.first_attempt_at != expected {
        let expected = format!("first attempt at {}", shown(expected.as_ref()));
        let found = shown(entry.first_attempt_at.as_ref());
        findings.event(Law::L6, entry, expected, found);
    }
}

/// An event into a waiting state says until when, one out of it repeats that, any other says
/// nothing.
pub(super) fn carries_its_moment(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let waits = entry.to.waits_for_a_moment();
    let waited = before.state.is_some_and(State::waits_for_a_moment);
    let enters = waits && before.state != Some(entry.to);
    let found = shown(entry.available_at.as_ref());
    if enters {
        if entry.available_at.is_none() {
            findings.event(Law::L6, entry, "the moment that it waits for", found);
        }
        return;
    }
    let expected = match before.due {
        Due::At(moment) if waits || waited => Some(moment),
        Due::Unknown if waits || waited => return,
        Due::At(_) | Due::Unknown | Due::NotAfter(_) | Due::After(..) => None,
    };
    if entry.available_at != expected {
        let expected = format!("waits for {}", shown(expected.as_ref()));
        findings.event(Law::L6, entry, expected, found);
    }
}

/// What is not due does not become ready, and no lease is taken back before its end.
pub(super) fn is_not_before_its_moment(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let kind = entry.doing.event;
    if let Due::At(moment) = before.due
        && matches!(kind, EventKind::Due | EventKind::ChildrenDone)
        && entry.at < moment
    {
        let expected = format!("not before {moment}");
        findings.event(Law::L6, entry, expected, entry.at.to_string());
    }
    if let Some(end) = before.lease.end
        && kind == EventKind::LeaseExpire
        && entry.at < end
    {
        let expected = format!("not before the end of the lease, {end}");
        findings.event(Law::L6, entry, expected, entry.at.to_string());
    }
}

/// A failed attempt is retried within the budgets of its policy, and ends the job beyond them.
pub(super) fn is_within_its_budget(
    before: &Replay,
    entry: &Entry,
    rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let Some(policy) = rules.policy(&entry.policy) else {
        return;
    };
    let spent = match entry.doing.event {
        EventKind::Claim => entry.attempt > policy.max_attempts,
        EventKind::Retry => is_spent(before, entry, policy, entry.available_at),
        EventKind::LeaseExpire => {
            let spent = is_spent(before, entry, policy, Some(entry.at));
            if spent == (entry.to == State::Dead) {
                return;
            }
            spent
        }
        EventKind::Enqueue
        | EventKind::ChildrenDone
        | EventKind::Renew
        | EventKind::Succeed
        | EventKind::Exhaust
        | EventKind::Reject
        | EventKind::Release
        | EventKind::Due
        | EventKind::Promote
        | EventKind::Quarantine
        | EventKind::Revoke
        | EventKind::Redrive
        | EventKind::Discard
        | EventKind::Duplicate
        | EventKind::StaleRefused => return,
    };
    let expires = entry.doing.event == EventKind::LeaseExpire;
    if spent || expires {
        let judged = if spent { "an end" } else { "another attempt" };
        let expected = format!(
            "{judged}: policy {} allows {} attempts and {} s from the first, at {}",
            entry.policy,
            policy.max_attempts,
            policy.max_age.as_secs(),
            shown(before.first_attempt_at.as_ref()),
        );
        let next = entry.available_at.unwrap_or(entry.at);
        let found = format!(
            "{} after attempt {}, next at {next}",
            entry.to, entry.attempt
        );
        findings.event(Law::L6, entry, expected, found);
    }
}

/// Whether an attempt that begins at `next` is beyond the budgets. What is not known is not held
/// against the event.
fn is_spent(
    before: &Replay,
    entry: &Entry,
    policy: &Policy,
    next: Option<crate::ledger::audit::Moment>,
) -> bool {
    let until = before
        .first_attempt_at
        .map(|first| first.plus(policy.max_age));
    let too_late = matches!((next, until), (Some(next), Some(until)) if next > until);
    entry.attempt >= policy.max_attempts || too_late
}
