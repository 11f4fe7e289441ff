//! The leases pane: who holds jobs, and which leases are about to run out or have.

use ratatui::layout::Rect;

use crate::board::format::count;
use crate::board::summary::Level;
use crate::console::columns::level_role;
use crate::console::format;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::facts::{self, Fact};
use crate::console::widget::{Canvas, bar, pane};
use crate::ledger::num;

use super::scope::Scope;

/// Columns of a worker's count.
const COUNT: u16 = 7;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scope: Option<Scope<'_>>) {
    let inner = pane::draw(canvas, area, &[(Role::Title, "Leases")]);
    let Some(scope) = scope else {
        return;
    };
    let leases = &scope.numbers.leases;
    let bound = &scope.limits.expired_leases;
    let expired = if leases.expired > bound.critical {
        Level::Critical
    } else if leases.expired > bound.warning {
        Level::Warning
    } else {
        Level::Fine
    };
    let number = |value: u64| if value == 0 { Role::Muted } else { Role::Text };
    let facts = [
        Fact::new(
            "in flight",
            count(leases.in_flight),
            number(leases.in_flight),
        ),
        Fact::new(
            "near expiry",
            count(leases.near_expiry),
            number(leases.near_expiry),
        ),
        Fact::new(
            "expired",
            count(leases.expired),
            level_role(expired, number(leases.expired)),
        ),
        Fact::new("oldest", format::maybe_age(leases.oldest_age), Role::Text),
    ];
    let used = facts::draw(canvas, inner, &facts);
    let most = leases
        .by_worker
        .iter()
        .map(|(_, held)| *held)
        .max()
        .unwrap_or(0);
    for (row, (worker, held)) in leases.by_worker.iter().enumerate() {
        let Some(spot) = Spot::row(inner, used.saturating_add(num::columns(row))) else {
            break;
        };
        let name = spot.columns / 2;
        canvas.text(spot.first(name), Role::Text, worker.as_str());
        let rest = spot.after(name + 1);
        canvas.right(
            rest.first(COUNT - 1),
            Role::Text,
            &format::count_within(*held, COUNT - 1),
        );
        let bar_at = rest.after(COUNT);
        canvas.text(bar_at, Role::Graph, &bar::text(*held, most, bar_at.columns));
    }
}
