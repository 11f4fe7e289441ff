//! One line when the numbers may no longer be true: what happened, and what happens next.

use ratatui::layout::Rect;

use crate::board::format::coarse;
use crate::console::model::{Link, Model, Truth};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;

/// Whether there is something to say.
pub(super) fn is_needed(model: &Model) -> bool {
    match model.truth() {
        Truth::Stale | Truth::Reconnecting => true,
        Truth::Loading | Truth::Live | Truth::Paused => false,
    }
}

/// Draws it: the fault at the left, the next step at the right, where it is never cut off.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let Some(line) = Spot::row(area, 0) else {
        return;
    };
    let line = line.after(1).first(line.columns.saturating_sub(2));
    let (fault, next) = words(model);
    let width = text::columns(&next).min(line.columns);
    let left = line.first(line.columns.saturating_sub(width.saturating_add(2)));
    canvas.pieces(left, &[(Role::Critical, "▲ "), (Role::Critical, &fault)]);
    canvas.right(line, Role::Title, &next);
}

fn words(model: &Model) -> (String, String) {
    match &model.link {
        Link::Lost { error, next_try } => {
            let wait = next_try.saturating_duration_since(model.now);
            let next = if wait.is_zero() {
                "trying again now".to_owned()
            } else {
                // Rounded up: "retry in 0s" would be over before it is read.
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                format!("retry in {seconds}s")
            };
            (error.as_str().to_owned(), next)
        }
        Link::Opening { .. } | Link::Good => {
            let age = model
                .read
                .map(|read| read.age(model.now))
                .unwrap_or_default();
            let fault = format!("no answer from the ledger for {}", coarse(age));
            (fault, "waiting for it".to_owned())
        }
    }
}
