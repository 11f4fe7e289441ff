//! The flow pane: what went otherwise than planned in the window, and how long jobs took.

use ratatui::layout::Rect;

use crate::board::format::{latency, rate};
use crate::console::format;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
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
    let times = flow.time_to_terminal.map(|times| {
        [("p50", times.p50), ("p95", times.p95), ("p99", times.p99)]
            .map(|(name, time)| (name, latency(time)))
    });
    // The line of times comes first: it is the one that users of the queue feel.
    if let Some(spot) = Spot::row(inner, 0) {
        match &times {
            Some([p50, p95, p99]) => {
                canvas.pieces(
                    spot,
                    &[
                        (Role::Muted, "first attempt to end  "),
                        (Role::Muted, p50.0),
                        (Role::Text, &format!(" {}  ", p50.1)),
                        (Role::Muted, p95.0),
                        (Role::Text, &format!(" {}  ", p95.1)),
                        (Role::Muted, p99.0),
                        (Role::Text, &format!(" {}", p99.1)),
                    ],
                );
            }
            None => {
                canvas.pieces(
                    spot,
                    &[
                        (Role::Muted, "first attempt to end  "),
                        (Role::Muted, format::NOTHING),
                    ],
                );
            }
        }
    }
    let rest = Rect {
        y: inner.y.saturating_add(1),
        height: inner.height.saturating_sub(1),
        ..inner
    };
    facts::draw(canvas, rest, &facts);
}
