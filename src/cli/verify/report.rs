//! What `verify` prints. A change of the JSON's shape is a change for every program that reads it:
//! keys are added, never renamed; `docs/verify.md` says what each means.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::board::format;
use crate::ledger::event::EventKind;
use crate::ledger::num;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::verify::{Breach, Law, Report};

/// The whole document.
#[derive(Debug, Serialize)]
struct Document<'r> {
    ledger: &'r SafeText,
    as_of: String,
    took_s: f64,
    clean: bool,
    events: u64,
    jobs: u64,
    accepted: u64,
    states: BTreeMap<&'static str, u64>,
    unreadable_rows: u64,
    breaches: u64,
    breached_jobs: u64,
    by_law: BTreeMap<Law, u64>,
    listed: Vec<Listed<'r>>,
}

#[derive(Debug, Serialize)]
struct Listed<'r> {
    law: Law,
    job: Option<&'r SafeText>,
    queue: Option<&'r SafeText>,
    version: Option<i64>,
    event: Option<&'static str>,
    expected: &'r str,
    found: &'r str,
}

impl<'r> Listed<'r> {
    fn of(breach: &'r Breach) -> Self {
        Self {
            law: breach.law,
            job: breach.job.as_ref(),
            queue: breach.queue.as_ref(),
            version: breach.version,
            event: breach.event.map(EventKind::name),
            expected: &breach.expected,
            found: &breach.found,
        }
    }
}

/// Writes the report as JSON.
pub(super) fn write_json(
    report: &Report,
    ledger: &SafeText,
    took: Duration,
    out: &mut dyn Write,
) -> io::Result<()> {
    let laws = Law::ALL.into_iter();
    let states = State::ALL.into_iter();
    let document = Document {
        ledger,
        as_of: report.as_of.rfc3339(),
        took_s: took.as_secs_f64(),
        clean: report.total() == 0,
        events: report.events,
        jobs: report.jobs,
        accepted: report.accepted,
        states: states
            .map(|state| (state.name(), stand(report, Some(state))))
            .collect(),
        unreadable_rows: stand(report, None),
        breaches: report.total(),
        breached_jobs: report.breached_jobs,
        by_law: laws.map(|law| (law, broken(report, law))).collect(),
        listed: report.breaches.iter().map(Listed::of).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// Writes the report for a person: each breach, then a line for each law, then what was read.
pub(super) fn write_text(
    report: &Report,
    ledger: &SafeText,
    took: Duration,
    out: &mut dyn Write,
) -> io::Result<()> {
    for breach in &report.breaches {
        write_breach(breach, out)?;
    }
    let listed = num::count(report.breaches.len());
    if report.total() > listed {
        let more = report.total().saturating_sub(listed);
        let more = counted(more, "more breach", "more breaches");
        writeln!(out, "and {more}; list more of them with --limit")?;
    }
    if listed > 0 {
        writeln!(out)?;
    }
    for law in Law::ALL {
        let result = match broken(report, law) {
            0 => "holds".to_owned(),
            breaches => counted(breaches, "breach", "breaches"),
        };
        writeln!(out, "{law:<4} {:<62} {result}", law.says())?;
    }
    writeln!(out, "\n{ledger} as of {}", report.as_of)?;
    let events = counted(report.events, "event", "events");
    let jobs = counted(report.jobs, "job", "jobs");
    let per_s = num::ratio(report.events) / took.as_secs_f64().max(0.001);
    writeln!(
        out,
        "{events} of {jobs} in {}, {} events a second",
        format::latency(took),
        format::count(num::floor(per_s))
    )?;
    let states: Vec<String> = report
        .states
        .iter()
        .map(|(state, jobs)| format!("{} {}", name(*state), format::count(*jobs)))
        .collect();
    let accepted = format::count(report.accepted);
    if states.is_empty() {
        return writeln!(out, "{accepted} accepted");
    }
    writeln!(out, "{accepted} accepted: {}", states.join(", "))
}

/// `L4  job 0197…, event 7 succeed, queue billing: expected fence 3, found fence 2`.
fn write_breach(breach: &Breach, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:<4} ", breach.law)?;
    match &breach.job {
        Some(job) => write!(out, "job {job}")?,
        None => write!(out, "the ledger")?,
    }
    if let Some(version) = breach.version {
        write!(out, ", event {version}")?;
    }
    if let Some(event) = breach.event {
        write!(out, " {event}")?;
    }
    if let Some(queue) = &breach.queue {
        write!(out, ", queue {queue}")?;
    }
    writeln!(
        out,
        ": expected {}, found {}",
        breach.expected, breach.found
    )
}

/// A number of things, in words.
pub(in crate::cli) fn counted(count: u64, one: &str, many: &str) -> String {
    let what = if count == 1 { one } else { many };
    format!("{} {what}", format::count(count))
}

fn broken(report: &Report, law: Law) -> u64 {
    report.by_law.get(&law).copied().unwrap_or_default()
}

fn stand(report: &Report, state: Option<State>) -> u64 {
    report.states.get(&state).copied().unwrap_or_default()
}

fn name(state: Option<State>) -> &'static str {
    state.map_or("unreadable", State::name)
}
