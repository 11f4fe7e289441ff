//! The columns of a list of jobs.

use crate::console::format::NOTHING;
use crate::console::theme::Role;
use crate::ledger::error_class::ErrorClass;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::view::ListedJob;

use super::Side;
use super::list::{ListColumn, Seen, Width};

/// A column of the list of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// How long the job has been in its state.
    Age,
    /// The state.
    State,
    /// The queue.
    Queue,
    /// The idempotency key.
    Key,
    /// The kind of work.
    Kind,
    /// The tenant.
    Tenant,
    /// The attempts counted in this drive.
    Attempts,
    /// How often it was redriven.
    Redrives,
    /// The last failure's class.
    Class,
    /// The last failure's reason.
    Reason,
    /// The last failure's message.
    Error,
    /// The holder of the lease.
    Worker,
    /// The policy and its version.
    Policy,
    /// When it was created.
    Created,
    /// When it may run.
    Due,
    /// The id.
    Id,
}

impl ListColumn for Column {
    type Row = ListedJob;
    const ALL: &'static [Self] = &[
        Self::Age,
        Self::State,
        Self::Queue,
        Self::Key,
        Self::Kind,
        Self::Tenant,
        Self::Attempts,
        Self::Redrives,
        Self::Class,
        Self::Reason,
        Self::Error,
        Self::Worker,
        Self::Policy,
        Self::Created,
        Self::Due,
        Self::Id,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::State => "state",
            Self::Queue => "queue",
            Self::Key => "key",
            Self::Kind => "kind",
            Self::Tenant => "tenant",
            Self::Attempts => "tries",
            Self::Redrives => "redr",
            Self::Class => "class",
            Self::Reason => "reason",
            Self::Error => "error",
            Self::Worker => "worker",
            Self::Policy => "policy",
            Self::Created => "created",
            Self::Due => "due",
            Self::Id => "id",
        }
    }

    fn width(self) -> Width {
        match self {
            Self::Age => Width::fixed(6),
            Self::State => Width::fixed(11),
            Self::Queue | Self::Worker => Width::of(10, 12, 20),
            Self::Key => Width::of(14, 24, 40),
            Self::Kind => Width::of(8, 12, 16),
            Self::Tenant => Width::of(6, 10, 16),
            Self::Attempts => Width::fixed(5),
            Self::Redrives => Width::fixed(4),
            Self::Class => Width::fixed(9),
            Self::Reason => Width::of(12, 16, 20),
            Self::Error => Width::of(16, 24, 200),
            Self::Policy => Width::of(9, 12, 16),
            Self::Created | Self::Due => Width::fixed(8),
            Self::Id => Width::fixed(36),
        }
    }

    fn side(self) -> Side {
        match self {
            Self::Attempts | Self::Redrives => Side::Right,
            Self::Age
            | Self::State
            | Self::Queue
            | Self::Key
            | Self::Kind
            | Self::Tenant
            | Self::Class
            | Self::Reason
            | Self::Error
            | Self::Worker
            | Self::Policy
            | Self::Created
            | Self::Due
            | Self::Id => Side::Left,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Key => 0,
            Self::State => 1,
            Self::Age => 2,
            Self::Reason => 3,
            Self::Queue => 4,
            Self::Attempts => 5,
            Self::Error => 6,
            Self::Worker => 7,
            Self::Tenant => 8,
            Self::Kind => 9,
            Self::Redrives => 10,
            Self::Class => 11,
            Self::Due => 12,
            Self::Created => 13,
            Self::Policy => 14,
            Self::Id => 15,
        }
    }

    fn cell(self, job: &ListedJob, seen: &Seen) -> (Role, String) {
        let row = &job.row;
        match self {
            Self::Age => (Role::Text, seen.age(row.state_since)),
            Self::State => (state_role(row.state), row.state.name().to_owned()),
            Self::Queue => (Role::Text, row.queue.as_str().to_owned()),
            Self::Key => (Role::Text, row.idempotency_key.as_str().to_owned()),
            Self::Kind => (Role::Muted, row.kind.as_str().to_owned()),
            Self::Tenant => (Role::Muted, row.tenant.as_str().to_owned()),
            Self::Attempts => number(row.attempt),
            Self::Redrives => number(row.redrives),
            Self::Class => word(job.class.map(ErrorClass::name)),
            Self::Reason => word(job.reason.as_ref().map(SafeText::as_str)),
            Self::Error => word(job.error.as_ref().map(SafeText::as_str)),
            Self::Worker => word(job.worker.as_ref().map(SafeText::as_str)),
            Self::Policy => {
                let policy = format!("{}@{}", job.policy, job.policy_version);
                (Role::Muted, policy)
            }
            Self::Created => (Role::Muted, seen.clock.moment(job.created_at, seen.now)),
            Self::Due => due(job, seen),
            Self::Id => (Role::Muted, row.id.to_string()),
        }
    }
}

fn number(value: u32) -> (Role, String) {
    let role = if value == 0 { Role::Muted } else { Role::Text };
    (role, value.to_string())
}

fn word(value: Option<&str>) -> (Role, String) {
    match value {
        Some(text) => (Role::Text, text.to_owned()),
        None => (Role::Muted, NOTHING.to_owned()),
    }
}

/// Only a job that waits for a moment is due at one.
fn due(job: &ListedJob, seen: &Seen) -> (Role, String) {
    match job.row.state {
        State::Pending | State::RetryWait => {
            let wait = seen.until(job.row.available_at);
            let text = if wait.is_zero() {
                "now".to_owned()
            } else {
                format!("in {}", crate::board::format::coarse(wait))
            };
            (Role::Text, text)
        }
        State::Ready
        | State::Running
        | State::Succeeded
        | State::Dead
        | State::Quarantined
        | State::Discarded => (Role::Muted, NOTHING.to_owned()),
    }
}

/// How a state is coloured: what calls for a person stands out.
pub const fn state_role(state: State) -> Role {
    match state {
        State::Dead | State::Quarantined => Role::Warning,
        State::Running => Role::Accent,
        State::Succeeded => Role::Good,
        State::Ready | State::RetryWait => Role::Text,
        State::Pending | State::Discarded => Role::Muted,
    }
}
