//! A row rebuilt from its events: the fold that law L8 speaks of.
//!
//! Owns what each event does to a row. It judges nothing: an event that breaks a law is applied as
//! it stands, so that one breach is reported once and not again at every event after it. Where an
//! event is missing, what only that event could have told is unknown from there on. Next: `laws`.

use crate::ledger::audit::{Doing, Entry, LastFailure, Moment, PolicyRef, Unreadable};
use crate::ledger::event::{ActorKind, EventKind};
use crate::ledger::policy::Policy;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::transition::{self, Failure, UnsettledStep};

use super::rules::Rulebook;

/// When a row may run, as far as its events tell: not every event says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Due {
    /// No event said it.
    #[default]
    Unknown,
    /// At this moment.
    At(Moment),
    /// At this moment or before it: the job became ready then.
    NotAfter(Moment),
    /// After this moment, or the event of that number exhausted a job within its budgets.
    After(Moment, u32),
}

/// Who holds a job, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Lease {
    pub(super) holder: Option<SafeText>,
    pub(super) end: Option<Moment>,
}

/// How a job came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Created {
    pub(super) at: Moment,
    pub(super) to: State,
    /// Whether its moment lay ahead.
    pub(super) waits: bool,
}

/// A row as its events so far make it. Before the first event it is in no state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Replay {
    pub(super) version: u32,
    pub(super) at: Moment,
    pub(super) state: Option<State>,
    pub(super) since: Moment,
    pub(super) created: Option<Created>,
    pub(super) queue: Option<SafeText>,
    pub(super) idempotency_key: Option<SafeText>,
    pub(super) fence: u32,
    pub(super) attempt: u32,
    pub(super) redrives: u32,
    pub(super) unsettled: u32,
    pub(super) due: Due,
    pub(super) first_attempt_at: Option<Moment>,
    pub(super) lease: Lease,
    pub(super) policy: Option<PolicyRef>,
    /// `None` where a missing event may have set it.
    pub(super) failure: Option<LastFailure>,
    pub(super) output_ref: Option<SafeText>,
    pub(super) doing: Option<Doing>,
    /// The event that ended the last attempt that ended.
    pub(super) settled: Option<u32>,
    /// The event that ended the wait for a moment or for children.
    pub(super) left_pending: Option<(u32, EventKind)>,
    /// The plans that acted on the job.
    pub(super) plans: Vec<SafeText>,
    /// Whether an event was missing or could not be understood.
    pub(super) torn: bool,
}

impl Replay {
    /// The job's queue, once an event said it.
    pub(super) const fn queue(&self) -> Option<&SafeText> {
        self.queue.as_ref()
    }

    /// Whether everything is known of the row that `entry` found.
    pub(super) fn continues_with(&self, entry: &Entry) -> bool {
        let unknown = self.torn && self.state.is_none();
        !unknown && self.version.checked_add(1) == Some(entry.version)
    }

    /// Notes an event that cannot be understood.
    pub(super) fn lose(&mut self, unreadable: &Unreadable) {
        let version = unreadable.version.and_then(|v| u32::try_from(v).ok());
        self.version = version.unwrap_or(self.version);
        self.torn = true;
        self.state = None;
    }

    /// Does to the row what the event says.
    pub(super) fn apply(&mut self, entry: &Entry, rules: &Rulebook<'_>) {
        if !self.continues_with(entry) {
            self.tear(entry);
        }
        self.due = self.due_after(entry, rules);
        self.take_failure(entry);
        self.take_counts(entry);
        self.take_lease(entry);
        self.take_turns(entry);
        if self.state != Some(entry.to) {
            self.since = entry.at;
        }
        let operates = entry.doing.actor_kind == ActorKind::Operator;
        self.plans
            .extend(entry.doing.plan.clone().filter(|_plan| operates));
        self.version = entry.version;
        self.at = entry.at;
        self.state = Some(entry.to);
        self.queue = Some(entry.queue.clone());
        self.policy = Some(entry.policy.clone());
        self.doing = Some(entry.doing.clone());
    }

    /// Takes the event's word for the row that it found.
    fn tear(&mut self, entry: &Entry) {
        self.torn = true;
        self.state = entry.from;
        self.since = entry.from_since.unwrap_or(entry.at);
        self.due = Due::Unknown;
        self.failure = None;
    }

    fn due_after(&self, entry: &Entry, rules: &Rulebook<'_>) -> Due {
        match entry.doing.event {
            EventKind::Enqueue | EventKind::LeaseExpire if entry.to == State::Ready => {
                Due::NotAfter(entry.at)
            }
            EventKind::Promote | EventKind::Redrive => Due::NotAfter(entry.at),
            EventKind::Enqueue | EventKind::Retry => {
                entry.available_at.map_or(Due::Unknown, Due::At)
            }
            EventKind::LeaseExpire => Due::Unknown,
            EventKind::Exhaust => rules
                .policy(&entry.policy)
                .and_then(|policy| self.unspent_until(entry, policy))
                .map_or(Due::Unknown, |until| Due::After(until, entry.version)),
            EventKind::ChildrenDone
            | EventKind::Claim
            | EventKind::Renew
            | EventKind::Succeed
            | EventKind::Reject
            | EventKind::Release
            | EventKind::Due
            | EventKind::Quarantine
            | EventKind::Revoke
            | EventKind::Discard
            | EventKind::Duplicate
            | EventKind::StaleRefused => self.due,
        }
    }

    /// The moment up to which another attempt may begin, unless the budgets are spent as far as
    /// the event itself shows.
    pub(super) fn unspent_until(&self, entry: &Entry, policy: &Policy) -> Option<Moment> {
        let until = self.first_attempt_at?.plus(policy.max_age);
        (entry.attempt < policy.max_attempts && entry.at <= until).then_some(until)
    }

    fn take_failure(&mut self, entry: &Entry) {
        let entered = failure(entry) == Some(Failure::Entered);
        if entered || entry.doing.event == EventKind::Enqueue {
            self.failure = Some(entry.failure.clone());
        }
    }

    fn take_counts(&mut self, entry: &Entry) {
        let kind = entry.doing.event;
        self.fence = entry.fence;
        self.attempt = entry.attempt;
        // The event of a redrive tells when the drive that it ends began.
        self.first_attempt_at = entry
            .first_attempt_at
            .filter(|_first| kind != EventKind::Redrive);
        if kind == EventKind::Redrive {
            self.redrives = self.redrives.saturating_add(1);
        }
        if unsettled(entry) == Some(UnsettledStep::Next) {
            self.unsettled = self.unsettled.saturating_add(1);
        }
        if kind == EventKind::Succeed {
            self.output_ref.clone_from(&entry.output_ref);
        }
    }

    fn take_lease(&mut self, entry: &Entry) {
        self.lease = if entry.to == State::Running {
            Lease {
                holder: entry.worker.clone(),
                end: entry.lease_expires_at,
            }
        } else {
            Lease::default()
        };
    }

    /// Notes the turns of a job's life that laws come back to.
    fn take_turns(&mut self, entry: &Entry) {
        let kind = entry.doing.event;
        if kind == EventKind::Enqueue {
            self.created = Some(Created {
                at: entry.at,
                to: entry.to,
                waits: entry.available_at.is_some_and(|due| due > entry.at),
            });
            self.idempotency_key.clone_from(&entry.idempotency_key);
        }
        if self.state == Some(State::Running) && entry.to != State::Running {
            self.settled = Some(entry.version);
        }
        if self.state == Some(State::Pending) && entry.to == State::Ready {
            self.left_pending = Some((entry.version, kind));
        }
    }
}

/// What the table says about the failure of such an event, whoever causes it.
pub(super) fn failure(entry: &Entry) -> Option<Failure> {
    let row = transition::TABLE
        .iter()
        .find(|row| row.event == entry.doing.event && row.from == entry.from && row.to == entry.to);
    row.map(|row| row.failure)
}

/// What the table says about attempts whose outcome is unknown, of such an event by that actor.
fn unsettled(entry: &Entry) -> Option<UnsettledStep> {
    let doing = &entry.doing;
    let row = transition::find(doing.event, entry.from, entry.to, doing.actor_kind);
    row.map(|row| row.unsettled)
}
