//! The dead letters pane: what waits for a person, for how long, whether it grows, and why.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::board::format::{coarse, exact};
use crate::console::columns::{age_level, level_mark, level_role};
use crate::console::format;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::{Canvas, histogram, pane};
use crate::ledger::num;

use super::reasons::Reasons;
use super::scope::Scope;

/// Columns of a count.
const COUNT: u16 = 7;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scope: Option<Scope<'_>>) {
    let growth = scope.map(|scope| {
        format!(
            " · {}",
            format::growth(scope.numbers.dead_letters.growth_per_h)
        )
    });
    let growth = growth.unwrap_or_default();
    let inner = pane::draw(
        canvas,
        area,
        &[(Role::Title, "Dead letters"), (Role::Muted, &growth)],
    );
    let Some(scope) = scope else {
        return;
    };
    let letters = &scope.numbers.dead_letters;
    let depth = scope.numbers.depth;
    if depth.dead == 0 && depth.quarantined == 0 {
        if let Some(spot) = Spot::row(inner, 0) {
            canvas.text(spot, Role::Good, "none");
        }
        return;
    }
    if let Some(spot) = Spot::row(inner, 0) {
        draw_kind(
            canvas,
            spot,
            scope,
            ("dead", depth.dead, letters.oldest_dead_age),
        );
    }
    if let Some(spot) = Spot::row(inner, 1) {
        let kind = (
            "quarantined",
            depth.quarantined,
            letters.oldest_quarantined_age,
        );
        draw_kind(canvas, spot, scope, kind);
    }
    draw_spread(canvas, inner, scope);
    let counted = letters
        .by_reason
        .iter()
        .map(|(failure, count)| (failure, *count));
    let reasons = Reasons::of(counted.clone(), inner.width);
    for (row, (failure, count)) in counted.enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row).saturating_add(2)) else {
            break;
        };
        let shown = format::count_within(count, COUNT - 1);
        reasons.draw(canvas, spot, (failure, count), &shown);
    }
}

/// One line: how many of a kind, and the age of the oldest against its limit.
fn draw_kind(
    canvas: &mut Canvas<'_>,
    spot: Spot,
    scope: Scope<'_>,
    kind: (&'static str, u64, Option<Duration>),
) {
    const LABEL: u16 = 12;
    let (label, count, oldest) = kind;
    canvas.text(spot.first(LABEL), Role::Muted, label);
    let number = if count == 0 { Role::Muted } else { Role::Text };
    let rest = spot.after(LABEL);
    canvas.right(
        rest.first(COUNT - 1),
        number,
        &format::count_within(count, COUNT - 1),
    );
    let Some(age) = oldest else {
        return;
    };
    let bound = &scope.limits.oldest_dead_letter;
    let level = age_level(Some(age), bound);
    let oldest = format!("{} {}", coarse(age), level_mark(level));
    // Limits differ from queue to queue; over all of them there is no one limit to name.
    let limit = match scope.queue {
        Some(_) => format!(" (limit {})", exact(bound.warning)),
        None => String::new(),
    };
    let age: [Piece<'_>; 2] = [
        (Role::Muted, "  oldest "),
        (level_role(level, Role::Text), oldest.trim_end()),
    ];
    canvas.groups(rest.after(COUNT - 1), &[&age, &[(Role::Muted, &limit)]]);
}

/// The age spread of both kinds, at the right of the first line where there is room.
fn draw_spread(canvas: &mut Canvas<'_>, inner: Rect, scope: Scope<'_>) {
    const FROM: u16 = 56;
    if inner.width < FROM {
        return;
    }
    let spread = histogram::text(&scope.numbers.dead_letters.spread);
    if let Some(spot) = Spot::row(inner, 0) {
        let right = spot.after(spot.columns.saturating_sub(14));
        canvas.pieces(right, &[(Role::Muted, "ages  "), (Role::Graph, &spread)]);
    }
}
