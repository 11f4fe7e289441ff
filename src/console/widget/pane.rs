//! A pane: a border with a title, and the room within.

use ratatui::layout::Rect;

use crate::console::theme::Role;

use super::canvas::{Canvas, Piece, Spot};

/// Draws a border around `area` with `title` in its upper line; returns the room within. An area
/// too small for a border and a line is left empty and has no room.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, title: &[Piece<'_>]) -> Rect {
    if area.width < 4 || area.height < 3 {
        return Rect::new(area.x, area.y, 0, 0);
    }
    let inner_width = usize::from(area.width.saturating_sub(2));
    let line = "─".repeat(inner_width);
    let bottom = area.bottom().saturating_sub(1);
    let edge = |y| Spot {
        x: area.x,
        y,
        columns: area.width,
    };
    canvas.text(edge(area.y), Role::Border, &format!("╭{line}╮"));
    canvas.text(edge(bottom), Role::Border, &format!("╰{line}╯"));
    let last = area.right().saturating_sub(1);
    for y in area.y.saturating_add(1)..bottom {
        canvas.text(edge(y).first(1), Role::Border, "│");
        canvas.text(
            Spot {
                x: last,
                y,
                columns: 1,
            },
            Role::Border,
            "│",
        );
    }
    if !title.is_empty() {
        let mut pieces: Vec<Piece<'_>> = vec![(Role::Border, " ")];
        pieces.extend_from_slice(title);
        pieces.push((Role::Border, " "));
        canvas.pieces(
            edge(area.y).after(2).first(area.width.saturating_sub(4)),
            &pieces,
        );
    }
    Rect::new(
        area.x.saturating_add(2),
        area.y.saturating_add(1),
        area.width.saturating_sub(4),
        area.height.saturating_sub(2),
    )
}
