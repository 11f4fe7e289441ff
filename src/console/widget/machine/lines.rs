//! The diagram in words, for small rooms: the states that were visited, with the current one, then
//! the arrows that were walked.

use ratatui::layout::Rect;

use super::drawing::role_of;
use super::{Arrow, Path};
use crate::console::format::count_within;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Canvas, Piece, Spot};
use crate::ledger::num;
use crate::ledger::state::State;

/// Draws as many lines as there are in `area`.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, path: &Path) {
    let Some(first) = Spot::row(area, 0) else {
        return;
    };
    draw_states(canvas, first, path);
    let mut spot = Spot::row(area, 1);
    let mut row = 1;
    for (arrow, times) in walked(path) {
        let Some(at) = spot else {
            return;
        };
        let text = format!("{} {times}", named(arrow));
        let columns = text::columns(&text);
        let at = if columns > at.columns && at.columns < area.width {
            row += 1;
            match Spot::row(area, row) {
                Some(at) => at,
                None => return,
            }
        } else {
            at
        };
        let marked = path.is_marked(arrow);
        let used = canvas.text(at, if marked { Role::Accent } else { Role::Text }, &text);
        if marked {
            canvas.tint(Rect::new(at.x, at.y, used, 1), Role::Selected);
        }
        spot = Some(at.after(used.saturating_add(2)));
    }
}

fn named(arrow: Arrow) -> String {
    let from = arrow.from.map_or("new", State::name);
    format!("{from}→{}", arrow.to.name())
}

/// The walked arrows: the marked one, then the most walked first.
fn walked(path: &Path) -> Vec<(Arrow, String)> {
    let mut walked: Vec<(Arrow, u64)> = path
        .walked
        .keys()
        .map(|arrow| (*arrow, path.times(*arrow)))
        .filter(|(_, times)| *times > 0)
        .collect();
    walked.sort_by_key(|(arrow, times)| std::cmp::Reverse((path.is_marked(*arrow), *times)));
    walked
        .into_iter()
        .map(|(arrow, times)| (arrow, format!("×{}", count_within(times, 6))))
        .collect()
}

/// The states in order; where they do not all fit, those that were not visited go first, then from
/// the first on, the current one last.
fn draw_states(canvas: &mut Canvas<'_>, at: Spot, path: &Path) {
    let mut shown: Vec<(State, String)> = State::ALL
        .into_iter()
        .map(|state| (state, worded(state, path)))
        .collect();
    let width = |shown: &[(State, String)]| {
        shown.iter().fold(0_u16, |sum, (_, text)| {
            sum.saturating_add(text::columns(text)).saturating_add(2)
        })
    };
    while shown.len() > 1 && width(&shown) > at.columns.saturating_add(2) {
        let visited = |state: &State| path.stays.contains_key(state);
        let unvisited = shown
            .iter()
            .rposition(|(state, _)| !visited(state) && path.current != Some(*state));
        let first = shown
            .iter()
            .position(|(state, _)| path.current != Some(*state));
        let Some(gone) = unvisited.or(first) else {
            break;
        };
        shown.remove(gone);
    }
    let mut at = at;
    for (state, text) in shown {
        let is_current = path.current == Some(state);
        let role = match (is_current, path.stays.contains_key(&state)) {
            (true, _) => role_of(state),
            (false, true) => Role::Text,
            (false, false) => Role::Muted,
        };
        let piece: Piece<'_> = (role, &text);
        let used = canvas.pieces(at, &[piece]);
        if path.marked_state() == Some(state) {
            canvas.tint(Rect::new(at.x, at.y, used, 1), Role::Selected);
        }
        at = at.after(used.saturating_add(2));
    }
}

fn worded(state: State, path: &Path) -> String {
    let mark = if path.current == Some(state) {
        "●"
    } else {
        ""
    };
    match path.stays.get(&state) {
        Some(stay) if stay.times > 1 => {
            format!("{mark}{} ×{}", state.name(), num_short(stay.times))
        }
        Some(_) | None => format!("{mark}{}", state.name()),
    }
}

fn num_short(times: u64) -> String {
    count_within(times, num::columns(5))
}
