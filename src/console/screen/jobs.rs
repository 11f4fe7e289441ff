//! The list of jobs.

use ratatui::layout::Rect;

use crate::console::columns::jobs::Column;
use crate::console::model::{Item as _, JobsState, Looks as _, Model};
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::list::Marked;
use crate::console::widget::{Canvas, pane};
use crate::ledger::text::SafeText;
use crate::ledger::view::{JobOrder, ListedJob};

use super::body::Body;
use super::{filter_line, lookup, take_bottom};

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &JobsState) {
    let mut rest = area;
    filter_line::draw(canvas, &mut rest, model, state);
    filter_line::draw_leave(canvas, &mut rest, state.leave);
    lookup::draw_fault(canvas, &mut rest, model, state.asking());
    let number = lookup::number(state.counted.map(|(count, _)| count), &state.list);
    let order = format!(" · {}", order_name(state.order));
    let as_of = lookup::as_of(model, state.list.reading);
    let title: Vec<Piece<'_>> = vec![
        (Role::Title, "Jobs"),
        (Role::Muted, &number),
        (Role::Muted, &order),
        (Role::Muted, &as_of),
    ];
    let mut inner = pane::draw(canvas, rest, &title);
    if !state.marks.is_empty() && inner.height > 2 {
        draw_marks(canvas, take_bottom(&mut inner), state);
    }
    let rows = &state.list.rows;
    let range = state
        .marks
        .range_rows(rows, state.list.selected)
        .and_then(|(from, to)| rows.get(from..=to))
        .unwrap_or_default();
    let marked = |job: &ListedJob| {
        if state.marks.holds(job.key()) {
            Marked::Yes
        } else if range.iter().any(|row| row.key() == job.key()) {
            Marked::InRange
        } else {
            Marked::No
        }
    };
    let body = Body {
        list: &state.list,
        asking: state.asking(),
        is_held: state.is_held(),
        unreadable: &state.unreadable,
        hidden: &state.hidden,
        sorted: Some(sorted_column(state.order)),
        marked: &marked,
        none: "no such jobs",
    };
    body.draw(canvas, rest, inner, model);
}

const fn order_name(order: JobOrder) -> &'static str {
    match order {
        JobOrder::OldestFirst => "longest in their state first",
        JobOrder::NewestFirst => "latest change first",
        JobOrder::CreatedLast => "last created first",
    }
}

const fn sorted_column(order: JobOrder) -> Column {
    match order {
        JobOrder::OldestFirst | JobOrder::NewestFirst => Column::Age,
        JobOrder::CreatedLast => Column::Created,
    }
}

/// How many are marked, and which of them are not listed.
fn draw_marks(canvas: &mut Canvas<'_>, area: Rect, state: &JobsState) {
    let Some(spot) = Spot::row(area, 0) else {
        return;
    };
    let count = format!("● {} marked", state.marks.len());
    let full = if state.marks.is_full() {
        " (no more can be; a filter can hold any number)"
    } else {
        ""
    };
    let unlisted = unlisted(state);
    canvas.pieces(
        spot,
        &[
            (Role::Accent, &count),
            (Role::Warning, full),
            (Role::Muted, &unlisted),
        ],
    );
}

fn unlisted(state: &JobsState) -> String {
    let unlisted = state.marks.unlisted(&state.list.rows);
    if unlisted.is_empty() || !state.is_held() {
        return String::new();
    }
    let names: Vec<String> = unlisted
        .iter()
        .map(|job| named(&job.idempotency_key, &job.queue))
        .collect();
    let place = if state.list.is_whole() {
        "no longer in this list"
    } else {
        "not among the rows read"
    };
    format!(" · {} {place}: {}", unlisted.len(), names.join(", "))
}

fn named(key: &SafeText, queue: &SafeText) -> String {
    format!("{key} ({queue})")
}
