//! Draws a diagram that is laid out: lines, heads, labels, states. Next: [`super::labels`].

use std::collections::BTreeMap;

use ratatui::layout::Rect;

use super::layout::Plan;
use super::route::{Cell, Route, Side, towards};
use super::strokes::{self, Arms, Weight};
use super::{Arrow, Form, Path, labels};
use crate::board::format::coarse;
use crate::console::format::count_within;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Canvas, Spot};
use crate::ledger::state::State;

/// Draws it at `place`, which has the plan's size.
pub(super) fn draw(canvas: &mut Canvas<'_>, place: Rect, plan: &Plan, path: &Path) {
    draw_lines(canvas, place, plan, path);
    for label in labels::place(plan, path) {
        let spot = spot(place, label.cell, label.columns);
        let marked = path.is_marked(label.arrow);
        let role = match (marked, path.times(label.arrow) > 0) {
            (true, _) => Role::Accent,
            (false, true) => Role::Text,
            (false, false) => Role::Muted,
        };
        canvas.text(spot, role, &label.text);
        if marked {
            canvas.tint(Rect::new(spot.x, spot.y, spot.columns, 1), Role::Selected);
        }
    }
    draw_source(canvas, place, plan, path);
    for (state, area) in &plan.states {
        let area = Rect {
            x: place.x.saturating_add(area.x),
            y: place.y.saturating_add(area.y),
            ..*area
        };
        draw_state(canvas, area, *state, (path, plan.form));
    }
}

fn spot(place: Rect, cell: Cell, columns: u16) -> Spot {
    Spot {
        x: place.x.saturating_add(cell.0),
        y: place.y.saturating_add(cell.1),
        columns,
    }
}

fn weight(path: &Path, arrow: Arrow) -> Weight {
    if path.times(arrow) > 0 {
        Weight::Heavy
    } else {
        Weight::Light
    }
}

/// Adds the arms of one way, from the state that it leaves to its head.
fn add(arms: &mut BTreeMap<Cell, Arms>, route: &Route, weight: Weight) {
    let Some(first) = route.cells.first() else {
        return;
    };
    let mut arm = |cell: Cell, side: Side| arms.entry(cell).or_default().add(side, weight);
    arm(*first, route.leaves.opposite());
    for pair in route.cells.windows(2) {
        if let [here, next] = pair {
            let side = towards(*here, *next);
            arm(*here, side);
            arm(*next, side.opposite());
        }
    }
}

fn draw_lines(canvas: &mut Canvas<'_>, place: Rect, plan: &Plan, path: &Path) {
    let mut arms: BTreeMap<Cell, Arms> = BTreeMap::new();
    let mut heads: BTreeMap<Cell, (Side, Weight)> = BTreeMap::new();
    let mut marked: Vec<Cell> = Vec::new();
    for (arrow, route) in &plan.routes {
        let weight = weight(path, *arrow);
        add(&mut arms, route, weight);
        if let Some(last) = route.cells.last() {
            let head = heads.entry(*last).or_insert((route.enters, weight));
            head.1 = head.1.max(weight);
        }
        if path.is_marked(*arrow) {
            marked.clone_from(&route.cells);
        }
    }
    let role = |cell: &Cell, weight: Weight| match (marked.contains(cell), weight) {
        (true, _) => Role::Accent,
        (false, Weight::Heavy) => Role::Text,
        (false, Weight::Light | Weight::None) => Role::Border,
    };
    for (cell, arms) in &arms {
        let symbol = arms.symbol().to_string();
        canvas.text(spot(place, *cell, 1), role(cell, arms.heaviest()), &symbol);
    }
    for (cell, (side, weight)) in &heads {
        let head = strokes::head(*side, *weight);
        canvas.text(spot(place, *cell, 1), role(cell, *weight), head);
    }
}

/// Where jobs come from.
fn draw_source(canvas: &mut Canvas<'_>, place: Rect, plan: &Plan, path: &Path) {
    let created = path
        .walked
        .keys()
        .any(|arrow| arrow.from.is_none() && path.times(*arrow) > 0);
    let role = if created { Role::Text } else { Role::Muted };
    for row in 0..plan.source.height {
        let cell = (plan.source.x, plan.source.y.saturating_add(row));
        let text = match (row, plan.form) {
            (0, Form::Large) => "new",
            (0, Form::Medium | Form::Lines) => "+ ",
            _ => "job",
        };
        canvas.text(spot(place, cell, plan.source.width), role, text);
    }
}

/// How a state looks when a job is in it.
pub(super) const fn role_of(state: State) -> Role {
    match state {
        State::Pending | State::Ready | State::Running => Role::Accent,
        State::RetryWait => Role::Warning,
        State::Succeeded => Role::Good,
        State::Dead | State::Quarantined => Role::Critical,
        State::Discarded => Role::Title,
    }
}

fn draw_state(canvas: &mut Canvas<'_>, area: Rect, state: State, (path, form): (&Path, Form)) {
    let is_current = path.current == Some(state);
    let stay = path.stays.get(&state).copied().unwrap_or_default();
    let role = match (is_current, stay.times) {
        (true, _) => role_of(state),
        (false, 0) => Role::Muted,
        (false, _) => Role::Title,
    };
    let mark = if is_current { "●" } else { "" };
    if form == Form::Large {
        let weight = if is_current {
            Weight::Heavy
        } else {
            Weight::Light
        };
        frame(
            canvas,
            area,
            weight,
            if stay.times > 0 { role } else { Role::Border },
        );
        let line = |row: u16| {
            Spot::row(area, row).map(|spot| spot.after(2).first(area.width.saturating_sub(3)))
        };
        let name = format!("{mark} {}", state.name());
        if let Some(spot) = line(1) {
            canvas.text(spot, role, name.trim_start());
        }
        if let Some(spot) = line(2).filter(|_| stay.times > 0) {
            let times = count_within(stay.times, 5);
            let total = format!("×{times} · {}", coarse(stay.total));
            canvas.text(spot, if is_current { role } else { Role::Text }, &total);
        }
    } else if let Some(spot) = Spot::row(area, 0) {
        let inner = spot.after(1).first(area.width.saturating_sub(2));
        // Its frame tells the current state too, where the mark has no room.
        let name = format!("{mark}{}", state.name());
        let fits = text::columns(&name) <= inner.columns;
        let name = if fits { name } else { state.name().to_owned() };
        let text = counted(&name, stay.times, inner.columns);
        canvas.text(inner, role, &filled(&text, inner.columns));
        let (left, right) = if is_current {
            ("▐", "▌")
        } else {
            ("[", "]")
        };
        let edge = if stay.times > 0 { role } else { Role::Border };
        canvas.text(spot.first(1), edge, left);
        canvas.text(spot.after(area.width.saturating_sub(1)), edge, right);
    }
    if path.marked_state() == Some(state) {
        canvas.tint(area, Role::Selected);
    }
}

/// A name with a count beyond one, in the longest form that has room.
fn counted(name: &str, times: u64, columns: u16) -> String {
    let room = columns.saturating_sub(text::columns(name).saturating_add(2));
    let count = count_within(times, room);
    if times < 2 || room == 0 || count.contains(text::ELLIPSIS) {
        name.to_owned()
    } else {
        format!("{name} ×{count}")
    }
}

/// `text` in the middle of `width` columns.
fn filled(text: &str, width: u16) -> String {
    format!("{text:^width$}", width = usize::from(width))
}

fn frame(canvas: &mut Canvas<'_>, area: Rect, weight: Weight, role: Role) {
    let [corners, level, upright] = match weight {
        Weight::Heavy => ["┏┓┗┛", "━", "┃"],
        Weight::Light | Weight::None => ["╭╮╰╯", "─", "│"],
    };
    let mut corner = corners.chars();
    let inner = level.repeat(usize::from(area.width.saturating_sub(2)));
    let mut edge = || -> String { corner.by_ref().take(2).collect() };
    let (top, bottom) = (edge(), edge());
    for (row, ends) in [(0, top), (area.height.saturating_sub(1), bottom)] {
        let mut ends = ends.chars();
        let (left, right) = (ends.next().unwrap_or(' '), ends.next().unwrap_or(' '));
        if let Some(spot) = Spot::row(area, row) {
            canvas.text(spot, role, &format!("{left}{inner}{right}"));
        }
    }
    for row in 1..area.height.saturating_sub(1) {
        if let Some(spot) = Spot::row(area, row) {
            canvas.text(spot.first(1), role, upright);
            canvas.text(spot.after(area.width.saturating_sub(1)), role, upright);
        }
    }
}
