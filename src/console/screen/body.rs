//! The inside of a list's pane: its rows, or why there are none.

use ratatui::layout::Rect;

use crate::console::columns::list::{ListColumn, Seen};
use crate::console::model::{Asking, Item, Listing, Model};
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;
use crate::console::widget::list::{List, Marked};
use crate::ledger::view::UnreadableJob;

use super::{lookup, take_bottom};

/// A list and how it stands.
pub(super) struct Body<'a, C: ListColumn>
where
    C::Row: Item,
{
    /// The rows.
    pub list: &'a Listing<C::Row>,
    /// How looking for them stands.
    pub asking: &'a Asking,
    /// Whether the rows are those that are asked for.
    pub is_held: bool,
    /// Rows that cannot be understood.
    pub unreadable: &'a [UnreadableJob],
    /// The columns that are not shown.
    pub hidden: &'a [C],
    /// The column that the rows are in order of.
    pub sorted: Option<C>,
    /// How a row is marked.
    pub marked: &'a dyn Fn(&C::Row) -> Marked,
    /// What stands where there is no row.
    pub none: &'a str,
}

impl<C: ListColumn> Body<'_, C>
where
    C::Row: Item,
{
    /// Draws it into `inner`, the room within `pane`.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, pane: Rect, inner: Rect, model: &Model) {
        let mut inner = inner;
        if !self.unreadable.is_empty() && inner.height > 2 {
            draw_unreadable(canvas, take_bottom(&mut inner), self.unreadable);
        }
        let Some(reading) = self.list.reading.filter(|_| !self.list.rows.is_empty()) else {
            if let Some(spot) = Spot::row(inner, 0) {
                let words = lookup::nothing(model, self.list.reading, self.none);
                canvas.text(spot, Role::Muted, &words);
            }
            return;
        };
        let columns: Vec<C> = C::ALL
            .iter()
            .copied()
            .filter(|column| !self.hidden.contains(column))
            .collect();
        let list = List {
            rows: &self.list.rows,
            offset: self.list.window.offset,
            selected: self.list.position(),
            place: self.list.place(),
            marked: self.marked,
            columns: &columns,
            sorted: self.sorted,
            seen: Seen {
                now: model.database_now().unwrap_or_default().max(reading.as_of),
                clock: model.clock,
            },
        };
        let hidden = list.draw(canvas, inner);
        if self.asking.fault.is_some() || !self.is_held {
            canvas.wash(inner, Role::Stale);
        }
        hidden.say(canvas, pane, if self.list.more { "+" } else { "" });
    }
}

/// Jobs that stand where no row can: a value that this program does not know hides nothing else.
fn draw_unreadable(canvas: &mut Canvas<'_>, area: Rect, unreadable: &[UnreadableJob]) {
    let (Some(spot), Some(first)) = (Spot::row(area, 0), unreadable.first()) else {
        return;
    };
    let text = format!(
        "▲ {} cannot be read: {}, column '{}' holds '{}'",
        unreadable.len(),
        first.job,
        first.column,
        first.value
    );
    canvas.text(spot, Role::Warning, &text);
}

/// No row of a list without marks is marked.
pub(super) const fn unmarked<R>(_: &R) -> Marked {
    Marked::No
}
