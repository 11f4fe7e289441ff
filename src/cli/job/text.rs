//! A job's story for a person, 80 columns wide or as wide as the terminal.

use std::io::{self, Write};

use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::{Step, dwell, dwells, path, readable, unreadable, unsettled};
use crate::board::format;
use crate::cli::lists;
use crate::cli::lists::table::{Fit, Table};
use crate::cli::snapshot::text::cut;
use crate::ledger::audit::{Entry, Moment};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{JobStory, Relative};

/// From this width on events are shown with class and policy.
const NOTE_WIDTH: usize = 120;
/// How wide names of facts are.
const NAME_WIDTH: usize = 14;
/// The most children that are named.
const CHILDREN_MAX: usize = 20;

/// Writes a story.
pub(super) fn write(
    story: &JobStory,
    payload: Option<&Value>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let row = &story.job.row;
    writeln!(out, "{}", cut(row.idempotency_key.as_str(), width))?;
    writeln!(out, "{}  as of {}", row.id, story.as_of)?;
    writeln!(out)?;
    for (name, text) in facts(story, payload) {
        wrapped(name, &text, width, out)?;
    }
    for (name, relatives) in [
        ("parent", story.parent.as_slice()),
        ("children", &story.children),
    ] {
        family(name, relatives, width, out)?;
    }
    let named = story.children.len().min(CHILDREN_MAX);
    if story.children.len() > named || story.children_count != exactly(story.children.len()) {
        let all = lists::counted(story.children_count);
        writeln!(out, "{:14}{named} of {all} children", "")?;
    }
    attempts(story, width, out)?;
    writeln!(out, "\npath")?;
    for step in path(story) {
        writeln!(out, "  {}", said(&step))?;
    }
    writeln!(out)?;
    events(story, width, out)
}

/// A name and a text behind it, on as many lines as it needs.
fn wrapped(name: &str, text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let width = width.saturating_sub(NAME_WIDTH);
    let mut line = String::new();
    let mut name = name;
    let mut put = |line: &mut String| {
        let written = writeln!(out, "{name:<NAME_WIDTH$}{line}");
        name = "";
        line.clear();
        written
    };
    for word in text.split(' ') {
        for part in pieces(word, width) {
            if !line.is_empty() && line.width() + 1 + part.width() > width {
                put(&mut line)?;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&part);
        }
    }
    put(&mut line)
}

/// A word in pieces that fit: a long one is broken between characters.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for each in word.graphemes(true) {
        let is_full = pieces
            .last()
            .is_some_and(|piece| piece.width() + each.width() > width);
        if is_full {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push_str(each);
        }
    }
    pieces
}

fn exactly(count: usize) -> crate::ledger::view::Count {
    crate::ledger::view::Count::Exact(crate::ledger::num::count(count))
}

fn facts(story: &JobStory, payload: Option<&Value>) -> Vec<(&'static str, String)> {
    let (job, row) = (&story.job, &story.job.row);
    let mut facts = vec![
        (
            "state",
            format!(
                "{} for {}, since {}",
                row.state,
                format::coarse(story.as_of.since(row.state_since)),
                row.state_since
            ),
        ),
        ("queue", named(&[("", &row.queue), ("kind ", &row.kind)])),
    ];
    if !row.tenant.as_str().is_empty() {
        facts.push(("tenant", row.tenant.to_string()));
    }
    facts.push(("created", job.created_at.to_string()));
    facts.push(("attempts", budget_of_attempts(story)));
    if let Some(age) = budget_of_age(story) {
        facts.push(("age", age));
    }
    facts.push(("policy", format!("{}@{}", job.policy, job.policy_version)));
    if row.state.waits_for_a_moment() {
        facts.push(("due", row.available_at.to_string()));
    }
    if let Some(class) = job.class {
        let reason = lists::or_dash(job.reason.as_ref());
        let error = job.error.as_ref().map_or("", SafeText::as_str);
        facts.push(("last failure", format!("{class} {reason}: {error}")));
    }
    if let (Some(worker), Some(end)) = (&job.worker, job.lease_expires_at) {
        facts.push((
            "lease",
            format!("{worker}, until {end}{}", left(end, story.as_of)),
        ));
    }
    let texts = [
        ("output", &row.output_ref),
        ("event id", &story.event_id),
        ("schema", &story.schema_version),
    ];
    for (name, text) in texts {
        facts.extend(text.as_ref().map(|text| (name, text.to_string())));
    }
    let dwells: Vec<String> = dwells(story)
        .into_iter()
        .map(|(state, span)| format!("{state} {}", format::latency(span)))
        .collect();
    facts.push(("time in state", dwells.join(", ")));
    facts.push((
        "payload",
        match payload {
            Some(payload) => SafeText::new(&payload.to_string()).to_string(),
            None => "masked; see --show-payload".to_owned(),
        },
    ));
    facts
}

fn named(parts: &[(&str, &SafeText)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, text)| format!("{name}{text}"))
        .collect();
    parts.join(", ")
}

fn budget_of_attempts(story: &JobStory) -> String {
    let row = &story.job.row;
    let most = story
        .rules
        .as_ref()
        .map_or_else(String::new, |rules| format!(" of {}", rules.max_attempts));
    format!(
        "{}{most} in this drive; redriven {} times; {} of unknown outcome",
        row.attempt, row.redrives, story.job.unsettled
    )
}

fn budget_of_age(story: &JobStory) -> Option<String> {
    let first = story.first_attempt_at?;
    let most = story.rules.as_ref().map(|rules| rules.max_age)?;
    Some(format!(
        "{} of {} since the first attempt at {first}",
        format::coarse(story.as_of.since(first)),
        format::exact(most)
    ))
}

fn left(end: Timestamp, as_of: Timestamp) -> String {
    if end > as_of {
        format!(" ({} left)", format::coarse(end.since(as_of)))
    } else {
        format!(" (ended {} ago)", format::coarse(as_of.since(end)))
    }
}

fn family(name: &str, relatives: &[Relative], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for (place, relative) in relatives.iter().take(CHILDREN_MAX).enumerate() {
        let name = if place == 0 { name } else { "" };
        let state = relative
            .job
            .map_or("not enqueued", |(_id, state)| state.name());
        let required = if relative.required { "" } else { ", optional" };
        let text = format!("{} ({state}{required})", relative.idempotency_key);
        writeln!(out, "{name:<14}{}", cut(&text, width.saturating_sub(14)))?;
    }
    Ok(())
}

/// Attempts that began and whose outcome nobody reported: an effect may have happened.
fn attempts(story: &JobStory, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for (place, entry) in unsettled(story).into_iter().enumerate() {
        let name = if place == 0 { "unsettled" } else { "" };
        let worker = lists::or_dash(entry.worker.as_ref());
        let began = entry.from_since.map_or_else(String::new, short);
        let text = format!(
            "attempt {} by {worker}, begun {began}, {} {}",
            entry.attempt,
            entry.doing.event,
            short(entry.at)
        );
        writeln!(out, "{name:<14}{}", cut(&text, width.saturating_sub(14)))?;
    }
    Ok(())
}

fn said(step: &Step) -> String {
    let from = step.from.map_or("–", State::name);
    let times = if step.times > 1 {
        format!("  ×{}", step.times)
    } else {
        String::new()
    };
    format!("{:<14}{from} → {}{times}", step.event.name(), step.to)
}

/// Date and time to the millisecond: `11-30 02:58:00.123`.
fn short(at: Moment) -> String {
    Timestamp::from_millis(at.micros().div_euclid(1_000))
        .datetime()
        .format("%m-%d %H:%M:%S%.3f")
        .to_string()
}

/// What the table of events has room for, and what it may leave out.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "two independent facts")]
struct Shape {
    is_one_day: bool,
    is_wide: bool,
}

/// The day of all readable events, where it is one.
fn one_day(story: &JobStory) -> Option<String> {
    let day = |entry: &Entry| date(entry.at);
    let mut days = readable(story).map(day);
    let first = days.next()?;
    days.all(|day| day == first).then_some(first)
}

fn date(at: Moment) -> String {
    let at = Timestamp::from_millis(at.micros().div_euclid(1_000));
    at.datetime().format("%Y-%m-%d").to_string()
}

fn events(story: &JobStory, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let day = one_day(story);
    match &day {
        Some(day) => writeln!(out, "events of {day} (UTC)")?,
        None => writeln!(out, "events (UTC)")?,
    }
    let shape = Shape {
        is_one_day: day.is_some(),
        is_wide: width >= NOTE_WIDTH,
    };
    let mut columns = vec![
        ("#", Fit::Number),
        ("at", Fit::Word),
        ("after", Fit::Number),
        ("event", Fit::Word),
        ("to", Fit::Word),
        ("att", Fit::Number),
        ("who", Fit::Text),
        ("why", Fit::Text),
    ];
    if shape.is_wide {
        columns.push(("policy", Fit::Text));
    }
    let mut table = Table::new(&columns);
    let mut before = None;
    for entry in readable(story) {
        if let Some(before) = before
            && entry.version > before + 1
        {
            let gap = format!("… {} more", entry.version - before - 1);
            let mut cells = vec![String::new(); columns.len()];
            if let Some(cell) = cells.get_mut(3) {
                *cell = gap;
            }
            table.row(cells);
        }
        before = Some(entry.version);
        table.row(cells(entry, shape));
    }
    table.write(width, out)?;
    for entry in readable(story) {
        if let Some(note) = &entry.doing.note {
            let name = format!("note on {}", entry.version);
            wrapped(&name, note.as_str(), width, out)?;
        }
    }
    for unreadable in unreadable(story) {
        let version = unreadable
            .version
            .map_or_else(|| "?".to_owned(), |version| version.to_string());
        let text = format!(
            "column '{}' holds '{}', which this program cannot read",
            unreadable.column, unreadable.value
        );
        wrapped(&format!("event {version}"), &text, width, out)?;
    }
    Ok(())
}

fn cells(entry: &Entry, shape: Shape) -> Vec<String> {
    let reason = entry.failure.reason.as_ref().map_or("", SafeText::as_str);
    let class = entry.failure.class.map_or("", |class| class.name());
    let to = if entry.from == Some(entry.to) {
        "same"
    } else {
        entry.to.name()
    };
    let at = short(entry.at);
    let time = at.split_once(' ').map_or(at.as_str(), |(_day, time)| time);
    let mut cells = vec![
        entry.version.to_string(),
        (if shape.is_one_day { time } else { at.as_str() }).to_owned(),
        dwell(entry).map_or_else(String::new, format::latency),
        entry.doing.event.to_string(),
        to.to_owned(),
        entry.attempt.to_string(),
        entry.doing.actor.to_string(),
    ];
    if shape.is_wide {
        cells.push(format!("{class} {reason}"));
        cells.push(format!("{}@{}", entry.policy.name, entry.policy.version));
    } else {
        cells.push(reason.to_owned());
    }
    cells
}
