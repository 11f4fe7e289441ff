//! The columns of the groups of dead letters.

use crate::console::format::{self, NOTHING};
use crate::console::theme::Role;
use crate::ledger::error_class::ErrorClass;
use crate::ledger::text::SafeText;
use crate::ledger::view::DeadLetterGroup;

use super::Side;
use super::list::{ListColumn, Seen, Width};

/// A column of the groups of dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// How many.
    Count,
    /// The class.
    Class,
    /// The reason.
    Reason,
    /// The fingerprint of the error.
    Fingerprint,
    /// How long ago the first came.
    First,
    /// How long ago the last came.
    Last,
    /// The queues.
    Queues,
    /// The tenants.
    Tenants,
    /// The policies and their versions.
    Policies,
    /// How many were redriven before and died again.
    DiedAgain,
    /// How many have an attempt whose outcome is unknown.
    Unsettled,
    /// How many of them are quarantined.
    Quarantined,
}

impl ListColumn for Column {
    type Row = DeadLetterGroup;
    const ALL: &'static [Self] = &[
        Self::Count,
        Self::Class,
        Self::Reason,
        Self::Fingerprint,
        Self::DiedAgain,
        Self::Last,
        Self::First,
        Self::Queues,
        Self::Tenants,
        Self::Unsettled,
        Self::Quarantined,
        Self::Policies,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Class => "class",
            Self::Reason => "reason",
            Self::Fingerprint => "error",
            Self::First => "first",
            Self::Last => "last",
            Self::Queues => "queues",
            Self::Tenants => "tenants",
            Self::Policies => "policies",
            Self::DiedAgain => "again",
            Self::Unsettled => "unsettled",
            Self::Quarantined => "quar",
        }
    }

    fn width(self) -> Width {
        match self {
            Self::Count => Width::fixed(7),
            Self::Class | Self::Unsettled => Width::fixed(9),
            Self::Reason => Width::of(12, 18, 24),
            Self::Fingerprint => Width::of(12, 30, 200),
            Self::First | Self::Last | Self::DiedAgain => Width::fixed(5),
            Self::Queues => Width::of(8, 14, 24),
            Self::Tenants | Self::Policies => Width::of(8, 12, 20),
            Self::Quarantined => Width::fixed(6),
        }
    }

    fn side(self) -> Side {
        match self {
            Self::Count | Self::DiedAgain | Self::Unsettled | Self::Quarantined => Side::Right,
            Self::Class
            | Self::Reason
            | Self::Fingerprint
            | Self::First
            | Self::Last
            | Self::Queues
            | Self::Tenants
            | Self::Policies => Side::Left,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Reason => 0,
            Self::Count => 1,
            Self::Fingerprint => 2,
            Self::DiedAgain => 3,
            Self::Last => 4,
            Self::Class => 5,
            Self::First => 6,
            Self::Queues => 7,
            Self::Unsettled => 8,
            Self::Quarantined => 9,
            Self::Tenants => 10,
            Self::Policies => 11,
        }
    }

    fn cell(self, group: &DeadLetterGroup, seen: &Seen) -> (Role, String) {
        let all = group.dead.saturating_add(group.quarantined);
        match self {
            Self::Count => number(all, 7, Role::Text),
            Self::Class => match group.class {
                Some(class) => (class_role(class), class.name().to_owned()),
                None => (Role::Muted, NOTHING.to_owned()),
            },
            Self::Reason => match &group.reason {
                Some(reason) => (Role::Text, reason.as_str().to_owned()),
                None => (Role::Muted, "set aside".to_owned()),
            },
            Self::Fingerprint => (Role::Text, group.fingerprint.as_str().to_owned()),
            Self::First => (Role::Text, seen.age(group.first_at)),
            Self::Last => (Role::Text, seen.age(group.last_at)),
            Self::Queues => (Role::Muted, names(&group.queues)),
            Self::Tenants => (Role::Muted, names(&group.tenants)),
            Self::Policies => (Role::Muted, names(&group.policies)),
            Self::DiedAgain => number(group.died_again, 5, Role::Warning),
            Self::Unsettled => number(group.unsettled, 9, Role::Warning),
            Self::Quarantined => number(group.quarantined, 6, Role::Text),
        }
    }
}

fn number(value: u64, columns: u16, some: Role) -> (Role, String) {
    let role = if value == 0 { Role::Muted } else { some };
    (role, format::count_within(value, columns))
}

/// What will fail again as it is stands out from what may succeed.
const fn class_role(class: ErrorClass) -> Role {
    match class {
        ErrorClass::Permanent => Role::Warning,
        ErrorClass::Transient | ErrorClass::Unknown => Role::Text,
    }
}

/// The first name, and how many others there are: `mail +2`.
fn names(counted: &[(SafeText, u64)]) -> String {
    let Some((first, _)) = counted.first() else {
        return NOTHING.to_owned();
    };
    let first = if first.as_str().is_empty() {
        NOTHING
    } else {
        first.as_str()
    };
    match counted.len() {
        1 => first.to_owned(),
        all => format!("{first} +{}", all.saturating_sub(1)),
    }
}
