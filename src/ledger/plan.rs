//! A plan: a bulk operation on jobs frozen when it was approved, carried out step by step.
//!
//! Pure. What a plan may become stands in [`PLAN_TABLE`], once here and once as rows of the
//! database's `plan_transitions`, held equal by a test. How a plan goes on, and when it stops by
//! itself, is decided in [`next_step`] and nowhere else; the database keeps it, `operate` carries
//! it out. Next: `store::Plans`.

use std::fmt;

use uuid::Uuid;

use super::error_class::ErrorClass;
use super::event::{ActorKind, FailureKey};
use super::job::Operation;
use super::text::SafeText;
use super::time::Timestamp;

mod step;

pub use step::{BatchStanding, Chunk, FailedAgain, Standing, Step, StopWhy, next_step};

/// The most jobs of one batch, and of one transaction.
pub const PLAN_BATCH_MAX: u32 = 1_000;

/// Where a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlanState {
    /// Its jobs are being frozen; nothing was approved yet. Whoever makes it approves or cancels
    /// it.
    Draft,
    /// Approved or under way; an executor may take it.
    Running,
    /// Held by an operator; goes on with `resume`.
    Paused,
    /// Stopped by itself, see [`Plan::stop_reason`]; the jobs not yet touched stay as they are. An
    /// operator may resume it, which is recorded; it then begins again with one job, alone.
    Stopped,
    /// Every job has been dealt with. Left by nothing.
    Done,
    /// Ended by an operator; left by nothing.
    Cancelled,
}

impl PlanState {
    /// Every state, in the order in which a plan may go through them.
    pub const ALL: [Self; 6] = [
        Self::Draft,
        Self::Running,
        Self::Paused,
        Self::Stopped,
        Self::Done,
        Self::Cancelled,
    ];

    /// The name in the database, on screens and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether nothing ever leaves this state.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Done | Self::Cancelled => true,
            Self::Draft | Self::Running | Self::Paused | Self::Stopped => false,
        }
    }
}

impl fmt::Display for PlanState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What happened to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlanEvent {
    /// An operator began to freeze jobs.
    Draft,
    /// An operator approved it: its jobs never change again.
    Approve,
    /// An executor took it, for the first time or from one whose lease ran out.
    Take,
    /// An operator holds it.
    Pause,
    /// An operator lets it go on.
    Resume,
    /// It stopped by itself.
    Stop,
    /// Every job has been dealt with.
    Finish,
    /// An operator ended it.
    Cancel,
}

impl PlanEvent {
    /// Every event.
    pub const ALL: [Self; 8] = [
        Self::Draft,
        Self::Approve,
        Self::Take,
        Self::Pause,
        Self::Resume,
        Self::Stop,
        Self::Finish,
        Self::Cancel,
    ];

    /// The name in the database, on screens and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Approve => "approve",
            Self::Take => "take",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Stop => "stop",
            Self::Finish => "finish",
            Self::Cancel => "cancel",
        }
    }

    /// The event of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The state that it leads to.
    pub const fn leads_to(self) -> PlanState {
        match self {
            Self::Draft => PlanState::Draft,
            Self::Approve | Self::Take | Self::Resume => PlanState::Running,
            Self::Pause => PlanState::Paused,
            Self::Stop => PlanState::Stopped,
            Self::Finish => PlanState::Done,
            Self::Cancel => PlanState::Cancelled,
        }
    }
}

impl fmt::Display for PlanEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One legal move of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanMove {
    /// What happened.
    pub event: PlanEvent,
    /// The state before; `None` only for the event that creates the plan.
    pub from: Option<PlanState>,
    /// The state after.
    pub to: PlanState,
    /// Who causes it: operators decide, the executor is the system.
    pub actor: ActorKind,
}

const fn by(actor: ActorKind, event: PlanEvent, from: Option<PlanState>) -> PlanMove {
    PlanMove {
        event,
        from,
        to: event.leads_to(),
        actor,
    }
}

use ActorKind::{Operator, System};
use PlanEvent as E;
use PlanState as S;

/// Every legal move of a plan. What is not here is refused.
pub const PLAN_TABLE: [PlanMove; 12] = [
    by(Operator, E::Draft, None),
    by(Operator, E::Approve, Some(S::Draft)),
    by(System, E::Take, Some(S::Running)),
    by(Operator, E::Pause, Some(S::Running)),
    by(Operator, E::Resume, Some(S::Paused)),
    by(Operator, E::Resume, Some(S::Stopped)),
    by(System, E::Stop, Some(S::Running)),
    by(System, E::Finish, Some(S::Running)),
    by(Operator, E::Cancel, Some(S::Draft)),
    by(Operator, E::Cancel, Some(S::Running)),
    by(Operator, E::Cancel, Some(S::Paused)),
    by(Operator, E::Cancel, Some(S::Stopped)),
];

/// Whether `event` may move a plan that is in `from`.
pub fn may(event: PlanEvent, from: PlanState) -> bool {
    PLAN_TABLE
        .iter()
        .any(|row| row.event == event && row.from == Some(from))
}

/// How a plan advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Whether one job goes first, alone, and is waited for (a redrive), or not (the rest).
    pub canary: bool,
    /// The most jobs of one batch, 1 to [`PLAN_BATCH_MAX`]; batches grow 1, 10, 100 up to it.
    pub batch_max: u32,
    /// The most jobs a second; 0 for no bound.
    pub rate_per_s: u32,
    /// The share of a batch, in percent, above which deaths stop the plan.
    pub stop_percent: u8,
}

impl Pace {
    /// The usual pace of an operation: a redrive tests one job first.
    pub const fn of(operation: Operation) -> Self {
        Self {
            canary: matches!(operation, Operation::Redrive),
            batch_max: PLAN_BATCH_MAX,
            rate_per_s: 0,
            stop_percent: 20,
        }
    }

    /// How many jobs the batch with this number has, counted from where the growth began.
    pub fn batch_size(self, grown: u32) -> u32 {
        if self.canary {
            10_u32.saturating_pow(grown).min(self.batch_max).max(1)
        } else {
            self.batch_max
        }
    }
}

/// What became of the jobs of a plan so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Frozen into it.
    pub total: u64,
    /// Not yet touched.
    pub waiting: u64,
    /// Redriven, and not yet terminal again.
    pub open: u64,
    /// Succeeded since, or simply done where nothing is to follow.
    pub succeeded: u64,
    /// Dead letters again.
    pub failed: u64,
    /// Changed since they were frozen; left alone.
    pub stale: u64,
    /// Refused by the table of transitions; left alone.
    pub refused: u64,
    /// Gone: there is no such job.
    pub missing: u64,
}

/// One plan, as listings and its own screen show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its id; every event it causes carries it.
    pub id: Uuid,
    /// What it does to each job.
    pub operation: Operation,
    /// Where it stands.
    pub state: PlanState,
    /// How many moves it has made; an act on it is bound to this number.
    pub version: u32,
    /// The filter that its jobs were frozen from, as it was written.
    pub query: SafeText,
    /// Why.
    pub reason: SafeText,
    /// Who made it, and from where.
    pub actor: SafeText,
    /// When.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// How it advances.
    pub pace: Pace,
    /// The batch under way, from 0 (the canary, where there is one).
    pub batch: u32,
    /// How its jobs stand.
    pub progress: Progress,
    /// Why it stopped, was paused or cancelled.
    pub stop_reason: Option<SafeText>,
    /// Who is carrying it out, while the lease lasts.
    pub executor: Option<SafeText>,
    /// When that lease ends.
    pub lease_expires_at: Option<Timestamp>,
}

/// A job as it was seen when somebody decided to act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// The job.
    pub job: Uuid,
    /// The version that was seen; another one makes the act stale.
    pub version: u32,
}

/// What became of one job of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobOutcome {
    /// Not touched yet.
    Waiting,
    /// Redriven, and not yet terminal again.
    Open,
    /// Done; nothing is to follow.
    Applied,
    /// Redriven, and succeeded since.
    Succeeded,
    /// Redriven, and a dead letter again.
    Failed,
    /// Changed since it was frozen; left alone.
    Stale,
    /// Refused by the table of transitions; left alone.
    Refused,
    /// There is no such job.
    Missing,
}

impl JobOutcome {
    /// Every outcome.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Open,
        Self::Applied,
        Self::Succeeded,
        Self::Failed,
        Self::Stale,
        Self::Refused,
        Self::Missing,
    ];

    /// The name in the database (where `waiting` is no value), on screens and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Open => "open",
            Self::Applied => "applied",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Stale => "stale",
            Self::Refused => "refused",
            Self::Missing => "missing",
        }
    }

    /// The outcome of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

/// One job of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanJob {
    /// Its place in the plan, from 0.
    pub position: u32,
    /// The job.
    pub job: Uuid,
    /// Its version when it was frozen.
    pub version: u32,
    /// The failure that it had then.
    pub had: FailureKey,
    /// The batch that it went with.
    pub batch: Option<u32>,
    /// What became of it.
    pub outcome: JobOutcome,
    /// Its version after the plan's event.
    pub version_after: Option<u32>,
    /// The failure that it had after that.
    pub result: FailureKey,
}

/// What an operator, or the executor, did to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// The number of the move, from 1.
    pub number: u32,
    /// What.
    pub event: PlanEvent,
    /// The state after.
    pub to: PlanState,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: SafeText,
    /// Why.
    pub note: Option<SafeText>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for state in PlanState::ALL {
            assert_eq!(PlanState::parse(state.name()), Some(state));
        }
        for event in PlanEvent::ALL {
            assert_eq!(PlanEvent::parse(event.name()), Some(event));
        }
        for outcome in JobOutcome::ALL {
            assert_eq!(JobOutcome::parse(outcome.name()), Some(outcome));
        }
    }

    #[test]
    fn nothing_leaves_a_plan_that_is_over_and_every_state_is_reached() {
        for state in PlanState::ALL {
            let left = PLAN_TABLE.iter().any(|row| row.from == Some(state));
            assert_eq!(left, !state.is_over(), "{state}");
            assert!(PLAN_TABLE.iter().any(|row| row.to == state), "{state}");
        }
    }

    #[test]
    fn only_operators_begin_resume_or_end_a_plan() {
        for row in &PLAN_TABLE {
            let by_itself = matches!(
                row.event,
                PlanEvent::Take | PlanEvent::Stop | PlanEvent::Finish
            );
            assert_eq!(row.actor == System, by_itself, "{row:?}");
        }
    }

    #[test]
    fn batches_grow_tenfold_up_to_their_bound() {
        let pace = Pace {
            batch_max: 250,
            ..Pace::of(Operation::Redrive)
        };
        let sizes: Vec<u32> = (0..5).map(|grown| pace.batch_size(grown)).collect();
        assert_eq!(sizes, [1, 10, 100, 250, 250]);
        assert_eq!(pace.batch_size(u32::MAX), 250);
        let plain = Pace::of(Operation::Discard);
        assert_eq!(plain.batch_size(0), PLAN_BATCH_MAX);
    }
}
