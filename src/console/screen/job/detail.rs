//! The walked event in words: what the table has no room for.

use ratatui::layout::Rect;

use super::{Sight, events, timestamp};
use crate::board::format::{coarse, exact};
use crate::console::model::numbers;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Canvas, Spot};
use crate::ledger::audit::{Entry, Unreadable};
use crate::ledger::event::EventKind;
use crate::ledger::num;
use crate::ledger::transition::FenceStep;
use crate::ledger::transition::TABLE;

/// The event that the mark stands on.
pub(super) fn walked<'a>(sight: &Sight<'a>) -> Option<&'a Result<Entry, Unreadable>> {
    let numbers = numbers(&sight.story.events);
    let place = numbers.iter().position(|number| *number == sight.walked)?;
    sight.story.events.get(place)
}

/// What is said about the walked event, what matters most first.
fn sentences(sight: &Sight<'_>) -> Vec<(Role, String)> {
    match walked(sight) {
        None => vec![(Role::Muted, "no event of this job is here".to_owned())],
        Some(Err(unreadable)) => vec![
            (
                Role::Critical,
                format!(
                    "It cannot be read: column '{}' holds '{}'.",
                    unreadable.column, unreadable.value
                ),
            ),
            (
                Role::Text,
                "The rest of the job is shown as it is stored; `ledgertop verify` names every such \
                 event."
                    .to_owned(),
            ),
        ],
        Some(Ok(entry)) => readable(entry, sight),
    }
}

fn readable(entry: &Entry, sight: &Sight<'_>) -> Vec<(Role, String)> {
    let mut said = vec![(Role::Text, happened(entry))];
    if super::trace::leaves_unsettled(entry) {
        said.push((
            Role::Critical,
            format!(
                "Attempt {} began and its worker never settled it: what it did is not known.",
                entry.attempt
            ),
        ));
    }
    let failure = events::failure(entry);
    if !failure.is_empty() {
        let error = entry.failure.error.as_ref();
        let text = error.map_or_else(|| failure.clone(), |error| format!("{failure}: {error}"));
        said.push((Role::Text, text));
    }
    if let Some(note) = &entry.doing.note {
        said.push((Role::Text, format!("note: {note}")));
    }
    said.push((Role::Muted, particulars(entry, sight)));
    said
}

fn happened(entry: &Entry) -> String {
    let moved = match entry.from {
        Some(from) if from == entry.to => format!("stays {from}"),
        Some(from) => format!("{from} → {}", entry.to),
        None => format!("new → {}", entry.to),
    };
    let dwell = match (events::dwell(entry), entry.from) {
        (Some(dwell), Some(from)) => format!(" after {dwell} in {from}"),
        (Some(_) | None, _) => String::new(),
    };
    format!(
        "{} {}: {moved}{dwell}, by {} {}",
        entry.at, entry.doing.event, entry.doing.actor_kind, entry.doing.actor
    )
}

/// Whether an event ends a claim for good.
fn moves_fence(event: EventKind) -> bool {
    TABLE
        .iter()
        .any(|row| row.event == event && row.fence == FenceStep::Next)
}

fn particulars(entry: &Entry, sight: &Sight<'_>) -> String {
    let mut said = vec![format!("attempt {}", entry.attempt)];
    let fence = if moves_fence(entry.doing.event) {
        format!("fence now {}", entry.fence)
    } else {
        format!("fence {}", entry.fence)
    };
    said.push(fence);
    if let Some(worker) = &entry.worker {
        said.push(format!("worker {worker}"));
    }
    if let Some(end) = entry.lease_expires_at {
        let (end, at) = (timestamp(end), timestamp(entry.at));
        said.push(if end > at {
            format!("lease for {}", coarse(end.since(at)))
        } else {
            format!("lease ended {}", sight.stamp(end))
        });
    }
    if let Some(moment) = entry.available_at {
        let (moment, at) = (timestamp(moment), timestamp(entry.at));
        if moment > at {
            said.push(format!("due after {}", exact(moment.since(at))));
        }
    }
    said.push(format!(
        "policy {}@{}",
        entry.policy.name, entry.policy.version
    ));
    if let Some(plan) = &entry.doing.plan {
        said.push(format!("plan {plan}"));
    }
    if let Some(output) = &entry.output_ref {
        said.push(format!("output {output}"));
    }
    said.join(" · ")
}

/// Draws as much of it as there is room for.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, sight: &Sight<'_>) {
    let mut row = 0;
    for (role, sentence) in sentences(sight) {
        for line in text::wrapped(&sentence, area.width) {
            let Some(spot) = Spot::row(area, row) else {
                return;
            };
            canvas.text(spot, role, &line);
            row += 1;
        }
    }
}

/// How many lines it takes at a width.
pub(super) fn height(sight: &Sight<'_>, width: u16) -> u16 {
    let lines: usize = sentences(sight)
        .iter()
        .map(|(_, sentence)| text::wrapped(sentence, width).len())
        .sum();
    num::columns(lines)
}

/// The one line for small screens: what went wrong or was said, else what happened.
pub(super) fn draw_line(canvas: &mut Canvas<'_>, spot: Spot, sight: &Sight<'_>) {
    let sentences = sentences(sight);
    let said = match walked(sight) {
        Some(Ok(_)) if sentences.len() > 2 => sentences.get(1),
        Some(Ok(_) | Err(_)) | None => sentences.first(),
    };
    if let Some((role, sentence)) = said {
        canvas.text(spot, *role, sentence);
    }
}
