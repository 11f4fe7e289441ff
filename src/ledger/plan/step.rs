//! How a plan goes on: where it stands goes in, the next step comes out.
//!
//! The whole rule of "widen only while it holds". It knows no clock and no database: what was
//! counted is handed in, and the step is carried out by `operate::executor`.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use super::{ErrorClass, Pace, PlanState, Progress};
use crate::ledger::text::SafeText;

/// How long to wait before the jobs under way are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// The batch under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchStanding {
    /// Its number.
    pub number: u32,
    /// The number of the batch at which the growth began: 0, or the one after the last resume of a
    /// plan that had stopped.
    pub first: u32,
    /// The jobs operated on in it.
    pub jobs: u32,
    /// Those of them that are not terminal again.
    pub open: u32,
    /// Those of them that are dead letters again.
    pub failed: u32,
}

/// The jobs that were operated on last, in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chunk {
    /// How many.
    pub jobs: u32,
    /// How long ago.
    pub age: Duration,
}

/// A failure that came back after the redrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAgain {
    /// The first job that has it.
    pub job: Uuid,
    /// Its class.
    pub class: ErrorClass,
    /// Its reason.
    pub reason: SafeText,
    /// Whether a job of the plan had this class and reason when it was frozen.
    pub had_before: bool,
}

/// Where a plan stands, as it was just read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: PlanState,
    /// How it advances.
    pub pace: Pace,
    /// How its jobs stand.
    pub progress: Progress,
    /// The batch under way.
    pub batch: BatchStanding,
    /// The last transaction.
    pub chunk: Chunk,
    /// The distinct failures recorded since it was approved or resumed.
    pub failures: Vec<FailedAgain>,
}

/// Why a plan stops by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopWhy {
    /// A job failed permanently again, as a job of the plan had before.
    Again {
        /// The job.
        job: Uuid,
        /// The reason.
        reason: SafeText,
    },
    /// The one job that goes first is a dead letter again.
    Canary,
    /// Too many of a batch are dead letters again.
    Deaths {
        /// How many.
        failed: u32,
        /// Of how many.
        of: u32,
        /// The share that is borne, in percent.
        percent: u8,
    },
}

impl fmt::Display for StopWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again { job, reason } => write!(
                f,
                "job {job} failed again with the same permanent reason '{reason}'"
            ),
            Self::Canary => f.write_str("the job that went first, alone, is a dead letter again"),
            Self::Deaths {
                failed,
                of,
                percent,
            } => write!(
                f,
                "{failed} of a batch of {of} are dead letters again, more than {percent}%"
            ),
        }
    }
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Operate on the next waiting jobs, in one transaction.
    Apply {
        /// The batch that they belong to.
        batch: u32,
        /// At most so many.
        most: u32,
    },
    /// Look again after this time.
    Wait(Duration),
    /// Stop by itself.
    Stop(StopWhy),
    /// Everything is done.
    Finish,
    /// It is not under way: somebody paused, cancelled or ended it.
    Leave,
}

/// What is to be done next with a plan that stands so.
pub fn next_step(plan: &Standing) -> Step {
    match plan.state {
        PlanState::Running => {}
        PlanState::Draft
        | PlanState::Paused
        | PlanState::Stopped
        | PlanState::Done
        | PlanState::Cancelled => return Step::Leave,
    }
    if let Some(why) = stops(plan) {
        return Step::Stop(why);
    }
    if plan.progress.waiting == 0 {
        return if plan.progress.open == 0 {
            Step::Finish
        } else {
            Step::Wait(LOOK_AGAIN)
        };
    }
    let left = size(plan).saturating_sub(plan.batch.jobs);
    if left > 0 {
        return apply(plan, plan.batch.number, left);
    }
    // The next batch begins when all of this one is terminal: what it shows is known only then.
    if plan.batch.open > 0 {
        return Step::Wait(LOOK_AGAIN);
    }
    let next = plan.batch.number.saturating_add(1);
    let size = plan.pace.batch_size(next.saturating_sub(plan.batch.first));
    apply(plan, next, size)
}

/// How many jobs the batch under way has when it is full.
fn size(plan: &Standing) -> u32 {
    let grown = plan.batch.number.saturating_sub(plan.batch.first);
    plan.pace.batch_size(grown)
}

fn stops(plan: &Standing) -> Option<StopWhy> {
    let again = plan
        .failures
        .iter()
        .find(|failure| failure.class == ErrorClass::Permanent && failure.had_before);
    if let Some(failure) = again {
        return Some(StopWhy::Again {
            job: failure.job,
            reason: failure.reason.clone(),
        });
    }
    let batch = plan.batch;
    if plan.pace.canary && batch.number == batch.first && batch.failed > 0 {
        return Some(StopWhy::Canary);
    }
    // Of the batch as it will be, so that the first death of many is not all of it.
    let waiting = u32::try_from(plan.progress.waiting).unwrap_or(u32::MAX);
    let of = size(plan).min(batch.jobs.saturating_add(waiting));
    let share = u64::from(batch.failed).saturating_mul(100);
    let borne = u64::from(plan.pace.stop_percent).saturating_mul(u64::from(of));
    (share > borne).then_some(StopWhy::Deaths {
        failed: batch.failed,
        of,
        percent: plan.pace.stop_percent,
    })
}

/// The next jobs of `batch`, as the rate allows.
fn apply(plan: &Standing, batch: u32, left: u32) -> Step {
    let rate = plan.pace.rate_per_s;
    if rate == 0 {
        return Step::Apply { batch, most: left };
    }
    // Each transaction has at most a second's share, and its time is let pass before the next.
    let due = Duration::from_secs(u64::from(plan.chunk.jobs))
        .checked_div(rate)
        .unwrap_or_default();
    let rest = due.saturating_sub(plan.chunk.age);
    if rest.is_zero() {
        Step::Apply {
            batch,
            most: left.min(rate),
        }
    } else {
        Step::Wait(rest.min(LOOK_AGAIN))
    }
}

#[cfg(test)]
mod tests;
