//! The record that every change of a job leaves behind, and the only thing a board is made of.
//!
//! An [`Event`] carries all that a fold needs, so that no look-up of a job is ever made to count
//! it. The database writes it in the transaction of the change; nothing updates or removes it.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::error_class::ErrorClass;
use super::state::State;
use super::text::SafeText;
use super::time::Timestamp;

/// What happened to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A producer created the job.
    Enqueue,
    /// Every required child of a parent has succeeded.
    ChildrenDone,
    /// A worker took the job under a lease; attempt and fence rise.
    Claim,
    /// The worker that holds the job moved the end of its lease.
    Renew,
    /// The attempt did its work.
    Succeed,
    /// The attempt failed and another will follow.
    Retry,
    /// The attempt failed and the attempt or age budget is spent.
    Exhaust,
    /// The attempt failed permanently.
    Reject,
    /// An orderly shutdown gave the attempt back.
    Release,
    /// The lease ran out before the attempt was settled.
    LeaseExpire,
    /// The moment the job waited for has come.
    Due,
    /// An operator ended the wait early.
    Promote,
    /// An operator set the job aside.
    Quarantine,
    /// An operator took a running job from its worker and set it aside.
    Revoke,
    /// An operator sent a dead letter back to work.
    Redrive,
    /// An operator closed a dead letter for good.
    Discard,
    /// A repeated enqueue or delivery was recognised and suppressed.
    Duplicate,
    /// A settle or renewal with an old fence was refused.
    StaleRefused,
}

impl EventKind {
    /// Every kind, in the order of the table of transitions.
    pub const ALL: [Self; 18] = [
        Self::Enqueue,
        Self::ChildrenDone,
        Self::Claim,
        Self::Renew,
        Self::Succeed,
        Self::Retry,
        Self::Exhaust,
        Self::Reject,
        Self::Release,
        Self::LeaseExpire,
        Self::Due,
        Self::Promote,
        Self::Quarantine,
        Self::Revoke,
        Self::Redrive,
        Self::Discard,
        Self::Duplicate,
        Self::StaleRefused,
    ];

    /// The name in the database, on screens and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::ChildrenDone => "children_done",
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Succeed => "succeed",
            Self::Retry => "retry",
            Self::Exhaust => "exhaust",
            Self::Reject => "reject",
            Self::Release => "release",
            Self::LeaseExpire => "lease_expire",
            Self::Due => "due",
            Self::Promote => "promote",
            Self::Quarantine => "quarantine",
            Self::Revoke => "revoke",
            Self::Redrive => "redrive",
            Self::Discard => "discard",
            Self::Duplicate => "duplicate",
            Self::StaleRefused => "stale_refused",
        }
    }

    /// The kind of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Who causes an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// Enqueues jobs.
    Producer,
    /// Claims jobs and settles attempts.
    Worker,
    /// Housekeeping: due times, leases, parents.
    System,
    /// A person, through the console, the command line or SQL.
    Operator,
}

impl ActorKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Producer, Self::Worker, Self::System, Self::Operator];

    /// The name in the database, on screens and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Worker => "worker",
            Self::System => "system",
            Self::Operator => "operator",
        }
    }

    /// The kind of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A class and reason that jobs are counted by. Both are `None` for a job that was set aside by an
/// operator before it ever failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FailureKey {
    /// The class that decided scheduling.
    pub class: Option<ErrorClass>,
    /// The registered reason.
    pub reason: Option<SafeText>,
}

/// One recorded change of a job, with everything a fold needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The job.
    pub job: Uuid,
    /// The number of this event among the job's events, from 1, without a gap.
    pub version: u32,
    /// What happened.
    pub kind: EventKind,
    /// When, by the database's clock; never before the job's previous event.
    pub at: Timestamp,
    /// The job's queue.
    pub queue: SafeText,
    /// The state before; `None` for `enqueue`.
    pub from: Option<State>,
    /// When the state before was entered; `None` for `enqueue`.
    pub from_since: Option<Timestamp>,
    /// The state after.
    pub to: State,
    /// The attempts counted after the event.
    pub attempt: u32,
    /// Who caused it.
    pub actor_kind: ActorKind,
    /// The name of who caused it, as they gave it.
    pub actor: SafeText,
    /// The holder of the lease that the event takes, moves or ends.
    pub worker: Option<SafeText>,
    /// The failure that the event records or leaves; see [`super::transition::Failure`].
    pub failure: FailureKey,
    /// The moment that the waiting state entered or left waits for.
    pub available_at: Option<Timestamp>,
    /// The end of the lease taken or moved (after the event), or ended (before it).
    pub lease_expires_at: Option<Timestamp>,
    /// For `renew` only: the end of the lease before the event.
    pub from_lease_expires_at: Option<Timestamp>,
    /// When the first attempt of this drive began.
    pub first_attempt_at: Option<Timestamp>,
    /// What the actor said about it.
    pub note: Option<SafeText>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_own_name() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.name()), Some(kind));
        }
        for kind in ActorKind::ALL {
            assert_eq!(ActorKind::parse(kind.name()), Some(kind));
        }
    }
}
