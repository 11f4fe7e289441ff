//! The queues pane: a row a queue.

use ratatui::layout::Rect;

use crate::console::columns::{self, Column, Placed, Row, Side};
use crate::console::model::{Filter, Link, Model, OverviewState};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::{Canvas, pane};
use crate::ledger::num;

/// Columns for the mark of the selected row.
const MARK: u16 = 2;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &OverviewState) {
    let rows = model.rows();
    let all = model
        .shown
        .as_ref()
        .map_or(0, |shown| shown.summary.queues.len());
    let counted = if state.filter == Filter::Off {
        format!(" · {all}")
    } else {
        format!(" · {} of {all}", rows.len())
    };
    let order = format!(" · {}", state.order.name());
    let filter = format!(" · holding '{}'", state.filter.text());
    let mut title: Vec<Piece<'_>> = vec![(Role::Title, "Queues")];
    if model.shown.is_some() {
        title.push((Role::Muted, &counted));
        title.push((Role::Muted, &order));
    }
    if !state.filter.text().is_empty() {
        title.push((Role::Accent, &filter));
    }
    let inner = pane::draw(canvas, area, &title);
    let longest = rows.iter().fold(0, |most: u16, row| {
        most.max(text::columns(row.queue.as_str()))
    });
    let Some(heading) = Spot::row(inner, 0) else {
        return;
    };
    let placed = columns::place(inner.width.saturating_sub(MARK), longest);
    draw_heading(canvas, heading.after(MARK), &placed, state);
    let body = Rect {
        y: inner.y.saturating_add(1),
        height: inner.height.saturating_sub(1),
        ..inner
    };
    if rows.is_empty() {
        if let Some(spot) = Spot::row(body, 0) {
            canvas.text(spot.after(MARK), Role::Muted, empty(model, state));
        }
        return;
    }
    let selected = rows
        .iter()
        .position(|row| Some(&row.queue) == state.selected.as_ref());
    let visible = usize::from(body.height);
    let first = first_row(selected.unwrap_or(0), rows.len(), visible);
    for (line, queue) in rows.iter().enumerate().skip(first).take(visible) {
        let Some(spot) = Spot::row(body, num::columns(line - first)) else {
            break;
        };
        let limits = model.fixed.limits.of(queue.queue.as_str());
        draw_row(canvas, spot.after(MARK), &placed, Row { queue, limits });
        if Some(line) == selected {
            canvas.text(spot.first(1), Role::Accent, "›");
            canvas.tint(Rect::new(spot.x, spot.y, spot.columns, 1), Role::Selected);
        }
    }
    hidden(
        canvas,
        area,
        first,
        rows.len().saturating_sub(first + visible),
    );
}

fn empty(model: &Model, state: &OverviewState) -> &'static str {
    if model.shown.is_none() {
        match model.link {
            Link::Lost { .. } => "not counted yet",
            Link::Opening { .. } | Link::Good => "counting …",
        }
    } else if state.filter.text().is_empty() {
        "no jobs, and no events in the window"
    } else {
        "no queue's name holds that text"
    }
}

/// Which row stands first: none is scrolled away before the selected one reaches the middle.
fn first_row(selected: usize, rows: usize, visible: usize) -> usize {
    selected
        .saturating_sub(visible / 2)
        .min(rows.saturating_sub(visible))
}

fn draw_heading(canvas: &mut Canvas<'_>, at: Spot, placed: &[Placed], state: &OverviewState) {
    let sorted = state.order.column();
    for each in placed {
        let spot = at.after(each.indent).first(each.columns);
        let is_sorted = Some(each.column) == sorted;
        let title = each.column.title(each.room);
        let title = if is_sorted {
            format!("{title} ▼")
        } else {
            title.to_owned()
        };
        let role = if is_sorted { Role::Title } else { Role::Muted };
        write(canvas, spot, each.column, role, &title);
    }
}

fn draw_row(canvas: &mut Canvas<'_>, at: Spot, placed: &[Placed], row: Row<'_>) {
    for each in placed {
        let spot = at.after(each.indent).first(each.columns);
        let (role, text) = each.column.cell(row, each.columns);
        write(canvas, spot, each.column, role, &text);
    }
}

fn write(canvas: &mut Canvas<'_>, spot: Spot, column: Column, role: Role, text: &str) {
    match column.side() {
        Side::Left => {
            canvas.text(spot, role, text);
        }
        Side::Right => canvas.right(spot, role, text),
    }
}

/// Says in the lower border how many rows are out of sight.
fn hidden(canvas: &mut Canvas<'_>, area: Rect, above: usize, below: usize) {
    if above == 0 && below == 0 {
        return;
    }
    let mut parts = Vec::new();
    if above > 0 {
        parts.push(format!("{above} above"));
    }
    if below > 0 {
        parts.push(format!("{below} below"));
    }
    let text = format!(" {} ", parts.join(" · "));
    if let Some(spot) = Spot::row(area, area.height.saturating_sub(1)) {
        let room = spot.after(2).first(spot.columns.saturating_sub(4));
        canvas.right(room, Role::Muted, &text);
    }
}
