//! The eight states of a job: who brings a job into each, who moves it on, how long it may stay.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The current state of a job, as the column `jobs.state` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for its first due time, or, as a parent, for its required children. A producer brings
    /// it here; housekeeping moves it on. It may stay as long as the wait lasts.
    Pending,
    /// May run now: what is not due is never ready. A claim moves it on; how long it stays is the
    /// queue age, the first number on the board.
    Ready,
    /// Held by one worker under a lease and a fence. The worker settles it, or housekeeping takes
    /// it back when the lease runs out; it may stay as long as the lease is renewed.
    Running,
    /// Failed and waits in the ledger for its next attempt. Housekeeping moves it on when it is
    /// due.
    RetryWait,
    /// Done; its output reference was written in the same transaction. Terminal: left by nothing.
    Succeeded,
    /// Its attempt or age budget is spent. An operator moves it on (redrive, quarantine, discard).
    Dead,
    /// Failed permanently, or was set aside by an operator. An operator moves it on (redrive,
    /// discard).
    Quarantined,
    /// A dead letter that someone reviewed and closed. Terminal: left by nothing.
    Discarded,
}

impl State {
    /// Every state, in the order in which screens and tables list them.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Ready,
        Self::Running,
        Self::RetryWait,
        Self::Succeeded,
        Self::Dead,
        Self::Quarantined,
        Self::Discarded,
    ];

    /// The states that a board counts: every state but `succeeded` and `discarded`, which only
    /// grow.
    pub const LIVE: [Self; 6] = [
        Self::Pending,
        Self::Ready,
        Self::Running,
        Self::RetryWait,
        Self::Dead,
        Self::Quarantined,
    ];

    /// The name in the database, on screens and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::RetryWait => "retry_wait",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::Quarantined => "quarantined",
            Self::Discarded => "discarded",
        }
    }

    /// The state of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether nothing ever leaves this state.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Discarded => true,
            Self::Pending
            | Self::Ready
            | Self::Running
            | Self::RetryWait
            | Self::Dead
            | Self::Quarantined => false,
        }
    }

    /// Whether a job in this state is a dead letter: it waits for a person.
    pub const fn is_dead_letter(self) -> bool {
        match self {
            Self::Dead | Self::Quarantined => true,
            Self::Pending
            | Self::Ready
            | Self::Running
            | Self::RetryWait
            | Self::Succeeded
            | Self::Discarded => false,
        }
    }

    /// Whether a job in this state waits for a moment (`available_at`) rather than for a worker.
    pub const fn waits_for_a_moment(self) -> bool {
        match self {
            Self::Pending | Self::RetryWait => true,
            Self::Ready
            | Self::Running
            | Self::Succeeded
            | Self::Dead
            | Self::Quarantined
            | Self::Discarded => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_found_by_its_own_name() {
        for state in State::ALL {
            assert_eq!(State::parse(state.name()), Some(state));
        }
        assert_eq!(State::parse("Ready"), None);
    }

    #[test]
    fn live_states_are_all_but_those_that_only_grow() {
        let live: Vec<_> = State::ALL
            .into_iter()
            .filter(|state| !state.is_terminal())
            .collect();
        assert_eq!(live, State::LIVE);
    }
}
