//! `ledgertop job`: one job with its whole timeline.
//!
//! Owns what is computed from a story: the path through the states, how long the job stayed in
//! each, and the attempts whose outcome is unknown. The payload is masked unless it is asked for.
//! Next: `job/text.rs`.

use std::time::Duration;

use clap::Args;
use uuid::Uuid;

use super::lists::json;
use super::lists::table;
use super::{CliError, Streams, open};
use crate::config::Config;
use crate::ledger::audit::{Entry, Unreadable};
use crate::ledger::event::EventKind;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::view::{JobName, JobStory};
use crate::store::Look;

mod text;

/// Flags of `job`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two switches of the command line are two booleans"
)]
pub struct JobFlags {
    /// The job: its id or its idempotency key
    #[arg(value_name = "ID|KEY")]
    job: String,
    /// Print JSON, see docs/lists.md
    #[arg(long)]
    json: bool,
    /// Print the payload too; it may hold what is private
    #[arg(long)]
    show_payload: bool,
}

/// Runs `job`.
///
/// # Errors
/// Where there is no such job, the ledger cannot be read, or the output not be written.
pub(super) async fn run(
    flags: &JobFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut look = open::look(config)?;
    let Some(story) = find(&mut *look, &flags.job).await? else {
        return Err(CliError::NoJob {
            name: SafeText::new(&flags.job),
        });
    };
    let payload = flags.show_payload.then(|| story.payload.clone());
    let written = if flags.json {
        json::write(&json::Story::of(&story, payload), streams.out)
    } else {
        text::write(&story, payload.as_ref(), table::width(), streams.out)
    };
    written.map_err(CliError::Output)
}

/// The job of that id, or else of that key: a key may look like an id.
async fn find(look: &mut dyn Look, name: &str) -> Result<Option<JobStory>, CliError> {
    if let Ok(id) = Uuid::try_parse(name)
        && let Some(story) = look.story(&JobName::Id(id)).await?
    {
        return Ok(Some(story));
    }
    Ok(look.story(&JobName::Key(name.to_owned())).await?)
}

/// How long the job had been in the state that an event left or kept.
pub(super) fn dwell(entry: &Entry) -> Option<Duration> {
    let since = entry.from_since?;
    let micros = entry.at.micros().saturating_sub(since.micros());
    Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}

/// A move through the states, and how often it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    event: EventKind,
    from: Option<State>,
    to: State,
    times: u64,
}

fn readable(story: &JobStory) -> impl Iterator<Item = &Entry> {
    story.events.iter().filter_map(|event| event.as_ref().ok())
}

/// The moves of a job in the order in which they were first made, those that keep the state
/// included.
fn path(story: &JobStory) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for entry in readable(story) {
        let (event, from, to) = (entry.doing.event, entry.from, entry.to);
        let known = steps
            .iter_mut()
            .find(|step| (step.event, step.from, step.to) == (event, from, to));
        match known {
            Some(step) => step.times += 1,
            None => steps.push(Step {
                event,
                from,
                to,
                times: 1,
            }),
        }
    }
    steps
}

/// How long the job was in each state altogether, the present one up to the reading.
fn dwells(story: &JobStory) -> Vec<(State, Duration)> {
    let mut dwells: Vec<(State, Duration)> = Vec::new();
    let mut add = |state: State, span: Duration| match dwells
        .iter_mut()
        .find(|(known, _span)| *known == state)
    {
        Some((_known, sum)) => *sum += span,
        None => dwells.push((state, span)),
    };
    for entry in readable(story) {
        if let Some(from) = entry.from
            && from != entry.to
            && let Some(span) = dwell(entry)
        {
            add(from, span);
        }
    }
    let row = &story.job.row;
    add(row.state, story.as_of.since(row.state_since));
    dwells
}

/// The events that ended an attempt whose outcome nobody reported.
fn unsettled(story: &JobStory) -> Vec<&Entry> {
    readable(story)
        .filter(|entry| {
            matches!(
                entry.doing.event,
                EventKind::LeaseExpire | EventKind::Revoke
            )
        })
        .collect()
}

/// What cannot be understood of the job's events.
fn unreadable(story: &JobStory) -> impl Iterator<Item = &Unreadable> {
    story.events.iter().filter_map(|event| event.as_ref().err())
}
