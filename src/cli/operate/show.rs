//! Previews and receipts as text for people and as JSON for programs; `docs/operate.md` has the
//! shapes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use uuid::Uuid;

use crate::cli::plan::show::PlanJson;
use crate::ledger::job::Outcome;
use crate::ledger::plan::Plan;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::Count;
use crate::operate::receipt::{Scope, said};
use crate::operate::{Preview, Receipt};

#[derive(Serialize)]
struct PreviewJson {
    operation: &'static str,
    as_of: String,
    changes: u64,
    exact: bool,
    states: BTreeMap<&'static str, u64>,
    oldest: Option<String>,
    unsettled: u64,
    redriven_before: u64,
    skipped: Vec<SkippedJson>,
    sample: Vec<JobJson>,
}

#[derive(Serialize)]
struct SkippedJson {
    state: Option<&'static str>,
    jobs: u64,
    why: String,
}

#[derive(Serialize)]
struct JobJson {
    id: Uuid,
    key: SafeText,
    queue: SafeText,
    state: &'static str,
    version: u32,
    reason: Option<SafeText>,
}

/// What an act would change.
pub(in crate::cli) fn preview(
    preview: &Preview,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        return write_json(&preview_json(preview), out);
    }
    let sign = match preview.changes {
        Count::Exact(_) => "",
        Count::AtLeast(_) => "at least ",
    };
    let verb = preview.operation.name();
    writeln!(
        out,
        "{verb}: {sign}{} jobs would change",
        preview.at_least()
    )?;
    for (state, jobs) in &preview.states {
        writeln!(out, "  {jobs} {state}")?;
    }
    if let Some(oldest) = preview.oldest {
        writeln!(out, "  the oldest since {oldest}")?;
    }
    if preview.unsettled > 0 {
        writeln!(
            out,
            "  {} with an attempt whose outcome nobody reported: its effect may have happened",
            preview.unsettled
        )?;
    }
    if preview.redriven_before > 0 {
        writeln!(out, "  {} were redriven before", preview.redriven_before)?;
    }
    for job in &preview.sample {
        let reason = job.reason.as_ref().map_or("-", |reason| reason.as_str());
        let row = &job.row;
        let (id, queue, state) = (row.id, &row.queue, row.state);
        writeln!(
            out,
            "  {id} {queue} {state} {reason} {}",
            row.idempotency_key
        )?;
    }
    for skipped in preview.skipped.each() {
        let why = skipped.why(preview.operation);
        writeln!(out, "left alone: {} ({why})", skipped.jobs)?;
    }
    Ok(())
}

fn preview_json(preview: &Preview) -> PreviewJson {
    let skipped = preview.skipped.each().map(|skipped| SkippedJson {
        state: skipped.state.map(State::name),
        jobs: skipped.jobs,
        why: skipped.why(preview.operation),
    });
    let sample = preview.sample.iter().map(|job| JobJson {
        id: job.row.id,
        key: job.row.idempotency_key.clone(),
        queue: job.row.queue.clone(),
        state: job.row.state.name(),
        version: job.row.version,
        reason: job.reason.clone(),
    });
    let states = preview.states.iter();
    PreviewJson {
        operation: preview.operation.name(),
        as_of: preview.as_of.rfc3339(),
        changes: preview.at_least(),
        exact: matches!(preview.changes, Count::Exact(_)),
        states: states.map(|(state, jobs)| (state.name(), *jobs)).collect(),
        oldest: preview.oldest.map(Timestamp::rfc3339),
        unsettled: preview.unsettled,
        redriven_before: preview.redriven_before,
        skipped: skipped.collect(),
        sample: sample.collect(),
    }
}

#[derive(Serialize)]
struct ReceiptJson {
    operation: &'static str,
    reason: SafeText,
    actor: SafeText,
    applied: u64,
    stale: u64,
    refused: u64,
    not_found: u64,
    waiting: u64,
    jobs: Vec<LineJson>,
    plan: Option<PlanJson>,
    command: String,
}

#[derive(Serialize)]
struct LineJson {
    id: Uuid,
    outcome: &'static str,
    said: String,
}

/// What became of an act on single jobs.
pub(in crate::cli) fn receipt(
    receipt: &Receipt,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        return write_json(&receipt_json(receipt, None), out);
    }
    out.write_all(receipt.text().as_bytes())
}

/// What became of a plan so far.
pub(in crate::cli) fn plan_receipt(plan: &Plan, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let receipt = Receipt::of_plan(plan);
    if json {
        return write_json(&receipt_json(&receipt, Some(plan)), out);
    }
    out.write_all(receipt.text().as_bytes())
}

fn receipt_json(receipt: &Receipt, plan: Option<&Plan>) -> ReceiptJson {
    let lines = receipt.jobs.iter().map(|line| LineJson {
        id: line.job,
        outcome: match line.outcome {
            Outcome::Applied { .. } => "applied",
            Outcome::Stale { .. } => "stale",
            Outcome::Refused { .. } => "refused",
            Outcome::NotFound => "not_found",
        },
        said: said(line.outcome),
    });
    debug_assert_eq!(
        plan.is_some(),
        receipt.scope != Scope::Jobs,
        "a plan's receipt has one"
    );
    ReceiptJson {
        operation: receipt.operation.name(),
        reason: receipt.reason.clone(),
        actor: receipt.actor.clone(),
        applied: receipt.applied,
        stale: receipt.stale,
        refused: receipt.refused,
        not_found: receipt.not_found,
        waiting: receipt.waiting,
        jobs: lines.collect(),
        plan: plan.map(PlanJson::of),
        command: receipt.command(),
    }
}

/// One JSON document and the end of its line.
pub(in crate::cli) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
