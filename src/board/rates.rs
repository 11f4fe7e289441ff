//! What happened in the window, by the second: arrivals, departures, retries by reason, and what
//! went wrong with leases and repeated deliveries.

use std::collections::BTreeMap;
use std::time::Duration;

use super::seconds::Seconds;
use super::summary::FlowSummary;
use super::window::{RATE_WINDOW, Reach, WINDOW};
use crate::ledger::event::{Event, EventKind, FailureKey};
use crate::ledger::num;
use crate::ledger::state::State;

/// The events of one queue that windows count, each at its second. Bounded: [`Rates::prune`]
/// forgets what no window reaches, and a kind of event takes one entry a second.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rates {
    arrivals: Seconds,
    departures: Seconds,
    retries: BTreeMap<FailureKey, Seconds>,
    buried: Seconds,
    unburied: Seconds,
    lease_expirations: Seconds,
    duplicates: Seconds,
    stale_refused: Seconds,
    exhausted: Seconds,
    /// The last second in which any of the queue's events happened.
    latest_s: Option<i64>,
}

/// Whether the event ends a job's time as the queue's work: it succeeds or becomes a dead letter. A
/// dead letter that moves among dead letters ended it before.
fn departs(event: &Event) -> bool {
    let was_work = event
        .from
        .is_some_and(|from| !from.is_terminal() && !from.is_dead_letter());
    was_work && (event.to == State::Succeeded || event.to.is_dead_letter())
}

impl Rates {
    /// Notes an event.
    pub(crate) fn note(&mut self, event: &Event) {
        let at_s = event.at.second();
        self.latest_s = self.latest_s.max(Some(at_s));
        match event.kind {
            EventKind::Enqueue | EventKind::Redrive => self.arrivals.add(at_s, 1),
            EventKind::Duplicate => self.duplicates.add(at_s, 1),
            EventKind::StaleRefused => self.stale_refused.add(at_s, 1),
            EventKind::LeaseExpire => self.lease_expirations.add(at_s, 1),
            EventKind::Retry => self.note_retry(&event.failure, at_s),
            EventKind::ChildrenDone
            | EventKind::Claim
            | EventKind::Renew
            | EventKind::Succeed
            | EventKind::Exhaust
            | EventKind::Reject
            | EventKind::Release
            | EventKind::Due
            | EventKind::Promote
            | EventKind::Quarantine
            | EventKind::Revoke
            | EventKind::Discard => {}
        }
        if departs(event) {
            self.departures.add(at_s, 1);
            if event.to == State::Dead {
                self.exhausted.add(at_s, 1);
            }
        }
        let was_buried = event.from.is_some_and(State::is_dead_letter);
        match (was_buried, event.to.is_dead_letter()) {
            (false, true) => self.buried.add(at_s, 1),
            (true, false) => self.unburied.add(at_s, 1),
            (true, true) | (false, false) => {}
        }
    }

    fn note_retry(&mut self, failure: &FailureKey, at_s: i64) {
        if let Some(seconds) = self.retries.get_mut(failure) {
            seconds.add(at_s, 1);
        } else {
            self.retries
                .entry(failure.clone())
                .or_default()
                .add(at_s, 1);
        }
    }

    /// Forgets what no window reaches any more.
    pub(crate) fn prune(&mut self, horizon: i64) {
        for seconds in [
            &mut self.arrivals,
            &mut self.departures,
            &mut self.buried,
            &mut self.unburied,
            &mut self.lease_expirations,
            &mut self.duplicates,
            &mut self.stale_refused,
            &mut self.exhausted,
        ] {
            seconds.prune(horizon);
        }
        self.retries.retain(|_, seconds| {
            seconds.prune(horizon);
            !seconds.is_empty()
        });
    }

    /// The last second in which anything happened.
    pub(crate) fn latest_s(&self) -> Option<i64> {
        self.latest_s
    }

    /// Arrivals a second, over the minute or what is known of it.
    pub(crate) fn in_per_s(&self, reach: Reach) -> f64 {
        per_s(&self.arrivals, reach)
    }

    /// Departures a second, over the minute or what is known of it.
    pub(crate) fn out_per_s(&self, reach: Reach) -> f64 {
        per_s(&self.departures, reach)
    }

    /// Whether at least as many jobs arrived as departed over the last `span`.
    pub(crate) fn did_not_shrink(&self, reach: Reach, span: Duration) -> bool {
        let first = reach.first_s(span);
        self.arrivals.since(first) >= self.departures.since(first)
    }

    /// Net growth of dead letters an hour, over the window or what is known of it, but no less than
    /// a minute, so that one job does not look like a flood.
    pub(crate) fn burials_per_h(&self, reach: Reach) -> f64 {
        let first = reach.first_s(WINDOW);
        let net = num::ratio(self.buried.since(first)) - num::ratio(self.unburied.since(first));
        let covered = reach.covered_s(WINDOW).max(RATE_WINDOW.as_secs_f64());
        net * 3_600.0 / covered
    }

    /// How many jobs became dead letters in the window.
    pub(crate) fn buried(&self, reach: Reach) -> u64 {
        self.buried.since(reach.first_s(WINDOW))
    }

    /// Retries in the window by failure: how many, and how many in the window before.
    pub(crate) fn retries(&self, reach: Reach) -> impl Iterator<Item = (&FailureKey, u64, u64)> {
        let first = reach.first_s(WINDOW);
        let before = reach.first_s(WINDOW.saturating_mul(2));
        self.retries.iter().map(move |(failure, seconds)| {
            let count = seconds.since(first);
            (failure, count, seconds.since(before).saturating_sub(count))
        })
    }

    /// Whether retries because of `failure` happened in any window that is kept.
    pub(crate) fn knows_retries_of(&self, failure: &FailureKey) -> bool {
        self.retries.contains_key(failure)
    }

    /// The counts of the window, without times.
    pub(crate) fn flow(&self, reach: Reach) -> FlowSummary {
        let first = reach.first_s(WINDOW);
        FlowSummary {
            lease_expirations: self.lease_expirations.since(first),
            duplicates: self.duplicates.since(first),
            stale_refused: self.stale_refused.since(first),
            exhausted: self.exhausted.since(first),
            time_to_terminal: None,
        }
    }
}

fn per_s(seconds: &Seconds, reach: Reach) -> f64 {
    let count = seconds.since(reach.first_s(RATE_WINDOW));
    num::ratio(count) / reach.covered_s(RATE_WINDOW)
}
