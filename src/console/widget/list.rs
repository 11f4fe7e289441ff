//! A list: a heading, rows in columns, the selected row, marks, and how much is out of sight.

use ratatui::layout::Rect;

use crate::console::columns::Side;
use crate::console::columns::list::{ListColumn, Placed, Seen, place};
use crate::console::theme::Role;
use crate::ledger::num;

use super::canvas::{Canvas, Spot};

/// Columns before a row: the selection, the mark, and a space.
pub const MARGIN: u16 = 3;

/// How a row stands out beside its selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    /// It does not.
    No,
    /// It is marked.
    Yes,
    /// It would be, if the range ended now.
    InRange,
}

/// What is to be drawn.
pub struct List<'a, C: ListColumn> {
    /// The rows that are held.
    pub rows: &'a [C::Row],
    /// How many rows are before them.
    pub offset: u64,
    /// The selected row, if it is among them.
    pub selected: Option<usize>,
    /// The row that the selection is, or was, at.
    pub place: usize,
    /// How a row is marked.
    pub marked: &'a dyn Fn(&C::Row) -> Marked,
    /// The columns that are wanted.
    pub columns: &'a [C],
    /// The column that the rows are in order of.
    pub sorted: Option<C>,
    /// From where the rows are seen.
    pub seen: Seen,
}

/// How many rows are out of sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hidden {
    /// Above.
    pub above: u64,
    /// Below, of those that are held.
    pub below: usize,
}

impl<C: ListColumn> List<'_, C> {
    /// Draws it into `area`; says what is out of sight.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) -> Hidden {
        let Some(heading) = Spot::row(area, 0) else {
            return Hidden::default();
        };
        let placed = place(area.width.saturating_sub(MARGIN), self.columns);
        self.draw_heading(canvas, heading.after(MARGIN), &placed);
        let visible = usize::from(area.height.saturating_sub(1));
        let first = first_row(self.place, self.rows.len(), visible);
        for (line, row) in self.rows.iter().enumerate().skip(first).take(visible) {
            let down = num::columns(line - first).saturating_add(1);
            let Some(spot) = Spot::row(area, down) else {
                break;
            };
            self.draw_row(canvas, spot, &placed, row);
            if Some(line) == self.selected {
                canvas.text(spot.first(1), Role::Accent, "›");
                canvas.tint(Rect::new(spot.x, spot.y, spot.columns, 1), Role::Selected);
            }
        }
        Hidden {
            above: self.offset.saturating_add(num::count(first)),
            below: self.rows.len().saturating_sub(first + visible),
        }
    }

    fn draw_heading(&self, canvas: &mut Canvas<'_>, at: Spot, placed: &[Placed<C>]) {
        for each in placed {
            let spot = at.after(each.indent).first(each.columns);
            let is_sorted = Some(each.column) == self.sorted;
            let title = each.column.title();
            let title = if is_sorted {
                format!("{title} ▼")
            } else {
                title.to_owned()
            };
            let role = if is_sorted { Role::Title } else { Role::Muted };
            write(canvas, spot, each.column.side(), (role, &title));
        }
    }

    fn draw_row(&self, canvas: &mut Canvas<'_>, at: Spot, placed: &[Placed<C>], row: &C::Row) {
        let mark = match (self.marked)(row) {
            Marked::No => "",
            Marked::Yes => "●",
            Marked::InRange => "○",
        };
        canvas.text(at.after(1).first(1), Role::Accent, mark);
        let at = at.after(MARGIN);
        for each in placed {
            let spot = at.after(each.indent).first(each.columns);
            let (role, text) = each.column.cell(row, &self.seen);
            write(canvas, spot, each.column.side(), (role, &text));
        }
    }
}

fn write(canvas: &mut Canvas<'_>, spot: Spot, side: Side, (role, text): (Role, &str)) {
    match side {
        Side::Left => {
            canvas.text(spot, role, text);
        }
        Side::Right => canvas.right(spot, role, text),
    }
}

/// Which row stands first: none is scrolled away before the selected one reaches the middle.
pub fn first_row(selected: usize, rows: usize, visible: usize) -> usize {
    selected
        .saturating_sub(visible / 2)
        .min(rows.saturating_sub(visible))
}

impl Hidden {
    /// Says it in the lower border of `pane`.
    pub fn say(self, canvas: &mut Canvas<'_>, pane: Rect, more: &str) {
        let mut parts = Vec::new();
        if self.above > 0 {
            parts.push(format!("{} above", self.above));
        }
        if self.below > 0 || !more.is_empty() {
            parts.push(format!("{}{more} below", self.below));
        }
        if parts.is_empty() {
            return;
        }
        let text = format!(" {} ", parts.join(" · "));
        if let Some(spot) = Spot::row(pane, pane.height.saturating_sub(1)) {
            let room = spot.after(2).first(spot.columns.saturating_sub(4));
            canvas.right(room, Role::Muted, &text);
        }
    }
}
