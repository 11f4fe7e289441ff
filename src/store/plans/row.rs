//! Rows of plans, as a database holds them, checked into the domain's types.
//!
//! Knows no driver. Next: `crate::ledger::plan`.

use std::borrow::Cow;
use std::time::Duration;

use uuid::Uuid;

use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::FailureKey;
use crate::ledger::job::Operation;
use crate::ledger::num;
use crate::ledger::plan::{
    BatchStanding, Chunk, FailedAgain, JobOutcome, Pace, Plan, PlanEntry, PlanEvent, PlanJob,
    PlanState, Progress, Standing,
};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::store::StoreError;
use crate::store::plans::{Advanced, PlanOutline};
use crate::store::row::{corrupt, counter};

type Text<'r> = Cow<'r, str>;

/// The most distinct failures of a plan that are read: only the first that stops it matters.
pub(in crate::store) const FAILURES_MAX: u32 = 50;

/// A row of `plans`.
#[derive(Debug)]
pub(in crate::store) struct RawPlan<'r> {
    pub(in crate::store) id: Uuid,
    pub(in crate::store) operation: Text<'r>,
    pub(in crate::store) query: Text<'r>,
    pub(in crate::store) reason: Text<'r>,
    pub(in crate::store) created_by: Text<'r>,
    pub(in crate::store) created_at: Timestamp,
    pub(in crate::store) canary: bool,
    /// batch_max, rate_per_s, stop_percent
    pub(in crate::store) pace: [i64; 3],
    pub(in crate::store) state: Text<'r>,
    pub(in crate::store) updated_at: Timestamp,
    pub(in crate::store) version: i64,
    /// batch, first_batch, batch_jobs, chunk
    pub(in crate::store) batch: [i64; 4],
    /// total, waiting, open, applied, succeeded, failed, stale, refused, missing
    pub(in crate::store) counts: [i64; 9],
    pub(in crate::store) executor: Option<Text<'r>>,
    pub(in crate::store) lease_expires_at: Option<Timestamp>,
    pub(in crate::store) note: Option<Text<'r>>,
}

/// What a plan's row does not say about where it stands.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct RawStanding {
    pub(in crate::store) batch_open: i64,
    pub(in crate::store) batch_failed: i64,
    pub(in crate::store) chunk_age_ms: i64,
}

/// The operation of that name.
pub(in crate::store) fn operation(plan: Uuid, name: &str) -> Result<Operation, StoreError> {
    Operation::parse(name).ok_or_else(|| corrupt(plan, "operation", name))
}

/// The state of a plan of that name.
fn state(plan: Uuid, name: &str) -> Result<PlanState, StoreError> {
    PlanState::parse(name).ok_or_else(|| corrupt(plan, "state", name))
}

impl RawPlan<'_> {
    pub(in crate::store) fn check(&self) -> Result<Plan, StoreError> {
        let state = state(self.id, &self.state)?;
        let says_why = match state {
            PlanState::Paused | PlanState::Stopped | PlanState::Cancelled => true,
            PlanState::Draft | PlanState::Running | PlanState::Done => false,
        };
        let note = self.note.as_deref().filter(|_note| says_why);
        let [batch, ..] = self.batch;
        Ok(Plan {
            id: self.id,
            operation: operation(self.id, &self.operation)?,
            state,
            version: counter(self.id, "version", self.version)?,
            query: SafeText::new(&self.query),
            reason: SafeText::new(&self.reason),
            actor: SafeText::new(&self.created_by),
            created_at: self.created_at,
            updated_at: self.updated_at,
            pace: self.pace()?,
            batch: counter(self.id, "batch", batch)?,
            progress: self.progress(),
            stop_reason: note.map(SafeText::new),
            executor: self.executor.as_deref().map(SafeText::new),
            lease_expires_at: self.lease_expires_at,
        })
    }

    fn pace(&self) -> Result<Pace, StoreError> {
        let [batch_max, rate_per_s, stop_percent] = self.pace;
        Ok(Pace {
            canary: self.canary,
            batch_max: counter(self.id, "batch_max", batch_max)?,
            rate_per_s: counter(self.id, "rate_per_s", rate_per_s)?,
            stop_percent: u8::try_from(stop_percent)
                .map_err(|_out_of_range| corrupt(self.id, "stop_percent", stop_percent))?,
        })
    }

    fn progress(&self) -> Progress {
        let [
            total,
            waiting,
            open,
            applied,
            succeeded,
            failed,
            stale,
            refused,
            missing,
        ] = self.counts.map(num::unsigned);
        Progress {
            total,
            waiting,
            open,
            succeeded: applied.saturating_add(succeeded),
            failed,
            stale,
            refused,
            missing,
        }
    }

    /// Where it stands, with the failures that were found.
    pub(in crate::store) fn standing(
        &self,
        more: RawStanding,
        failures: Vec<FailedAgain>,
    ) -> Result<Standing, StoreError> {
        let [number, first, jobs, chunk] = self.batch;
        let id = self.id;
        Ok(Standing {
            state: state(id, &self.state)?,
            pace: self.pace()?,
            progress: self.progress(),
            batch: BatchStanding {
                number: counter(id, "batch", number)?,
                first: counter(id, "first_batch", first)?,
                jobs: counter(id, "batch_jobs", jobs)?,
                open: counter(id, "batch_open", more.batch_open)?,
                failed: counter(id, "batch_failed", more.batch_failed)?,
            },
            chunk: Chunk {
                jobs: counter(id, "chunk", chunk)?,
                age: Duration::from_millis(num::unsigned(more.chunk_age_ms)),
            },
            failures,
        })
    }
}

/// A row of `plan_failures.sql`.
pub(in crate::store) fn failure(
    job: Uuid,
    (class, reason): (&str, Option<&str>),
    had_before: bool,
) -> Result<FailedAgain, StoreError> {
    Ok(FailedAgain {
        job,
        class: class_of(job, class)?,
        reason: SafeText::new(reason.unwrap_or_default()),
        had_before,
    })
}

fn class_of(job: Uuid, name: &str) -> Result<ErrorClass, StoreError> {
    ErrorClass::parse(name).ok_or_else(|| corrupt(job, "error_class", name))
}

/// A row of `plan_jobs`.
#[derive(Debug)]
pub(in crate::store) struct RawPlanJob<'r> {
    pub(in crate::store) position: i64,
    pub(in crate::store) job: Uuid,
    pub(in crate::store) version: i64,
    pub(in crate::store) had: [Option<Text<'r>>; 2],
    pub(in crate::store) batch: Option<i64>,
    pub(in crate::store) outcome: Option<Text<'r>>,
    pub(in crate::store) version_after: Option<i64>,
    pub(in crate::store) result: [Option<Text<'r>>; 2],
}

impl RawPlanJob<'_> {
    pub(in crate::store) fn check(&self) -> Result<PlanJob, StoreError> {
        let job = self.job;
        let outcome = match self.outcome.as_deref() {
            None => JobOutcome::Waiting,
            Some(name) => JobOutcome::parse(name).ok_or_else(|| corrupt(job, "outcome", name))?,
        };
        let number =
            |column, value: Option<i64>| value.map(|value| counter(job, column, value)).transpose();
        Ok(PlanJob {
            position: counter(job, "position", self.position)?,
            job,
            version: counter(job, "version", self.version)?,
            had: failure_key(job, &self.had)?,
            batch: number("batch", self.batch)?,
            outcome,
            version_after: number("version_after", self.version_after)?,
            result: failure_key(job, &self.result)?,
        })
    }
}

fn failure_key(
    job: Uuid,
    [class, reason]: &[Option<Text<'_>>; 2],
) -> Result<FailureKey, StoreError> {
    let class = class.as_deref().map(|name| class_of(job, name));
    Ok(FailureKey {
        class: class.transpose()?,
        reason: reason.as_deref().map(SafeText::new),
    })
}

/// A row of `plan_events`.
#[derive(Debug)]
pub(in crate::store) struct RawPlanEntry<'r> {
    pub(in crate::store) plan: Uuid,
    pub(in crate::store) number: i64,
    pub(in crate::store) event: Text<'r>,
    pub(in crate::store) to_state: Text<'r>,
    pub(in crate::store) at: Timestamp,
    pub(in crate::store) actor: Text<'r>,
    pub(in crate::store) note: Option<Text<'r>>,
}

impl RawPlanEntry<'_> {
    pub(in crate::store) fn check(&self) -> Result<PlanEntry, StoreError> {
        Ok(PlanEntry {
            number: counter(self.plan, "number", self.number)?,
            event: PlanEvent::parse(&self.event)
                .ok_or_else(|| corrupt(self.plan, "event", &self.event))?,
            to: state(self.plan, &self.to_state)?,
            at: self.at,
            actor: SafeText::new(&self.actor),
            note: self.note.as_deref().map(SafeText::new),
        })
    }
}

/// A row of `plan_outline.sql`.
#[derive(Debug)]
pub(in crate::store) struct RawOutline<'r> {
    pub(in crate::store) state: Text<'r>,
    pub(in crate::store) jobs: i64,
    pub(in crate::store) oldest: Option<Timestamp>,
    pub(in crate::store) unsettled: i64,
    pub(in crate::store) redriven: i64,
    pub(in crate::store) as_of: Timestamp,
}

/// The rows together.
pub(in crate::store) fn outline(
    plan: Uuid,
    rows: &[RawOutline<'_>],
) -> Result<PlanOutline, StoreError> {
    let mut all = PlanOutline::default();
    for row in rows {
        let in_state = crate::store::row::state(plan, "state", &row.state)?;
        all.states.push((in_state, num::unsigned(row.jobs)));
        all.as_of = row.as_of;
        all.oldest = match (all.oldest, row.oldest) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        all.unsettled = all.unsettled.saturating_add(num::unsigned(row.unsettled));
        let redriven = num::unsigned(row.redriven);
        all.redriven_before = all.redriven_before.saturating_add(redriven);
    }
    all.states.sort_unstable();
    Ok(all)
}

/// How many jobs have each outcome, of the marks that one transaction made.
pub(in crate::store) fn advanced<'a>(outcomes: impl IntoIterator<Item = &'a str>) -> Advanced {
    let mut done = Advanced::default();
    for outcome in outcomes {
        match outcome {
            "stale" => done.stale = done.stale.saturating_add(1),
            "refused" => done.refused = done.refused.saturating_add(1),
            "missing" => done.missing = done.missing.saturating_add(1),
            _open_or_applied => done.applied = done.applied.saturating_add(1),
        }
    }
    done
}

/// The mark of a job that an operation was done to.
pub(in crate::store) const fn mark(operation: Operation) -> &'static str {
    match operation {
        Operation::Redrive => JobOutcome::Open.name(),
        Operation::Quarantine | Operation::Revoke | Operation::Promote | Operation::Discard => {
            JobOutcome::Applied.name()
        }
    }
}
