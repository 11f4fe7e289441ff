//! L4: fences only grow, and every accepted settle carried the fence then current.
//!
//! The triggers accept a settle of the fence in the row, from the holder of the lease. So the fence
//! that an event carries, its actor and its lease together are what the law leaves behind.

use std::time::Duration;

use crate::ledger::audit::Entry;
use crate::ledger::event::{ActorKind, EventKind};
use crate::ledger::state::State;
use crate::ledger::transition::{self, FenceStep};

use super::{Findings, shown};
use crate::verify::law::Law;
use crate::verify::replay::Replay;
use crate::verify::rules::Rulebook;

/// The longest that a lease lasts from the event that takes or moves it.
const LEASE_MAX: Duration = Duration::from_hours(24);

/// A claim and a revocation raise the fence by one; nothing else moves it.
pub(super) fn moves_the_fence_as_the_table_says(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let row = transition::TABLE
        .iter()
        .find(|row| row.event == entry.doing.event);
    let expected = match row.map(|row| row.fence) {
        Some(FenceStep::Next) => before.fence.saturating_add(1),
        Some(FenceStep::Keep) | None => before.fence,
    };
    if entry.fence != expected {
        let found = format!("fence {}", entry.fence);
        findings.event(Law::L4, entry, format!("fence {expected}"), found);
    }
}

/// A worker settles and renews what it holds.
pub(super) fn is_settled_by_its_holder(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let held = before.state == Some(State::Running);
    let settles = entry.to != State::Running || entry.doing.event == EventKind::Renew;
    let by_worker = entry.doing.actor_kind == ActorKind::Worker;
    let holder = before.lease.holder.as_ref();
    if held && settles && by_worker && holder != Some(&entry.doing.actor) {
        let expected = format!("by the holder of the lease, '{}'", shown(holder));
        findings.event(
            Law::L4,
            entry,
            expected,
            format!("by '{}'", entry.doing.actor),
        );
    }
}

/// An event of a running job names the lease that it takes, moves, keeps or ends; any other names
/// none.
pub(super) fn carries_its_lease(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let kind = entry.doing.event;
    let held = before.state == Some(State::Running);
    if kind == EventKind::Claim {
        if entry.worker.is_none() || entry.lease_expires_at.is_none() {
            let found = "none";
            findings.event(Law::L4, entry, "a holder and the end of its lease", found);
        }
    } else if entry.worker != before.lease.holder {
        let expected = format!("held by {}", shown(before.lease.holder.as_ref()));
        findings.event(Law::L4, entry, expected, shown(entry.worker.as_ref()));
    }
    let moves = kind == EventKind::Claim || kind == EventKind::Renew && held;
    if !moves && entry.lease_expires_at != before.lease.end {
        let expected = format!("lease until {}", shown(before.lease.end.as_ref()));
        let found = shown(entry.lease_expires_at.as_ref());
        findings.event(Law::L4, entry, expected, found);
    }
    let before_renewal = before.lease.end.filter(|_end| kind == EventKind::Renew);
    if entry.from_lease_expires_at != before_renewal {
        let expected = format!("lease before until {}", shown(before_renewal.as_ref()));
        let found = shown(entry.from_lease_expires_at.as_ref());
        findings.event(Law::L4, entry, expected, found);
    }
}

/// A renewal moves the end of a lease on, never back, and no lease lasts longer than a day.
pub(super) fn ends_no_lease_early(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let kind = entry.doing.event;
    if !matches!(kind, EventKind::Claim | EventKind::Renew) {
        return;
    }
    let latest = entry.at.plus(LEASE_MAX);
    if entry.lease_expires_at.is_some_and(|end| end > latest) {
        let expected = format!("lease until {latest} at the latest");
        let found = shown(entry.lease_expires_at.as_ref());
        findings.event(Law::L4, entry, expected, found);
    }
    if kind == EventKind::Renew && entry.lease_expires_at < before.lease.end {
        let expected = format!("lease until {} or later", shown(before.lease.end.as_ref()));
        let found = shown(entry.lease_expires_at.as_ref());
        findings.event(Law::L4, entry, expected, found);
    }
}
