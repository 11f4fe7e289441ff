//! The first line: which ledger, what may be done to it, which screens there are, and how true the
//! numbers are.
//!
//! While all is well it says the minute and the interval, not a running clock: an idle board must
//! cost nothing. As soon as numbers are not of now, their exact moment and age stand there.

use ratatui::layout::Rect;

use crate::board::format::coarse;
use crate::console::clock::{Precision, interval};
use crate::console::model::{Hold, Link, Model, Truth};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;

use super::tabs;

/// What stands between two parts of the line.
const GAP: u16 = 2;
/// The word for a console that cannot write, and the one for a console that may.
const READ_ONLY: &str = "READ-ONLY";
const OPERATE: &str = "OPERATE";
/// The least that is kept of the ledger's name, and the most that it takes.
const NAME_MIN: u16 = 8;
const NAME_MAX: u16 = 30;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let Some(line) = Spot::row(area, 0) else {
        return;
    };
    let (word, details) = status(model);
    let left_min = NAME_MIN + GAP + text::columns(READ_ONLY) + GAP;
    let room = line
        .columns
        .saturating_sub(left_min + 1)
        .max(text::columns(word));
    let mut shown = details.len();
    let mut tail = joined(&details);
    while shown > 0 && text::columns(word).saturating_add(text::columns(&tail)) > room {
        shown -= 1;
        tail = joined(details.get(..shown).unwrap_or_default());
    }
    let width = text::columns(word).saturating_add(text::columns(&tail));
    let right = line.after(line.columns.saturating_sub(width.saturating_add(1)));
    canvas.pieces(right, &[(role(model.truth()), word), (Role::Muted, &tail)]);
    let left = line.after(1).first(
        line.columns
            .saturating_sub(width.saturating_add(1 + 1 + GAP)),
    );
    draw_left(canvas, left, model);
}

fn draw_left(canvas: &mut Canvas<'_>, at: Spot, model: &Model) {
    let role_width = text::columns(READ_ONLY);
    let name_room = at.columns.saturating_sub(role_width + GAP).min(NAME_MAX);
    let used = canvas.text(
        at.first(name_room),
        Role::Accent,
        model.fixed.ledger.as_str(),
    );
    let at = at.after(if used > 0 { used + GAP } else { 0 });
    let (role, word) = if model.fixed.permit.is_some() {
        (Role::Operator, OPERATE)
    } else {
        (Role::Title, READ_ONLY)
    };
    let used = canvas.text(at, role, word);
    tabs::draw(canvas, at.after(used + GAP + 1), &model.view);
}

const fn role(truth: Truth) -> Role {
    match truth {
        Truth::Loading => Role::Muted,
        Truth::Live => Role::Good,
        Truth::Paused => Role::Warning,
        Truth::Stale | Truth::Reconnecting => Role::Critical,
    }
}

/// The word, and the details in the order in which they matter.
fn status(model: &Model) -> (&'static str, Vec<String>) {
    let truth = model.truth();
    let mut details = Vec::new();
    match (truth, &model.shown) {
        (Truth::Live, Some(shown)) => {
            details.push(
                model
                    .clock
                    .time_of_day(shown.summary.as_of, Precision::Minute),
            );
            details.push(format!("every {}", interval(model.refresh)));
        }
        (Truth::Paused | Truth::Stale | Truth::Reconnecting, Some(shown)) => {
            details.push(
                model
                    .clock
                    .time_of_day(shown.summary.as_of, Precision::Second),
            );
            details.push(format!("{} old", coarse(shown.reading.age(model.now))));
            if model.hold == Hold::Paused && truth != Truth::Paused {
                details.push("paused".to_owned());
            }
        }
        (Truth::Loading, _) => {
            if let Link::Opening { since } = model.link {
                let waited = model.now.saturating_duration_since(since);
                if waited.as_secs() > 0 {
                    details.push(coarse(waited));
                }
            }
        }
        (Truth::Live | Truth::Paused | Truth::Stale | Truth::Reconnecting, None) => {}
    }
    if let Some(shown) = &model.shown {
        details.push(exactness(shown));
    }
    (truth.word(), details)
}

/// Whether every number is exact, or how far the window has filled.
fn exactness(shown: &crate::console::model::Shown) -> String {
    let summary = &shown.summary;
    if summary.is_exact() {
        "exact".to_owned()
    } else {
        let filled = summary.as_of.since(summary.window_since);
        format!("≥ for {} of {}", coarse(filled), coarse(summary.window))
    }
}

fn joined(details: &[String]) -> String {
    let mut tail = String::new();
    for (position, detail) in details.iter().enumerate() {
        tail.push_str(if position == 0 { " " } else { " · " });
        tail.push_str(detail);
    }
    tail
}
