//! Tables for people: 80 columns wide, or as wide as the terminal.
//!
//! Widths are counted in display columns, so that text of any script keeps its place. A column is
//! as wide as what it holds; where that is too much, the widest give way. Next: `json.rs`.

use std::io::{self, IsTerminal as _, Write};

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::snapshot::text::cut;

/// The least width of a table, and what it has where there is no terminal.
const WIDTH: usize = 80;
/// No column is made narrower than this for the sake of others.
const COLUMN_MIN: usize = 6;
/// No column is wider than this, however wide the terminal.
const COLUMN_MAX: usize = 80;

/// On which side a column's text stands, and whether it may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Left; gives way where the table is too wide.
    Text,
    /// Left; never cut.
    Word,
    /// Right; never cut.
    Number,
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Fit)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Fit)]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row of as many cells as there are columns.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Writes it, in at most `width` columns where what may be cut allows it.
    pub(crate) fn write(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths(width);
        let titles: Vec<String> = self
            .columns
            .iter()
            .map(|(title, _fit)| (*title).to_owned())
            .collect();
        for cells in std::iter::once(&titles).chain(&self.rows) {
            let mut line = String::new();
            for (((_title, fit), wide), text) in self.columns.iter().zip(&widths).zip(cells) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                let text = cut(text, *wide);
                let blanks = " ".repeat(wide.saturating_sub(text.width()));
                match fit {
                    Fit::Text | Fit::Word => line.extend([text.as_str(), &blanks]),
                    Fit::Number => line.extend([blanks.as_str(), &text]),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, (title, _fit))| {
                let cells = self.rows.iter().filter_map(|row| row.get(place));
                let widest = cells.map(|cell| cell.width()).max().unwrap_or(0);
                widest.max(title.width()).min(COLUMN_MAX)
            })
            .collect();
        let blanks = self.columns.len().saturating_sub(1) * 2;
        while widths.iter().sum::<usize>() + blanks > width {
            let widest = widths
                .iter_mut()
                .zip(&self.columns)
                .filter(|(wide, (_title, fit))| *fit == Fit::Text && **wide > COLUMN_MIN)
                .map(|(wide, _column)| wide)
                .max();
            match widest {
                Some(wide) => *wide -= 1,
                None => break,
            }
        }
        widths
    }
}

/// How wide a table may be: the terminal, where output goes to one.
pub(crate) fn width() -> usize {
    let out = io::stdout();
    if !out.is_terminal() {
        return WIDTH;
    }
    tcgetwinsize(&out).map_or(WIDTH, |size| usize::from(size.ws_col).max(WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(width: usize) -> String {
        let mut table = Table::new(&[
            ("age", Fit::Number),
            ("queue", Fit::Text),
            ("key", Fit::Text),
        ]);
        table.row(vec!["4m".into(), "thumbnails".into(), "図書館".repeat(20)]);
        table.row(vec![
            "12s".into(),
            "mail".into(),
            "t7:invoice_184:collect".into(),
        ]);
        let mut out = Vec::new();
        assert!(table.write(width, &mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn the_widest_column_gives_way_and_every_line_fits() {
        for width in [30, 40, 80, 160] {
            let said = written(width);
            assert!(said.lines().all(|line| line.width() <= width), "{said}");
        }
        let said = written(80);
        assert!(
            said.contains("thumbnails") && said.contains("t7:invoice_184:collect"),
            "{said}"
        );
        assert!(said.contains('…'));
    }

    #[test]
    fn numbers_stand_right_and_text_left() {
        let said = written(80);
        let mut lines = said.lines();
        assert_eq!(lines.next(), Some("age  queue       key"));
        assert!(
            lines
                .next()
                .is_some_and(|line| line.starts_with(" 4m  thumbnails  図"))
        );
        assert_eq!(
            lines.next(),
            Some("12s  mail        t7:invoice_184:collect")
        );
    }
}
