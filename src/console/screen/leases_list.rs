//! The list of leases: expired ones first.

use ratatui::layout::Rect;

use crate::board::format::count;
use crate::console::columns::leases::Column;
use crate::console::model::{LeasesState, Looks as _, Model};
use crate::console::theme::Role;
use crate::console::widget::canvas::Piece;
use crate::console::widget::{Canvas, pane};

use super::body::{Body, unmarked};
use super::{filter_line, lookup};

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &LeasesState) {
    let mut rest = area;
    filter_line::draw(canvas, &mut rest, model, state);
    lookup::draw_fault(canvas, &mut rest, model, state.asking());
    let number = lookup::number(None, &state.list);
    let expired = expired(model, state);
    let as_of = lookup::as_of(model, state.list.reading);
    let title: Vec<Piece<'_>> = vec![
        (Role::Title, "Leases"),
        (Role::Muted, &number),
        (Role::Critical, &expired),
        (Role::Muted, " · the first to end first"),
        (Role::Muted, &as_of),
    ];
    let inner = pane::draw(canvas, rest, &title);
    let body = Body {
        list: &state.list,
        asking: state.asking(),
        is_held: state.is_held(),
        unreadable: &state.unreadable,
        hidden: &state.hidden,
        sorted: Some(Column::Left),
        marked: &unmarked,
        none: "nobody holds a job",
    };
    body.draw(canvas, rest, inner, model);
}

/// How many have ended and were not taken back yet. They lead, so that all of them are among the
/// rows unless the rows are all expired.
fn expired(model: &Model, state: &LeasesState) -> String {
    let Some(reading) = state.list.reading else {
        return String::new();
    };
    let now = model.database_now().unwrap_or_default().max(reading.as_of);
    let rows = &state.list.rows;
    let is_expired = |lease: &&crate::ledger::view::Lease| {
        lease.job.lease_expires_at.is_some_and(|end| end <= now)
    };
    let expired = rows.iter().filter(is_expired).count();
    if expired == 0 {
        return String::new();
    }
    let at_least = if expired == rows.len() && state.list.more {
        "≥"
    } else {
        ""
    };
    let number = crate::ledger::num::count(expired);
    format!(" · ▲ {at_least}{} expired", count(number))
}
