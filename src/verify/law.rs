//! The ten laws, by number and in words.
//!
//! Next: `replay`.

use std::fmt;

use serde::{Serialize, Serializer};

/// A law of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// Each job's events are a legal run of the table of transitions, numbered without a gap.
    L1,
    /// What ended before another thing began stands before it in the log.
    L2,
    /// What was acknowledged is there.
    L3,
    /// Fences only grow, and every accepted settle carried the fence then current.
    L4,
    /// At most one end per attempt, at most one effect per key.
    L5,
    /// Attempt and age budgets and not-before times hold.
    L6,
    /// Every redrive of a bulk belongs to an approved plan.
    L7,
    /// The stored current row equals the fold of its events.
    L8,
    /// Jobs accepted are the sum over states.
    L9,
    /// Nothing leaves `succeeded` or `discarded`.
    L10,
}

impl Law {
    /// Every law.
    pub const ALL: [Self; 10] = [
        Self::L1,
        Self::L2,
        Self::L3,
        Self::L4,
        Self::L5,
        Self::L6,
        Self::L7,
        Self::L8,
        Self::L9,
        Self::L10,
    ];

    /// Its number, as reports and `docs/verify.md` name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::L5 => "L5",
            Self::L6 => "L6",
            Self::L7 => "L7",
            Self::L8 => "L8",
            Self::L9 => "L9",
            Self::L10 => "L10",
        }
    }

    /// What it says, in a line.
    pub const fn says(self) -> &'static str {
        match self {
            Self::L1 => "each job's events are a legal run, numbered without a gap",
            Self::L2 => "what ended before another thing began stands before it",
            Self::L3 => "what was acknowledged is there",
            Self::L4 => "fences only grow, and every settle carried the current one",
            Self::L5 => "at most one end per attempt, at most one effect per key",
            Self::L6 => "attempt and age budgets and not-before times hold",
            Self::L7 => "every redrive of a bulk belongs to an approved plan",
            Self::L8 => "the current row equals the fold of its events",
            Self::L9 => "jobs accepted are the sum over states",
            Self::L10 => "nothing leaves succeeded or discarded",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Law {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
