//! A plan: a bulk operation on jobs frozen when it was approved, carried out step by step.
//!
//! Pure. How a plan moves from stage to stage, and when it stops by itself, is decided here and
//! nowhere else; the database keeps it, `operate` carries it out.

use uuid::Uuid;

use super::job::Operation;
use super::text::SafeText;
use super::time::Timestamp;

/// Where a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanState {
    /// Approved or under way; an executor may take it.
    Running,
    /// Held by an operator; goes on with `resume`.
    Paused,
    /// Stopped by itself, see [`Plan::stop_reason`]; the jobs not yet touched stay as they are. An
    /// operator may resume it, which is recorded.
    Stopped,
    /// Every job has been dealt with.
    Done,
    /// Ended by an operator; left by nothing.
    Cancelled,
}

/// How a plan advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Whether one job goes first, alone, and is waited for (a redrive), or not (the rest).
    pub canary: bool,
    /// The most jobs of one batch; batches grow 1, 10, 100 up to it.
    pub batch_max: u32,
    /// The most jobs a second; 0 for no bound.
    pub rate_per_s: u32,
    /// The share of a batch, in percent, whose deaths stop the plan.
    pub stop_percent: u8,
}

/// What became of the jobs of a plan so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Frozen into it.
    pub total: u64,
    /// Not yet touched.
    pub waiting: u64,
    /// Operated on, and (a redrive) not yet terminal again.
    pub open: u64,
    /// Succeeded since, or simply done where nothing is to follow.
    pub succeeded: u64,
    /// Dead letters again.
    pub failed: u64,
    /// Changed since they were frozen; left alone.
    pub stale: u64,
    /// Refused by the table of transitions; left alone.
    pub refused: u64,
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
    /// The filter that its jobs were frozen from, as it was written.
    pub query: SafeText,
    /// Why.
    pub reason: SafeText,
    /// Who approved it, and from where.
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
