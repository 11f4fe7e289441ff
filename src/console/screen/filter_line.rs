//! The filter above a list: its text, and while it is typed, what is wrong with it or what may
//! follow.

use ratatui::layout::Rect;

use crate::board::format::count;
use crate::console::model::{Filtered, Leave, Model, Names, QueryLine};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::{Piece, Spot};
use crate::ledger::query::QueryError;
use crate::ledger::query::problem::Problem;
use crate::ledger::text::SafeText;

use super::take_top;

const LABEL: &str = "filter ";

/// Draws it at the top of `rest`, where there is a filter.
pub(super) fn draw(canvas: &mut Canvas<'_>, rest: &mut Rect, model: &Model, list: &dyn Filtered) {
    let line = list.line();
    if line.typing().is_none() && line.text().is_empty() {
        return;
    }
    if let Some(spot) = Spot::row(take_top(rest, 1), 0) {
        draw_text(canvas, spot.after(1), line);
    }
    if line.typing().is_some()
        && let Some(spot) = Spot::row(take_top(rest, 1), 0)
    {
        draw_help(canvas, spot.after(1), model, line);
    }
}

/// Says, where a filter must read jobs one by one, how many, before it does.
pub(super) fn draw_leave(canvas: &mut Canvas<'_>, rest: &mut Rect, leave: Leave) {
    let Leave::Withheld { jobs } = leave else {
        return;
    };
    if let Some(spot) = Spot::row(take_top(rest, 1), 0) {
        let jobs = count(jobs);
        canvas.pieces(
            spot.after(1),
            &[
                (Role::Warning, "△ "),
                (Role::Warning, &jobs),
                (Role::Warning, " jobs would be read one by one"),
                (Role::Text, ": enter does it, esc goes back"),
            ],
        );
    }
}

/// The text; of one that is too long, its end, where it is typed.
fn draw_text(canvas: &mut Canvas<'_>, at: Spot, line: &QueryLine) {
    let used = canvas.text(at, Role::Accent, LABEL);
    let room = at.after(used);
    let (shown, _) = visible(line, room.columns);
    let cursor = if line.typing().is_some() { "▏" } else { "" };
    canvas.pieces(room, &[(Role::Text, &shown), (Role::Accent, cursor)]);
}

/// What is shown of the text in so many columns, and how many characters before it are not.
fn visible(line: &QueryLine, columns: u16) -> (String, usize) {
    let safe = SafeText::new(line.text());
    let text = safe.as_str();
    if line.typing().is_none() {
        return (text::cut(text, columns), 0);
    }
    let room = columns.saturating_sub(1);
    if text::columns(text) <= room {
        return (text.to_owned(), 0);
    }
    let mut left_out = 0_usize;
    let mut rest = text;
    while text::columns(rest) > room.saturating_sub(1) {
        let mut characters = rest.chars();
        if characters.next().is_none() {
            break;
        }
        rest = characters.as_str();
        left_out += 1;
    }
    (format!("…{rest}"), left_out)
}

fn draw_help(canvas: &mut Canvas<'_>, at: Spot, model: &Model, line: &QueryLine) {
    let Some(typing) = line.typing() else {
        return;
    };
    // A value that is still to come is offered rather than missed.
    let missed = |mistake: &&QueryError| !matches!(mistake.problem, Problem::NoValue(_));
    if let Some(mistake) = typing.mistake.as_ref().filter(missed) {
        draw_mistake(canvas, at, line, mistake);
        return;
    }
    let names = Names::of(model);
    let completion = line.completion(&names.known());
    let mut room = at.after(text::columns(LABEL));
    for (position, candidate) in completion.candidates.iter().enumerate() {
        let safe = SafeText::new(&candidate.text);
        let width = text::columns(safe.as_str());
        if width > room.columns {
            break;
        }
        let is_chosen = position == typing.chosen;
        let role = if is_chosen { Role::Title } else { Role::Muted };
        canvas.text(room, role, safe.as_str());
        if is_chosen {
            let chosen = Rect::new(room.x, room.y, width, 1);
            canvas.tint(chosen, Role::Selected);
        }
        room = room.after(width.saturating_add(2));
    }
}

/// Points at the place of the mistake, and says what it is.
fn draw_mistake(canvas: &mut Canvas<'_>, at: Spot, line: &QueryLine, mistake: &QueryError) {
    let label = text::columns(LABEL);
    let (shown, left_out) = visible(line, at.columns.saturating_sub(label));
    let extra = usize::from(left_out > 0);
    let before: String = shown
        .chars()
        .take((mistake.span.start + extra).saturating_sub(left_out))
        .collect();
    let length = mistake.span.len().max(1);
    let pointer = "^".repeat(length.min(12));
    let indent = label.saturating_add(text::columns(&before));
    let said = format!(" {}", mistake.problem);
    // Where there is no room to the right of the place, it is said from the left.
    let needed = text::columns(&pointer).saturating_add(text::columns(&said).min(30));
    let spot = if indent.saturating_add(needed) <= at.columns {
        at.after(indent)
    } else {
        at
    };
    let pieces: [Piece<'_>; 2] = [(Role::Critical, &pointer), (Role::Warning, &said)];
    canvas.pieces(spot, &pieces);
}
