//! The states pane of one queue: its jobs by state, its rates, and where the backlog is going.

use ratatui::layout::Rect;

use crate::board::format::{coarse, count, exact, rate};
use crate::board::summary::Drain;
use crate::console::columns::{age_level, level_mark, level_role};
use crate::console::format;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::facts::{self, Fact};
use crate::console::widget::{Canvas, pane, sparkline};

use super::scope::Scope;

/// The widest that the history of ready depth gets.
const HISTORY: u16 = 30;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scope: Option<Scope<'_>>) {
    let inner = pane::draw(canvas, area, &[(Role::Title, "Jobs")]);
    let Some(scope) = scope else {
        return;
    };
    let numbers = scope.numbers;
    let depth = numbers.depth;
    let counted = |label: &'static str, value: u64| {
        let role = if value == 0 { Role::Muted } else { Role::Text };
        Fact::new(label, count(value), role)
    };
    let drains = match numbers.drain {
        Drain::Never => Role::Warning,
        Drain::Empty | Drain::Unknown => Role::Muted,
        Drain::In(_) => Role::Text,
    };
    let facts = [
        counted("ready", depth.ready),
        counted("running", depth.running),
        counted("retry_wait", depth.retry_wait),
        counted("pending", depth.pending),
        counted("dead", depth.dead),
        counted("quarantined", depth.quarantined),
        Fact::new("in/s", rate(numbers.in_per_s), Role::Text),
        Fact::new("out/s", rate(numbers.out_per_s), Role::Text),
        Fact::new("drains in", format::drain(numbers.drain), drains),
        Fact::new(
            "level",
            level_word(scope),
            level_role(numbers.level, Role::Good),
        ),
    ];
    if let Some(spot) = Spot::row(inner, 0) {
        draw_oldest(canvas, spot, scope);
    }
    let rest = below(inner, 1);
    let used = facts::draw(canvas, rest, &facts);
    let rest = below(rest, used);
    if let Some(spot) = Spot::row(rest, 0) {
        let history = sparkline::text(
            &numbers.ready_history,
            HISTORY.min(spot.columns.saturating_sub(15)),
        );
        canvas.pieces(
            spot,
            &[(Role::Muted, "ready, 15 min  "), (Role::Graph, &history)],
        );
    }
}

fn level_word(scope: Scope<'_>) -> String {
    use crate::board::summary::Level;
    match scope.numbers.level {
        Level::Fine => "fine",
        Level::Warning => "warning",
        Level::Critical => "critical",
    }
    .to_owned()
}

fn draw_oldest(canvas: &mut Canvas<'_>, spot: Spot, scope: Scope<'_>) {
    let bound = &scope.limits.oldest_ready;
    let age = scope.numbers.oldest_ready_age;
    let level = age_level(age, bound);
    let oldest = format!("{} {}", format::maybe_age(age), level_mark(level));
    let limit = format!("  (limit {})", exact(bound.warning));
    let spread = scope.numbers.ready_age.map_or_else(String::new, |ages| {
        format!("  p50 {}  p95 {}", coarse(ages.p50), coarse(ages.p95))
    });
    let oldest: [Piece<'_>; 2] = [
        (Role::Muted, "oldest ready  "),
        (level_role(level, Role::Title), oldest.trim_end()),
    ];
    canvas.groups(
        spot,
        &[&oldest, &[(Role::Muted, &limit)], &[(Role::Muted, &spread)]],
    );
}

fn below(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect {
        y: area.y.saturating_add(lines),
        height: area.height.saturating_sub(lines),
        ..area
    }
}
