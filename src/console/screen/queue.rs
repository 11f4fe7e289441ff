//! One queue: its jobs by state and by age, and the same panes as the overview for it alone.

use ratatui::layout::Rect;

use crate::console::model::{Model, QueueState};
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;

use super::bands::{Band, side_by_side};
use super::panes::TWO_FROM;
use super::scope::Scope;
use super::{ages, headline, panes, states, take_top};

/// The first band: the eight buckets of age and a border.
const BAND: Band = Band {
    least: 10,
    good: 10,
    most: 10,
};

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &QueueState) {
    let mut rest = area;
    let scope = Scope::of(model, &state.queue);
    if model.shown.is_some() && scope.is_none() {
        gone(canvas, take_top(&mut rest, 1), state);
    } else {
        let headlines = headline::about(model, Some(&state.queue));
        let layout = headline::Layout::new(&headlines, area);
        let top = take_top(&mut rest, layout.height());
        headline::draw(canvas, top, model, &layout);
    }
    if let Some(area) = panes::draw(canvas, rest, model, scope, BAND) {
        if area.width >= TWO_FROM {
            let [left, right] = side_by_side(area, [1, 1]);
            states::draw(canvas, left, scope);
            ages::draw(canvas, right, scope);
        } else {
            states::draw(canvas, area, scope);
        }
    }
}

fn gone(canvas: &mut Canvas<'_>, area: Rect, state: &QueueState) {
    if let Some(spot) = Spot::row(area, 0) {
        let name = state.queue.as_str();
        canvas.pieces(
            spot.after(1),
            &[
                (Role::Title, name),
                (
                    Role::Muted,
                    " has no jobs now, and had no events in the window",
                ),
            ],
        );
    }
}
