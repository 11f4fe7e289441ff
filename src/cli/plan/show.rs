//! Plans as text for people and as JSON for programs; `docs/operate.md` has the shapes.

use std::io::{self, Write};

use serde::Serialize;
use uuid::Uuid;

use crate::cli::operate::show::write_json;
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::FailureKey;
use crate::ledger::plan::{Plan, PlanEntry, PlanJob, Progress};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

/// A plan as JSON.
#[derive(Serialize)]
pub(in crate::cli) struct PlanJson {
    id: Uuid,
    operation: &'static str,
    state: &'static str,
    query: SafeText,
    reason: SafeText,
    actor: SafeText,
    created_at: String,
    updated_at: String,
    canary: bool,
    batch_max: u32,
    rate_per_s: u32,
    stop_percent: u8,
    batch: u32,
    total: u64,
    waiting: u64,
    open: u64,
    succeeded: u64,
    failed: u64,
    stale: u64,
    refused: u64,
    missing: u64,
    stop_reason: Option<SafeText>,
    executor: Option<SafeText>,
    lease_expires_at: Option<String>,
}

impl PlanJson {
    pub(in crate::cli) fn of(plan: &Plan) -> Self {
        let done = plan.progress;
        Self {
            id: plan.id,
            operation: plan.operation.name(),
            state: plan.state.name(),
            query: plan.query.clone(),
            reason: plan.reason.clone(),
            actor: plan.actor.clone(),
            created_at: plan.created_at.rfc3339(),
            updated_at: plan.updated_at.rfc3339(),
            canary: plan.pace.canary,
            batch_max: plan.pace.batch_max,
            rate_per_s: plan.pace.rate_per_s,
            stop_percent: plan.pace.stop_percent,
            batch: plan.batch,
            total: done.total,
            waiting: done.waiting,
            open: done.open,
            succeeded: done.succeeded,
            failed: done.failed,
            stale: done.stale,
            refused: done.refused,
            missing: done.missing,
            stop_reason: plan.stop_reason.clone(),
            executor: plan.executor.clone(),
            lease_expires_at: plan.lease_expires_at.map(Timestamp::rfc3339),
        }
    }
}

/// A plan with its jobs and what was done to it.
pub(in crate::cli) struct Story {
    pub(in crate::cli) plan: Plan,
    pub(in crate::cli) jobs: Vec<PlanJob>,
    /// The newest first.
    pub(in crate::cli) history: Vec<PlanEntry>,
}

#[derive(Serialize)]
struct StoryJson {
    #[serde(flatten)]
    plan: PlanJson,
    jobs: Vec<JobJson>,
    history: Vec<EntryJson>,
}

#[derive(Serialize)]
struct JobJson {
    position: u32,
    id: Uuid,
    version: u32,
    batch: Option<u32>,
    outcome: &'static str,
    version_after: Option<u32>,
    had_class: Option<&'static str>,
    had_reason: Option<SafeText>,
    result_class: Option<&'static str>,
    result_reason: Option<SafeText>,
}

#[derive(Serialize)]
struct EntryJson {
    number: u32,
    event: &'static str,
    state: &'static str,
    at: String,
    actor: SafeText,
    note: Option<SafeText>,
}

/// A list of plans.
pub(super) fn list(plans: &[Plan], json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        let plans: Vec<PlanJson> = plans.iter().map(PlanJson::of).collect();
        return write_json(&plans, out);
    }
    for plan in plans {
        writeln!(out, "{}", line(plan))?;
    }
    Ok(())
}

/// A plan in one line.
pub(super) fn line(plan: &Plan) -> String {
    let done = plan.progress;
    let why = match &plan.stop_reason {
        Some(why) => format!(" ({why})"),
        None => String::new(),
    };
    format!(
        "{} {} {}{why}: {} of {} jobs touched, {} succeeded, {} failed, {} open",
        plan.id,
        plan.operation.name(),
        plan.state,
        done.total.saturating_sub(done.waiting),
        done.total,
        done.succeeded,
        done.failed,
        done.open
    )
}

/// How far a plan is, in one line.
pub(super) fn progress(plan: Uuid, batch: u32, done: &Progress) -> String {
    format!(
        "plan {plan}: batch {batch}, {} of {} jobs touched: {} open, {} succeeded, {} failed, {} \
         stale, {} refused",
        done.total.saturating_sub(done.waiting),
        done.total,
        done.open,
        done.succeeded,
        done.failed,
        done.stale,
        done.refused.saturating_add(done.missing)
    )
}

/// One plan with all that is known of it.
pub(super) fn story(story: &Story, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        return write_json(&story_json(story), out);
    }
    let plan = &story.plan;
    writeln!(out, "{}", line(plan))?;
    writeln!(out, "by {} at {}", plan.actor, plan.created_at)?;
    writeln!(out, "why: {}", plan.reason)?;
    if !plan.query.as_str().is_empty() {
        writeln!(out, "jobs: {}", plan.query)?;
    }
    if let (Some(executor), Some(until)) = (&plan.executor, plan.lease_expires_at) {
        writeln!(out, "carried out by {executor} until {until}")?;
    }
    for entry in story.history.iter().rev() {
        let note = entry.note.as_ref().map_or("", |note| note.as_str());
        let (event, state) = (entry.event, entry.to);
        writeln!(
            out,
            "{} {event} -> {state} {} {note}",
            entry.at, entry.actor
        )?;
    }
    for job in &story.jobs {
        let result = match &job.result.reason {
            Some(reason) => format!(" ({reason})"),
            None => String::new(),
        };
        let batch = job.batch.map_or("-".to_owned(), |batch| batch.to_string());
        let outcome = job.outcome.name();
        writeln!(
            out,
            "{} batch {batch} {} {outcome}{result}",
            job.position, job.job
        )?;
    }
    Ok(())
}

fn story_json(story: &Story) -> StoryJson {
    let class = |key: &FailureKey| key.class.map(ErrorClass::name);
    let jobs = story.jobs.iter().map(|job| JobJson {
        position: job.position,
        id: job.job,
        version: job.version,
        batch: job.batch,
        outcome: job.outcome.name(),
        version_after: job.version_after,
        had_class: class(&job.had),
        had_reason: job.had.reason.clone(),
        result_class: class(&job.result),
        result_reason: job.result.reason.clone(),
    });
    let history = story.history.iter().rev().map(|entry| EntryJson {
        number: entry.number,
        event: entry.event.name(),
        state: entry.to.name(),
        at: entry.at.rfc3339(),
        actor: entry.actor.clone(),
        note: entry.note.clone(),
    });
    StoryJson {
        plan: PlanJson::of(&story.plan),
        jobs: jobs.collect(),
        history: history.collect(),
    }
}
