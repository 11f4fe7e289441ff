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
/// The widest that a reason with its class gets, and the least that is left for the bar.
const REASON_MAX: u16 = 32;
const BAR_MIN: u16 = 6;
/// Columns of a class, where a reason fits beside it.
const CLASS: u16 = 10;
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
    let counted = scope.counted(retry.count);
    let bar_at = draw_reason(canvas, rest, &retry.failure, &counted);
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

/// Draws a class, a reason and how many; returns what is left for a bar. The reason matters more than the
/// class and is kept where only one fits.
pub(super) fn draw_reason(
    canvas: &mut Canvas<'_>,
    at: Spot,
    failure: &FailureKey,
    counted: &str,
) -> Spot {
    let label = REASON_MAX.min(at.columns.saturating_sub(COUNT + BAR_MIN));
    let reason = failure
        .reason
        .as_ref()
        .map_or("no reason", |reason| reason.as_str());
    let spot = at.first(label);
    if CLASS.saturating_add(text::columns(reason)) <= label {
        let class = failure.class.map_or(format::NOTHING, |class| class.name());
        canvas.text(spot, Role::Muted, class);
        canvas.text(spot.after(CLASS), Role::Text, reason);
    } else {
        canvas.text(spot, Role::Text, reason);
    }
    let rest = at.after(label);
    canvas.right(rest.first(COUNT - 1), Role::Text, counted);
    rest.after(COUNT)
}
