//! The age pane of one queue: its ready jobs by age, a bar a bucket.

use ratatui::layout::Rect;

use crate::board::format::count;
use crate::board::summary::SPREAD_BUCKETS;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, bar, histogram, pane};
use crate::ledger::num;

use super::scope::Scope;

/// What the buckets are called; the bounds are those of the board.
const LABELS: [&str; SPREAD_BUCKETS] = ["≤5s", "≤15s", "≤1m", "≤5m", "≤15m", "≤1h", "≤6h", "older"];
/// Columns of a label and of a count.
const LABEL: u16 = 6;
const COUNT: u16 = 10;

/// Draws it: a line a bucket where there is room, else one small histogram.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scope: Option<Scope<'_>>) {
    let inner = pane::draw(canvas, area, &[(Role::Title, "Ready by age")]);
    let Some(scope) = scope else {
        return;
    };
    let spread = &scope.numbers.ready_spread;
    if usize::from(inner.height) < SPREAD_BUCKETS {
        if let Some(spot) = Spot::row(inner, 0) {
            let text = histogram::text(spread);
            let first = LABELS.first().copied().unwrap_or_default();
            canvas.pieces(
                spot,
                &[
                    (Role::Muted, first),
                    (Role::Text, " "),
                    (Role::Graph, &text),
                    (Role::Muted, " >6h"),
                ],
            );
        }
        return;
    }
    let most = spread.iter().copied().max().unwrap_or(0);
    for (row, (label, value)) in LABELS.iter().zip(spread).enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row)) else {
            return;
        };
        canvas.text(spot.first(LABEL - 1), Role::Muted, label);
        let role = if *value == 0 { Role::Muted } else { Role::Text };
        canvas.right(spot.after(LABEL).first(COUNT - 1), role, &count(*value));
        let rest = spot.after(LABEL + COUNT);
        canvas.text(rest, Role::Graph, &bar::text(*value, most, rest.columns));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::board::format::coarse;
    use crate::board::summary::SPREAD_BOUNDS_S;

    #[test]
    fn the_labels_are_the_bounds_of_the_board() {
        for (label, bound) in LABELS.iter().zip(SPREAD_BOUNDS_S) {
            assert_eq!(*label, format!("≤{}", coarse(Duration::from_secs(bound))));
        }
    }
}
