//! How the dialog looks: what will change, then what is asked. Where there is little room the
//! sample of jobs goes first, then what comes before it from the last line on; what is asked stays.

use super::{Asked, Operating, Stage, Subject};
use crate::board::format::{coarse, count};
use crate::console::keymap::Action;
use crate::console::model::Model;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, pane};
use crate::ledger::job::Operation;
use crate::ledger::num;
use crate::ledger::plan::Pace;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{Count, ListedJob};
use crate::operate::receipt::{Scope, said};
use crate::operate::{Preview, Receipt};

/// The widest that the dialog gets.
const WIDTH: u16 = 92;

/// A line: its role and its text.
type Line = (Role, String);

/// Draws it.
pub(crate) fn draw(canvas: &mut Canvas<'_>, dialog: &Operating, model: &Model) {
    let width = crate::console::dialog::middle(model.size, WIDTH, 1).width;
    let room = width.saturating_sub(4);
    let wrap = |lines: Vec<Line>| -> Vec<Line> {
        lines
            .into_iter()
            .flat_map(|(role, line)| {
                let wrapped = text::wrapped(&line, room);
                wrapped.into_iter().map(move |line| (role, line))
            })
            .collect()
    };
    let top = wrap(about(dialog, model));
    let sample = sample(dialog, model);
    let asked = wrap(asked(dialog, model));
    let wanted = num::columns(top.len() + sample.len() + asked.len()).saturating_add(3);
    let area = crate::console::dialog::middle(model.size, WIDTH, wanted);
    canvas.clear(area);
    let title = title(dialog);
    let inner = pane::draw(canvas, area, &[(role_of(dialog), &title)]);
    let mut rest = inner;
    let below = num::columns(asked.len()).min(rest.height);
    rest.height = rest.height.saturating_sub(below);
    for (row, (role, line)) in (0..).zip(top.iter().chain(&sample)) {
        let Some(spot) = Spot::row(rest, row) else {
            break;
        };
        canvas.text(spot, *role, line);
    }
    for (number, (role, line)) in asked.iter().enumerate() {
        let row = inner.height.saturating_sub(below) + num::columns(number);
        if let Some(spot) = Spot::row(inner, row) {
            canvas.text(spot, *role, line);
        }
    }
}

/// The latest moment that is known of the database's clock.
fn database_now(model: &Model) -> Timestamp {
    model.database_now().unwrap_or_default()
}

/// A name with its first letter large.
fn named(operation: Operation) -> String {
    let name = operation.name();
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn title(dialog: &Operating) -> String {
    let name = named(dialog.operation);
    match &dialog.stage {
        Stage::Reading { .. } | Stage::Failed(_) => name,
        Stage::Nothing(_) => format!("{name}: nothing to be done"),
        Stage::Reason(asked) | Stage::Count(asked) | Stage::Confirm(asked) => {
            format!("{name} {}", jobs(asked.preview.changes))
        }
        Stage::Sent { asked, .. } => format!("{name} {}: on its way", jobs(asked.preview.changes)),
        Stage::Done(_) => format!("{name}: receipt"),
    }
}

fn role_of(dialog: &Operating) -> Role {
    match &dialog.stage {
        Stage::Failed(_) => Role::Critical,
        Stage::Done(receipt) if !receipt.is_whole() => Role::Warning,
        Stage::Done(_) => Role::Good,
        Stage::Reading { .. }
        | Stage::Nothing(_)
        | Stage::Reason(_)
        | Stage::Count(_)
        | Stage::Confirm(_)
        | Stage::Sent { .. } => Role::Title,
    }
}

fn jobs(counted: Count) -> String {
    match counted {
        Count::Exact(1) => "1 job".to_owned(),
        Count::Exact(jobs) => format!("{} jobs", count(jobs)),
        Count::AtLeast(jobs) => format!("the first {} jobs", count(jobs)),
    }
}

fn subject(subject: &Subject) -> Vec<Line> {
    match subject {
        Subject::Job(key) => vec![(Role::Text, format!("job {key}"))],
        Subject::Marks {
            count: marked,
            unlisted,
        } => {
            let mut lines = vec![(Role::Text, format!("{} marked jobs", count(*marked)))];
            if !unlisted.is_empty() {
                let named: Vec<&str> = unlisted.iter().map(SafeText::as_str).take(3).collect();
                let more = if unlisted.len() > 3 { ", …" } else { "" };
                lines.push((
                    Role::Warning,
                    format!(
                        "△ {} of them no longer listed: {}{more}",
                        count(num::count(unlisted.len())),
                        named.join(", ")
                    ),
                ));
            }
            lines
        }
        Subject::Group(title) => vec![(Role::Text, format!("dead letters alike: {title}"))],
        Subject::Filter(query) if query.as_str().is_empty() => {
            vec![(
                Role::Warning,
                "△ no filter: every job of the ledger".to_owned(),
            )]
        }
        Subject::Filter(query) => vec![(Role::Text, format!("all jobs of {query}"))],
    }
}

/// What is said before anything is asked.
fn about(dialog: &Operating, model: &Model) -> Vec<Line> {
    let mut lines = subject(&dialog.subject);
    match &dialog.stage {
        Stage::Reading { .. } => {}
        Stage::Nothing(preview) => lines.extend(skipped(preview)),
        Stage::Reason(asked) | Stage::Count(asked) | Stage::Confirm(asked) => {
            lines.extend(changes(&asked.preview, model));
        }
        Stage::Sent { asked, .. } => {
            lines.push((Role::Text, format!("why: {}", asked.reason.text())));
        }
        Stage::Done(receipt) => lines = outcome(receipt),
        Stage::Failed(error) => lines.push((Role::Critical, error.to_string())),
    }
    lines
}

fn changes(preview: &Preview, model: &Model) -> Vec<Line> {
    let states: Vec<String> = preview
        .states
        .iter()
        .map(|(state, jobs)| format!("{} {state}", count(*jobs)))
        .collect();
    let to = preview.operation.leads_to();
    let oldest = preview.oldest.map_or_else(String::new, |oldest| {
        let age = coarse(database_now(model).since(oldest));
        format!("; the oldest for {age}")
    });
    let mut lines = vec![(Role::Title, format!("{} → {to}{oldest}", states.join(", ")))];
    lines.extend(skipped(preview));
    if preview.unsettled > 0 {
        let jobs = count(preview.unsettled);
        lines.push((
            Role::Critical,
            format!(
                "? {jobs} with an attempt that was never settled: its effect may have happened; \
                 look for it by the key first"
            ),
        ));
    }
    if preview.redriven_before > 0 {
        let jobs = count(preview.redriven_before);
        lines.push((
            Role::Warning,
            format!("△ {jobs} redriven before, and here again"),
        ));
    }
    lines.extend(warning(preview.operation));
    if let Count::AtLeast(jobs) = preview.changes {
        let text = format!(
            "△ there are more: this takes the {} that were read; narrow the filter, or do it again",
            count(jobs)
        );
        lines.push((Role::Warning, text));
    }
    if preview.targets().len() > 1 {
        lines.push((Role::Text, plan(preview.operation)));
    }
    let read = model.clock.stamp(preview.as_of, database_now(model));
    lines.push((
        Role::Muted,
        format!("as read at {read}: a job that has changed since is left alone"),
    ));
    lines
}

/// What an operation means beyond its name.
fn warning(operation: Operation) -> Option<Line> {
    match operation {
        Operation::Revoke => Some((
            Role::Critical,
            "? taken from a worker at work: the effect may have happened, and a late result will \
             be refused"
                .to_owned(),
        )),
        Operation::Discard => Some((
            Role::Warning,
            "△ for good: a discarded job never runs again".to_owned(),
        )),
        Operation::Quarantine | Operation::Redrive | Operation::Promote => None,
    }
}

fn skipped(preview: &Preview) -> Vec<Line> {
    preview
        .skipped
        .each()
        .map(|skipped| {
            let text = format!(
                "– {} left alone: {}",
                count(skipped.jobs),
                skipped.why(preview.operation)
            );
            (Role::Warning, text)
        })
        .collect()
}

/// How a plan goes on, in words.
fn plan(operation: Operation) -> String {
    let pace = Pace::of(operation);
    let rate = match pace.rate_per_s {
        0 => "as fast as it goes".to_owned(),
        rate => format!("at most {rate} a second"),
    };
    let batch = count(u64::from(pace.batch_max));
    if pace.canary {
        format!(
            "A plan: one job alone until it is terminal, then 10, 100, up to {batch} at a time, \
             {rate}. It stops by itself when a job fails again with the same permanent class and \
             reason, or when more than {}% of a batch die.",
            pace.stop_percent
        )
    } else {
        format!(
            "A plan: up to {batch} at a time, {rate}, without a trial; it can be paused and \
             cancelled."
        )
    }
}

/// The first jobs by name.
fn sample(dialog: &Operating, model: &Model) -> Vec<Line> {
    let preview = match &dialog.stage {
        Stage::Reason(asked) | Stage::Count(asked) | Stage::Confirm(asked) => &asked.preview,
        Stage::Reading { .. }
        | Stage::Nothing(_)
        | Stage::Sent { .. }
        | Stage::Done(_)
        | Stage::Failed(_) => return Vec::new(),
    };
    let line = |job: &ListedJob| {
        let mut line = format!(
            "  {}  {} {}",
            job.row.idempotency_key,
            job.row.state,
            coarse(database_now(model).since(job.row.state_since))
        );
        if let Some(reason) = &job.reason {
            line.push_str("  ");
            line.push_str(reason.as_str());
        }
        if job.unsettled > 0 {
            line.push_str("  ? unsettled");
        }
        (Role::Muted, line)
    };
    preview.sample.iter().map(line).collect()
}

/// What became of it, in words.
fn outcome(receipt: &Receipt) -> Vec<Line> {
    let counted = |role: Role, number: u64, word: &str| {
        let role = if number > 0 { role } else { Role::Muted };
        (role, format!("{:>7} {word}", count(number)))
    };
    let mut lines = vec![
        counted(Role::Good, receipt.applied, "applied"),
        counted(
            Role::Warning,
            receipt.stale,
            "stale: changed since they were seen, left alone",
        ),
        counted(
            Role::Warning,
            receipt.refused,
            "refused: no such move from their state, left alone",
        ),
        counted(Role::Warning, receipt.not_found, "not found"),
    ];
    if receipt.waiting > 0 || receipt.scope != Scope::Jobs {
        lines.push(counted(
            Role::Text,
            receipt.waiting,
            "waiting for their turn",
        ));
    }
    if let [line] = receipt.jobs.as_slice() {
        lines.push((Role::Text, format!("{} {}", line.job, said(line.outcome))));
    }
    lines.push((Role::Muted, format!("by {}", receipt.actor)));
    lines.push((Role::Muted, format!("why: {}", receipt.reason)));
    lines.push((Role::Muted, format!("$ {}", receipt.command())));
    lines
}

/// What is asked, with the keys that answer.
fn asked(dialog: &Operating, model: &Model) -> Vec<Line> {
    let key = |action: Action| model.fixed.keymap.key_of(action);
    let (enter, out) = (key(Action::Enter), key(Action::Out));
    let mut lines = vec![(Role::Text, String::new())];
    match &dialog.stage {
        Stage::Reading { error } => {
            lines.push(match error {
                None => (Role::Muted, "reading the jobs …".to_owned()),
                Some(error) => (
                    Role::Critical,
                    format!("the jobs could not be read: {error}"),
                ),
            });
            lines.push(close(&out));
        }
        Stage::Nothing(_) => lines.push(close(&out)),
        Stage::Reason(asked) => lines.extend(reason(asked, &enter, &out)),
        Stage::Count(asked) => lines.extend(number(dialog.operation, asked, (&enter, &out))),
        Stage::Confirm(asked) => {
            lines.push(why(asked));
            let text = format!(
                "{} {} {}   {out} back to the reason",
                key(Action::Confirm),
                dialog.operation.name(),
                jobs(asked.preview.changes),
            );
            lines.push((Role::Accent, text));
        }
        Stage::Sent { since, .. } => {
            let waited = model.now.saturating_duration_since(*since);
            let waited = if waited.as_secs() > 0 {
                format!(" for {}", coarse(waited))
            } else {
                String::new()
            };
            lines.push((Role::Muted, format!("sent{waited}; the receipt follows")));
            lines.push((Role::Muted, format!("{out} look elsewhere; it goes on")));
        }
        Stage::Done(receipt) => {
            let mut keys = Vec::new();
            if receipt.scope != Scope::Jobs {
                keys.push(format!("{enter} show the plan"));
            }
            keys.push(format!("{} copy", key(Action::Copy)));
            keys.push(format!("{out} close"));
            lines.push((Role::Muted, keys.join("   ")));
        }
        Stage::Failed(_) => lines.push((Role::Muted, format!("{out} close"))),
    }
    lines
}

fn why(asked: &Asked) -> Line {
    (Role::Text, format!("why: {}", asked.reason.text()))
}

/// The question for the reason.
fn reason(asked: &Asked, enter: &str, out: &str) -> Vec<Line> {
    let mut lines = vec![(Role::Accent, format!("why: {}▏", asked.reason.text()))];
    lines.extend(complaint(asked));
    let next = if asked.preview.needs_typed_count() {
        "on to the number of jobs"
    } else {
        "on"
    };
    let keys = format!("{enter} {next}   {out} cancel; nothing is changed");
    lines.push((Role::Muted, keys));
    lines
}

/// The question for the number of jobs.
fn number(operation: Operation, asked: &Asked, (enter, out): (&str, &str)) -> Vec<Line> {
    let jobs = count(asked.preview.at_least());
    let text = format!(
        "type {jobs} to {} them: {}▏",
        operation.name(),
        asked.count.text()
    );
    let mut lines = vec![why(asked), (Role::Accent, text)];
    lines.extend(complaint(asked));
    lines.push((
        Role::Muted,
        format!("{enter} do it   {out} back to the reason"),
    ));
    lines
}

fn close(key: &str) -> Line {
    (Role::Muted, format!("{key} close; nothing is changed"))
}

fn complaint(asked: &Asked) -> Option<Line> {
    let complaint = asked.complaint.as_ref()?;
    Some((Role::Critical, format!("▲ {complaint}")))
}
