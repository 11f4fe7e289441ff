//! A frame to draw on: text at a place, in a role, within a number of columns.
//!
//! Everything drawn goes through [`Canvas::text`], so that no string can leave its columns or split
//! a wide character, and a control character, should one ever get here, is shown as `�`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::console::text;
use crate::console::theme::{Role, Theme};

/// A piece of a line: a role and its text.
pub type Piece<'a> = (Role, &'a str);

/// Where pieces go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
    /// At most this many columns.
    pub columns: u16,
}

impl Spot {
    /// The row `row` of `area`, if it has one.
    pub const fn row(area: Rect, row: u16) -> Option<Self> {
        if row < area.height && area.width > 0 {
            Some(Self {
                x: area.x,
                y: area.y.saturating_add(row),
                columns: area.width,
            })
        } else {
            None
        }
    }

    /// What is left of this spot after its first `columns`.
    #[must_use]
    pub const fn after(self, columns: u16) -> Self {
        Self {
            x: self.x.saturating_add(columns),
            y: self.y,
            columns: self.columns.saturating_sub(columns),
        }
    }

    /// The first `columns` of this spot.
    #[must_use]
    pub const fn first(self, columns: u16) -> Self {
        Self {
            columns: if columns < self.columns {
                columns
            } else {
                self.columns
            },
            ..self
        }
    }
}

/// A frame being drawn, and the theme it is drawn in.
#[derive(Debug)]
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    theme: &'a Theme,
}

impl<'a> Canvas<'a> {
    /// A canvas over a frame.
    pub const fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self { buffer, theme }
    }

    /// The whole frame.
    pub const fn area(&self) -> Rect {
        self.buffer.area
    }

    /// Writes `text` in its columns, with an ellipsis where it does not fit. Returns the columns
    /// used.
    pub fn text(&mut self, at: Spot, role: Role, text: &str) -> u16 {
        if text::columns(text) <= at.columns {
            self.put(at, role, text)
        } else {
            let cut = text::cut(text, at.columns);
            self.put(at, role, &cut)
        }
    }

    /// Writes `text` so that it ends where its columns end.
    pub fn right(&mut self, at: Spot, role: Role, text: &str) {
        let indent = at.columns.saturating_sub(text::columns(text));
        self.text(at.after(indent), role, text);
    }

    /// Writes pieces one after the other, with one ellipsis where they do not fit. Returns the
    /// columns used.
    pub fn pieces(&mut self, at: Spot, pieces: &[Piece<'_>]) -> u16 {
        let mut rest = at;
        let mut following: u16 = pieces
            .iter()
            .fold(0, |sum, (_, text)| sum.saturating_add(text::columns(text)));
        for (role, text) in pieces {
            let own = text::columns(text);
            following = following.saturating_sub(own);
            // The last piece that fits gives up a column for the ellipsis of what follows.
            let used = if own.saturating_add(following.min(1)) > rest.columns {
                let cut = text::cut(
                    &format!("{text}{}", "+".repeat(usize::from(following > 0))),
                    rest.columns,
                );
                self.put(rest, *role, &cut);
                return at.columns;
            } else {
                self.put(rest, *role, text)
            };
            rest = rest.after(used);
        }
        at.columns.saturating_sub(rest.columns)
    }

    /// Writes groups of pieces one after the other; a group that does not fit in full is left out,
    /// and so is all that follows it. The first is cut instead.
    pub fn groups(&mut self, at: Spot, groups: &[&[Piece<'_>]]) {
        let mut rest = at;
        for (position, group) in groups.iter().enumerate() {
            let wanted = group.iter().fold(0, |sum: u16, (_, text)| {
                sum.saturating_add(text::columns(text))
            });
            if position > 0 && wanted > rest.columns {
                return;
            }
            rest = rest.after(self.pieces(rest, group));
        }
    }

    fn put(&mut self, at: Spot, role: Role, text: &str) -> u16 {
        let style = self.theme.style(role);
        let area = self.buffer.area;
        let limit = at.columns.min(area.right().saturating_sub(at.x));
        let mut used = 0_u16;
        for each in text::graphemes(text) {
            let next = used.saturating_add(each.columns);
            if next > limit {
                break;
            }
            let place = (at.x.saturating_add(used), at.y);
            if let Some(cell) = self.buffer.cell_mut(place) {
                if each.symbol.chars().any(char::is_control) {
                    cell.set_char(char::REPLACEMENT_CHARACTER);
                } else if each.needs_base {
                    cell.set_symbol(&format!("◌{}", each.symbol));
                } else {
                    cell.set_symbol(each.symbol);
                }
                cell.set_style(style);
            }
            if each.columns == 2
                && let Some(cell) = self.buffer.cell_mut((place.0.saturating_add(1), at.y))
            {
                cell.reset();
                cell.set_style(style);
            }
            used = next;
        }
        used
    }

    /// Lays a role over what stands in `area` already: its ground and attributes, and its colour
    /// where it has one.
    pub fn tint(&mut self, area: Rect, role: Role) {
        let style = self.theme.style(role);
        let over = Style {
            fg: style
                .fg
                .filter(|colour| *colour != ratatui::style::Color::Reset),
            bg: style
                .bg
                .filter(|colour| *colour != ratatui::style::Color::Reset),
            ..style
        };
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, over);
    }

    /// Takes every colour and weight out of `area` and draws it in one role: numbers that are no
    /// longer known to be true.
    pub fn wash(&mut self, area: Rect, role: Role) {
        let style = self.theme.style(role);
        let area = area.intersection(self.buffer.area);
        for position in area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.modifier.remove(Modifier::BOLD);
                cell.set_style(style);
            }
        }
    }

    /// Empties `area`.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for position in area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.reset();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::theme::{Background, Depth, Look};

    fn drawn(width: u16, draw: impl FnOnce(&mut Canvas<'_>, Spot)) -> String {
        let area = Rect::new(0, 0, width, 1);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::built_in(Look::Standard, Background::Dark, Depth::None).unwrap();
        let spot = Spot::row(area, 0).unwrap();
        draw(&mut Canvas::new(&mut buffer, &theme), spot);
        let mut line = String::new();
        let mut skip = false;
        for cell in buffer.content() {
            if !skip {
                line.push_str(cell.symbol());
            }
            skip = !skip && text::columns(cell.symbol()) == 2;
        }
        line
    }

    #[test]
    fn text_stays_within_its_columns() {
        assert_eq!(
            drawn(6, |canvas, at| {
                canvas.text(at, Role::Text, "図書館図");
            }),
            "図書… "
        );
        assert_eq!(
            drawn(6, |canvas, at| canvas.right(at, Role::Text, "12")),
            "    12"
        );
        assert_eq!(
            drawn(4, |canvas, at| {
                canvas.text(at.after(2), Role::Text, "🚀🚀");
            }),
            "  … "
        );
    }

    #[test]
    fn pieces_share_one_ellipsis() {
        let show = |width| {
            drawn(width, |canvas, at| {
                canvas.pieces(
                    at,
                    &[
                        (Role::Text, "ready"),
                        (Role::Muted, " 12"),
                        (Role::Text, " now"),
                    ],
                );
            })
        };
        assert_eq!(show(12), "ready 12 now");
        assert_eq!(show(10), "ready 12 …");
        assert_eq!(show(8), "ready 1…");
        assert_eq!(show(5), "read…");
        assert_eq!(show(1), "…");
    }

    #[test]
    fn a_control_character_is_shown_and_never_written() {
        assert_eq!(
            drawn(3, |canvas, at| {
                canvas.text(at, Role::Text, "a\u{1b}b");
            }),
            "a�b"
        );
        assert_eq!(
            drawn(2, |canvas, at| {
                canvas.text(at, Role::Text, "\u{301}");
            }),
            "◌\u{301} "
        );
    }
}
