//! The retries pane: why jobs are tried again, how often, against the window before, and when next.

use ratatui::layout::Rect;

use crate::board::format::{coarse, count};
use crate::board::summary::RetrySummary;
use crate::console::format;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, pane};
use crate::ledger::num;

use super::reasons::Reasons;
use super::scope::Scope;

/// Columns of what needs more room.
const CHANGE: u16 = 6;
const NEXT: u16 = 9;
/// Widths from which they are shown.
const CHANGE_FROM: u16 = 44;
const NEXT_FROM: u16 = 54;
/// The width from which the title is written in full.
const LONG_TITLE_FROM: u16 = 44;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scope: Option<Scope<'_>>) {
    let window = scope.map(|scope| scope.window()).unwrap_or_default();
    let waiting = scope.map_or(0, |scope| scope.numbers.depth.retry_wait);
    let waiting = if waiting == 0 {
        String::new()
    } else {
        format!(" · {} waiting", count(waiting))
    };
    let name = if area.width < LONG_TITLE_FROM {
        "Retries"
    } else {
        "Retries by reason"
    };
    let title = [
        (Role::Title, name),
        (Role::Muted, &window),
        (Role::Muted, &waiting),
    ];
    let inner = pane::draw(canvas, area, &title);
    let Some(scope) = scope else {
        return;
    };
    let retries = &scope.numbers.retries;
    if retries.is_empty()
        && let Some(spot) = Spot::row(inner, 0)
    {
        canvas.text(spot, Role::Muted, "no retries in the window");
    }
    let counted = retries.iter().map(|retry| (&retry.failure, retry.count));
    let reasons = Reasons::of(counted, narrowed(inner.width));
    for (row, retry) in retries.iter().enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row)) else {
            break;
        };
        draw_row(canvas, spot, scope, reasons, retry);
    }
}

/// What is left for reasons beside the change and the next due time, where these are shown.
const fn narrowed(columns: u16) -> u16 {
    let next = if columns >= NEXT_FROM { NEXT + 1 } else { 0 };
    let change = if columns >= CHANGE_FROM {
        CHANGE + 1
    } else {
        0
    };
    columns.saturating_sub(next + change)
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    spot: Spot,
    scope: Scope<'_>,
    reasons: Reasons,
    retry: &RetrySummary,
) {
    let rest = spot.first(narrowed(spot.columns));
    let counted = scope.counted(retry.count);
    reasons.draw(canvas, rest, (&retry.failure, retry.count), &counted);
    let beside = spot.after(rest.columns + 1);
    if spot.columns >= CHANGE_FROM {
        let change = format::change(retry.count, retry.before);
        canvas.right(beside.first(CHANGE), Role::Muted, &change);
    }
    if spot.columns >= NEXT_FROM {
        canvas.right(beside.after(CHANGE + 1), Role::Muted, &next_due(retry));
    }
}

fn next_due(retry: &RetrySummary) -> String {
    match (retry.waiting, retry.next_due_in) {
        (0, _) | (_, None) => String::new(),
        (_, Some(wait)) if wait.is_zero() => "due now".to_owned(),
        (_, Some(wait)) => format!("in {}", coarse(wait)),
    }
}
