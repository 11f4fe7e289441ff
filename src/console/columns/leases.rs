//! The columns of the list of leases.

use crate::board::format::coarse;
use crate::console::format::NOTHING;
use crate::console::theme::Role;
use crate::ledger::text::SafeText;
use crate::ledger::view::Lease;

use super::Side;
use super::list::{ListColumn, Seen, Width};

/// A column of the list of leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// How long the lease lasts yet, or how long ago it ended.
    Left,
    /// Who holds it.
    Worker,
    /// The queue.
    Queue,
    /// The idempotency key.
    Key,
    /// How long it has been held.
    Held,
    /// How often it was renewed.
    Renewals,
    /// The number of the attempt.
    Attempts,
    /// The attempts that began and were never settled.
    Unsettled,
    /// The tenant.
    Tenant,
    /// The kind of work.
    Kind,
    /// The id.
    Id,
}

/// A lease that ends sooner than this is late to be renewed.
const NEAR_END: std::time::Duration = crate::board::summary::NEAR_EXPIRY;

impl ListColumn for Column {
    type Row = Lease;
    const ALL: &'static [Self] = &[
        Self::Left,
        Self::Worker,
        Self::Queue,
        Self::Key,
        Self::Held,
        Self::Renewals,
        Self::Attempts,
        Self::Unsettled,
        Self::Tenant,
        Self::Kind,
        Self::Id,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Left => "time left",
            Self::Worker => "worker",
            Self::Queue => "queue",
            Self::Key => "key",
            Self::Held => "held",
            Self::Renewals => "renewed",
            Self::Attempts => "tries",
            Self::Unsettled => "unsettled",
            Self::Tenant => "tenant",
            Self::Kind => "kind",
            Self::Id => "id",
        }
    }

    fn width(self) -> Width {
        match self {
            Self::Left => Width::fixed(14),
            Self::Worker => Width::of(10, 14, 24),
            Self::Queue => Width::of(10, 12, 20),
            Self::Key => Width::of(10, 20, 40),
            Self::Held | Self::Attempts => Width::fixed(5),
            Self::Renewals => Width::fixed(7),
            Self::Unsettled => Width::fixed(9),
            Self::Tenant => Width::of(6, 10, 16),
            Self::Kind => Width::of(8, 12, 16),
            Self::Id => Width::fixed(36),
        }
    }

    fn side(self) -> Side {
        match self {
            Self::Renewals | Self::Attempts | Self::Unsettled => Side::Right,
            Self::Left
            | Self::Worker
            | Self::Queue
            | Self::Key
            | Self::Held
            | Self::Tenant
            | Self::Kind
            | Self::Id => Side::Left,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Left => 0,
            Self::Worker => 1,
            Self::Queue => 2,
            Self::Held => 3,
            Self::Renewals => 4,
            Self::Key => 5,
            Self::Attempts => 6,
            Self::Unsettled => 7,
            Self::Tenant => 8,
            Self::Kind => 9,
            Self::Id => 10,
        }
    }

    fn cell(self, lease: &Lease, seen: &Seen) -> (Role, String) {
        let row = &lease.job.row;
        match self {
            Self::Left => left(lease, seen),
            Self::Worker => match &lease.job.worker {
                Some(worker) => (Role::Text, safe(worker)),
                None => (Role::Muted, NOTHING.to_owned()),
            },
            Self::Queue => (Role::Text, safe(&row.queue)),
            Self::Key => (Role::Text, safe(&row.idempotency_key)),
            Self::Held => (Role::Text, seen.age(lease.claimed_at)),
            Self::Renewals => number(lease.renewals, Role::Text),
            Self::Attempts => number(row.attempt, Role::Text),
            Self::Unsettled => number(lease.job.unsettled, Role::Warning),
            Self::Tenant => (Role::Muted, safe(&row.tenant)),
            Self::Kind => (Role::Muted, safe(&row.kind)),
            Self::Id => (Role::Muted, row.id.to_string()),
        }
    }
}

fn safe(text: &SafeText) -> String {
    text.as_str().to_owned()
}

fn number(value: u32, some: Role) -> (Role, String) {
    let role = if value == 0 { Role::Muted } else { some };
    (role, value.to_string())
}

/// A lease that has ended belongs to nobody, and its job to no other worker yet.
fn left(lease: &Lease, seen: &Seen) -> (Role, String) {
    let Some(end) = lease.job.lease_expires_at else {
        return (Role::Muted, NOTHING.to_owned());
    };
    if end <= seen.now {
        return (
            Role::Critical,
            format!("▲ ended {}", coarse(seen.now.since(end))),
        );
    }
    let left = seen.until(end);
    if left <= NEAR_END {
        (Role::Warning, format!("△ {}", coarse(left)))
    } else {
        (Role::Text, coarse(left))
    }
}
