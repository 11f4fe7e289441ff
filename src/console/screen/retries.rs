//! The retries pane: why jobs are tried again, how often, against the window before, and when next.

use ratatui::layout::Rect;

use crate::board::format::{coarse, count};
use crate::board::summary::RetrySummary;
use crate::console::format;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, bar, pane};
use crate::ledger::event::FailureKey;
use crate::ledger::num;

use super::scope::Scope;

/// Columns of the count, and of the columns that need more room.
const COUNT: u16 = 8;
const CHANGE: u16 = 6;
const NEXT: u16 = 9;
/// Widths from which they are shown.
const CHANGE_FROM: u16 = 44;
const NEXT_FROM: u16 = 54;
/// The widest that a reason with its class gets.
const REASON_MAX: u16 = 32;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scope: Option<Scope<'_>>) {
    let window = scope.map(|scope| scope.window()).unwrap_or_default();
    let waiting = scope.map_or(0, |scope| scope.numbers.depth.retry_wait);
    let waiting = if waiting == 0 {
        String::new()
    } else {
        format!(" · {} waiting", count(waiting))
    };
    let title = [
        (Role::Title, "Retries by reason"),
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
    let most = retries.iter().map(|retry| retry.count).max().unwrap_or(0);
    for (row, retry) in retries.iter().enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row)) else {
            break;
        };
        draw_row(canvas, spot, scope, retry, most);
    }
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    spot: Spot,
    scope: Scope<'_>,
    retry: &RetrySummary,
    most: u64,
) {
    let mut rest = spot;
    if spot.columns >= NEXT_FROM {
        let next = rest.after(rest.columns.saturating_sub(NEXT));
        canvas.right(next, Role::Muted, &next_due(retry));
        rest = rest.first(rest.columns.saturating_sub(NEXT + 1));
    }
    if spot.columns >= CHANGE_FROM {
        let change = rest.after(rest.columns.saturating_sub(CHANGE));
        canvas.right(
            change,
            Role::Muted,
            &format::change(retry.count, retry.before),
        );
        rest = rest.first(rest.columns.saturating_sub(CHANGE + 1));
    }
    let label = REASON_MAX.min(rest.columns.saturating_mul(3) / 5);
    draw_failure(canvas, rest.first(label), &retry.failure);
    let rest = rest.after(label + 1);
    canvas.right(
        rest.first(COUNT.saturating_sub(1)),
        Role::Text,
        &scope.counted(retry.count),
    );
    let bar_at = rest.after(COUNT);
    canvas.text(
        bar_at,
        Role::Graph,
        &bar::text(retry.count, most, bar_at.columns),
    );
}

fn next_due(retry: &RetrySummary) -> String {
    match (retry.waiting, retry.next_due_in) {
        (0, _) | (_, None) => String::new(),
        (_, Some(wait)) if wait.is_zero() => "due now".to_owned(),
        (_, Some(wait)) => format!("in {}", coarse(wait)),
    }
}

/// Draws a class and a reason; the reason matters more and is kept where only one fits.
pub(super) fn draw_failure(canvas: &mut Canvas<'_>, at: Spot, failure: &FailureKey) {
    let reason = failure
        .reason
        .as_ref()
        .map_or("no reason", |reason| reason.as_str());
    let class = failure
        .class
        .map(|class| format!("{} ", class.name()))
        .unwrap_or_default();
    if text::columns(&class).saturating_add(text::columns(reason)) <= at.columns {
        canvas.pieces(at, &[(Role::Muted, &class), (Role::Text, reason)]);
    } else {
        canvas.text(at, Role::Text, reason);
    }
}
