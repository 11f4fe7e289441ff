//! The flow pane: what went otherwise than planned in the window, and how long jobs took.

use ratatui::layout::Rect;

use crate::board::format::{latency, rate};
use crate::board::summary::Percentiles;
use crate::console::format;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::facts::{self, Fact};
use crate::console::widget::{Canvas, pane};

use super::scope::Scope;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scope: Option<Scope<'_>>) {
    let window = scope.map(|scope| scope.window()).unwrap_or_default();
    let inner = pane::draw(
        canvas,
        area,
        &[(Role::Title, "Flow"), (Role::Muted, &window)],
    );
    let Some(scope) = scope else {
        return;
    };
    let flow = scope.numbers.flow;
    let counted = |label: &'static str, value: u64| {
        let role = if value == 0 { Role::Muted } else { Role::Text };
        Fact::new(label, scope.counted(value), role)
    };
    let facts = [
        counted("exhausted", flow.exhausted),
        counted("leases expired", flow.lease_expirations),
        counted("duplicates", flow.duplicates),
        counted("stale refused", flow.stale_refused),
        Fact::new("in/s", rate(scope.numbers.in_per_s), Role::Text),
        Fact::new("out/s", rate(scope.numbers.out_per_s), Role::Text),
    ];
    // The line of times comes first: it is the one that users of the queue feel.
    if let Some(spot) = Spot::row(inner, 0) {
        draw_times(canvas, spot, flow.time_to_terminal);
    }
    let rest = Rect {
        y: inner.y.saturating_add(1),
        height: inner.height.saturating_sub(1),
        ..inner
    };
    facts::draw(canvas, rest, &facts);
}

/// Time from the first attempt to the end, with the longest label that leaves room for the numbers.
fn draw_times(canvas: &mut Canvas<'_>, spot: Spot, times: Option<Percentiles>) {
    const FORMS: [(&str, &str); 4] = [
        ("first attempt to end  ", "  "),
        ("to end  ", "  "),
        ("to end ", " "),
        ("", " "),
    ];
    let Some(times) = times else {
        let label = FORMS.first().map_or("", |(label, _)| label);
        canvas.pieces(
            spot,
            &[(Role::Muted, label), (Role::Muted, format::NOTHING)],
        );
        return;
    };
    let said = [
        ("p50 ", times.p50),
        ("p95 ", times.p95),
        ("p99 ", times.p99),
    ]
    .map(|(name, time)| (name, latency(time)));
    let pieces_of = |(label, gap): (&'static str, &'static str)| {
        let mut pieces: Vec<Piece<'_>> = vec![(Role::Muted, label)];
        for (position, (name, time)) in said.iter().enumerate() {
            pieces.push((Role::Muted, if position == 0 { "" } else { gap }));
            pieces.push((Role::Muted, name));
            pieces.push((Role::Text, time));
        }
        pieces
    };
    let forms = FORMS.map(pieces_of);
    let fits = |pieces: &&Vec<Piece<'_>>| width(pieces) <= spot.columns;
    if let Some(pieces) = forms.iter().find(fits).or(forms.last()) {
        canvas.pieces(spot, pieces);
    }
}

fn width(pieces: &[Piece<'_>]) -> u16 {
    pieces
        .iter()
        .fold(0, |sum, (_, each)| sum.saturating_add(text::columns(each)))
}
