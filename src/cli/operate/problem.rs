//! Why a command that acts on jobs or plans did not do all that was asked.
//!
//! Next: `super::super::error`, which makes exit codes of it.

use uuid::Uuid;

use crate::cli::Exit;
use crate::ledger::plan::{PlanEvent, PlanState};
use crate::ledger::text::SafeText;

/// Why not all was done.
#[derive(Debug, thiserror::Error)]
pub enum OperateProblem {
    /// More jobs named than a command line takes.
    #[error("more than {most} jobs are named; name them by --filter; nothing was changed")]
    TooManyNames {
        /// How many are taken.
        most: usize,
    },
    /// Nobody is there to be asked.
    #[error("nobody can be asked here: look with --dry-run, then say --yes; nothing was changed")]
    NeedsYes,
    /// The person said no.
    #[error("not confirmed; nothing was changed")]
    NotConfirmed,
    /// No job would change.
    #[error("no job would change; nothing was done")]
    Nothing,
    /// Some jobs were left alone.
    #[error("not everything was done: {0}")]
    NotWhole(String),
    /// A plan stopped by itself, or somebody stopped it.
    #[error(
        "plan {plan} is {state}{why}; {left} jobs stay as they are; look: \
         ledgertop plan show {plan}"
    )]
    Ended {
        /// Which.
        plan: Uuid,
        /// What it is now.
        state: PlanState,
        /// Why, after a colon.
        why: String,
        /// How many jobs were not touched.
        left: u64,
    },
    /// Another executor has the plan.
    #[error(
        "plan {plan} is carried out by '{executor}' until {until}; nothing was changed; watch it: \
         ledgertop plan show {plan}"
    )]
    Busy {
        /// Which.
        plan: Uuid,
        /// Who has it.
        executor: SafeText,
        /// Until when, unless that executor goes on.
        until: String,
    },
    /// The plan is not in a state that lets this be done.
    #[error("plan {plan} is {state}, and {event} takes {from}; nothing was changed")]
    PlanRefused {
        /// Which.
        plan: Uuid,
        /// What was asked.
        event: PlanEvent,
        /// What it is.
        state: PlanState,
        /// What it would have to be.
        from: String,
    },
    /// A plan that is not under way cannot be carried out.
    #[error("plan {plan} is {state}, and only a running plan is carried out; nothing was changed")]
    NotRunning {
        /// Which.
        plan: Uuid,
        /// What it is.
        state: PlanState,
    },
    /// There is no such plan.
    #[error("there is no plan {0}; list them: ledgertop plan list")]
    NoPlan(Uuid),
}

impl OperateProblem {
    /// The exit code that says so.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::TooManyNames { .. } | Self::NeedsYes => Exit::Usage,
            Self::NotConfirmed
            | Self::Nothing
            | Self::NotWhole(_)
            | Self::Ended { .. }
            | Self::Busy { .. }
            | Self::PlanRefused { .. }
            | Self::NotRunning { .. }
            | Self::NoPlan(_) => Exit::Refused,
        }
    }
}
