//! The audit: what operators did, the newest first.

use ratatui::layout::Rect;

use crate::console::columns::audit::Column;
use crate::console::model::{AuditState, Looks as _, Model};
use crate::console::theme::Role;
use crate::console::widget::canvas::Piece;
use crate::console::widget::{Canvas, pane};

use super::body::{Body, unmarked};
use super::lookup;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &AuditState) {
    let mut rest = area;
    lookup::draw_fault(canvas, &mut rest, model, state.asking());
    let as_of = lookup::as_of(model, state.list.reading);
    let title: Vec<Piece<'_>> = vec![
        (Role::Title, "Audit"),
        (Role::Muted, " · what operators did, the newest first"),
        (Role::Muted, &as_of),
    ];
    let inner = pane::draw(canvas, rest, &title);
    let body = Body {
        list: &state.list,
        asking: state.asking(),
        is_held: state.list.is_held(),
        unreadable: &state.unreadable,
        hidden: &state.hidden,
        sorted: Some(Column::At),
        marked: &unmarked,
        none: "no operator has done anything",
    };
    body.draw(canvas, rest, inner, model);
}
