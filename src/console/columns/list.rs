//! What the columns of every list have in common: which are shown in how much room, and where.
//!
//! A list's columns are an enum with one cell function each, like those of the queues pane. Next:
//! [`super::jobs`] and its neighbours.

use std::time::Duration;

use crate::board::format::coarse;
use crate::console::clock::Clock;
use crate::console::theme::Role;
use crate::ledger::time::Timestamp;

use super::Side;

/// How wide a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width {
    /// The least that it is of use with.
    pub least: u16,
    /// What most of its values need.
    pub good: u16,
    /// The most that it makes use of.
    pub most: u16,
}

impl Width {
    /// Always this wide.
    pub const fn fixed(columns: u16) -> Self {
        Self::of(columns, columns, columns)
    }

    /// As wide as there is room for.
    pub const fn of(least: u16, good: u16, most: u16) -> Self {
        Self { least, good, most }
    }
}

/// From where a row is seen.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// The moment that ages are counted to, by the database's clock.
    pub now: Timestamp,
    /// How moments are shown.
    pub clock: Clock,
}

impl Seen {
    /// How long ago a moment was.
    pub fn age(&self, at: Timestamp) -> String {
        coarse(self.now.since(at))
    }

    /// How long it is until a moment; zero where it is past.
    pub fn until(&self, at: Timestamp) -> Duration {
        at.since(self.now)
    }
}

/// The columns of a list.
pub trait ListColumn: Copy + Eq + 'static {
    /// What a row is.
    type Row;
    /// Every column, from left to right.
    const ALL: &'static [Self];

    /// Its heading.
    fn title(self) -> &'static str;

    /// Its width.
    fn width(self) -> Width;

    /// On which side its text stands.
    fn side(self) -> Side;

    /// Which columns go first where there is no room: those of the highest rank. Rank 0 stays.
    fn rank(self) -> u8;

    /// What it says about a row, and what that means.
    fn cell(self, row: &Self::Row, seen: &Seen) -> (Role, String);
}

/// A column and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<C> {
    /// Which.
    pub column: C,
    /// Columns of the terminal before it.
    pub indent: u16,
    /// Its width.
    pub columns: u16,
}

/// Columns up to this rank are shown with their least width before they go.
const RANK_KEPT: u8 = 5;

/// Which of `wanted` are shown in `width` columns, and where. Columns go until the rest have a good
/// width; then, of those that matter most, until the rest have their least.
pub fn place<C: ListColumn>(width: u16, wanted: &[C]) -> Vec<Placed<C>> {
    let mut shown = wanted.to_vec();
    while needed(&shown, GAP, |width| width.good) > width {
        match last(&shown).filter(|last| last.rank() > RANK_KEPT) {
            Some(last) => shown.retain(|column| *column != last),
            None => break,
        }
    }
    loop {
        for gap in [GAP, 1] {
            let needed = needed(&shown, gap, |width| width.least);
            if needed <= width {
                return spread(&shown, gap, width.saturating_sub(needed));
            }
        }
        match last(&shown).filter(|_| shown.len() > 1) {
            Some(last) => shown.retain(|column| *column != last),
            None => return spread(&shown, 0, 0),
        }
    }
}

/// Columns of the terminal between two columns, where there is room.
const GAP: u16 = 2;

/// The column that goes next.
fn last<C: ListColumn>(shown: &[C]) -> Option<C> {
    shown.iter().copied().max_by_key(|column| column.rank())
}

fn needed<C: ListColumn>(shown: &[C], gap: u16, of: impl Fn(Width) -> u16) -> u16 {
    shown
        .iter()
        .fold(0_u16, |sum, column| {
            sum.saturating_add(of(column.width())).saturating_add(gap)
        })
        .saturating_sub(gap)
}

/// Shares what is left over evenly: first until every column has a good width, then among those
/// that make use of more.
fn spread<C: ListColumn>(shown: &[C], gap: u16, spare: u16) -> Vec<Placed<C>> {
    let mut widths: Vec<u16> = shown.iter().map(|column| column.width().least).collect();
    let mut spare = spare;
    let wanted: [fn(Width) -> u16; 2] = [|width| width.good, |width| width.most];
    for most in wanted {
        let mut before = 0;
        while spare > 0 && spare != before {
            before = spare;
            for (column, width) in shown.iter().zip(&mut widths) {
                if spare > 0 && *width < most(column.width()) {
                    *width = width.saturating_add(1);
                    spare = spare.saturating_sub(1);
                }
            }
        }
    }
    let mut indent = 0_u16;
    let placed = shown.iter().zip(widths).map(|(column, columns)| {
        let placed = Placed {
            column: *column,
            indent,
            columns,
        };
        indent = indent.saturating_add(columns).saturating_add(gap);
        placed
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::columns::jobs::Column;

    #[test]
    fn columns_fit_whatever_the_width_and_never_overlap() {
        for width in 0..300 {
            let placed = place(width, Column::ALL);
            let mut end = 0;
            for each in &placed {
                assert!(each.indent >= end, "{width}: {placed:?}");
                end = each.indent + each.columns;
            }
            assert!(
                end <= width.max(Column::Key.width().least),
                "{width}: {placed:?}"
            );
        }
    }

    #[test]
    fn what_matters_most_stays_longest() {
        let names = |width| {
            let placed = place(width, Column::ALL);
            placed
                .iter()
                .map(|placed| placed.column)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(10), [Column::Key]);
        assert_eq!(names(33), [Column::Age, Column::State, Column::Key]);
        assert_eq!(names(300), Column::ALL);
    }
}
