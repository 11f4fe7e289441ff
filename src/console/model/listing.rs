//! A list of which a part is held: rows by keyset pages, the selection by id.
//!
//! What is held is one window: it begins after a cursor, or at the top, and one question brings all
//! of it. Going down makes it longer up to [`WINDOW_MAX`] rows, then it slides; so memory is
//! bounded however long the list is, and a refresh is the same question again. The selection is an
//! id and stays with it where rows move; if its row leaves the list, the selection stays with the
//! id until somebody moves it.

use crate::ledger::num;

use super::Reading;

/// How many rows a window grows by.
const PAGE: u32 = 100;
/// The most rows of a window.
const WINDOW_MAX: u32 = crate::store::look::PAGE_MAX;
/// Where a window that slides begins anew, in rows of the one before.
const SLIDE: u32 = 300;
/// More rows are fetched once the selection is this near to the end of the window.
const AHEAD: usize = 40;
/// How many windows above are remembered; further up only the first row is.
const ABOVE_MAX: usize = 2_000;

/// A row of a list.
pub trait Item {
    /// What tells it from every other, whatever its place.
    type Key: Clone + Ord + std::fmt::Debug;
    /// Where a page of such rows ended.
    type Cursor: Clone + Eq + std::fmt::Debug;

    /// Its key.
    fn key(&self) -> Self::Key;
}

/// Which part of a list is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window<C> {
    /// After which row it begins; `None` at the top.
    pub after: Option<C>,
    /// How many rows are asked for.
    pub limit: u32,
    /// About how many rows are before it.
    pub offset: u64,
    /// Places in it that a cursor leads to, by the number of rows before them.
    learned: Vec<(u32, C)>,
}

impl<C> Default for Window<C> {
    fn default() -> Self {
        Self {
            after: None,
            limit: PAGE,
            offset: 0,
            learned: Vec::new(),
        }
    }
}

/// The rows of a window, and the selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing<T: Item> {
    /// The rows, in order.
    pub rows: Vec<T>,
    /// When they were read; `None` before they were.
    pub reading: Option<Reading>,
    /// The selected row.
    pub selected: Option<T::Key>,
    /// Which part is asked for.
    pub window: Window<T::Cursor>,
    /// Whether more rows follow.
    pub more: bool,
    above: Vec<Window<T::Cursor>>,
    /// Where the selected row stood last.
    place: usize,
    /// The window that the rows are of.
    held: Option<(Option<T::Cursor>, u32)>,
}

impl<T: Item> Default for Listing<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            reading: None,
            selected: None,
            window: Window::default(),
            more: false,
            above: Vec::new(),
            place: 0,
            held: None,
        }
    }
}

impl<T: Item> Listing<T> {
    /// Whether the window that is asked for is the one that is held.
    pub fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(|(after, limit)| {
            *after == self.window.after && *limit == self.window.limit
        })
    }

    /// Whether the whole list is held.
    pub const fn is_whole(&self) -> bool {
        self.reading.is_some() && self.window.after.is_none() && !self.more
    }

    /// Takes in the rows of the window that is asked for, and where the next begins.
    pub fn take(&mut self, rows: Vec<T>, next: Option<T::Cursor>, reading: Reading) {
        self.rows = rows;
        self.reading = Some(reading);
        self.more = next.is_some();
        self.held = Some((self.window.after.clone(), self.window.limit));
        if let Some(next) = next {
            let limit = self.window.limit;
            self.window.learned.retain(|(rows, _)| *rows != limit);
            self.window.learned.push((limit, next));
        }
        match self.position() {
            Some(position) => self.place = position,
            None if self.selected.is_none() => self.select(self.place),
            None => {}
        }
    }

    /// The list is another one: nothing is held of it, and the first row is selected when it comes.
    /// The rows of the one before stay to be looked at until then.
    pub fn restart(&mut self) {
        self.window = Window::default();
        self.above.clear();
        self.selected = None;
        self.place = 0;
        self.held = None;
    }

    /// The row of the selection; `None` where it is not among the rows.
    pub fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.rows.iter().position(|row| row.key() == *selected)
    }

    /// Where the selection stands, or stood last.
    pub fn place(&self) -> usize {
        self.position().unwrap_or(self.place)
    }

    /// The selected row, where it is among the rows.
    pub fn selected_row(&self) -> Option<&T> {
        self.rows.get(self.position()?)
    }

    fn select(&mut self, place: usize) {
        let place = place.min(self.rows.len().saturating_sub(1));
        self.place = place;
        self.selected = self.rows.get(place).map(Item::key);
    }

    /// Moves the selection by `lines`; at an end of the window, asks for another.
    pub fn step(&mut self, lines: i64) {
        let last = num::signed(num::count(self.rows.len().saturating_sub(1)));
        let from = num::signed(num::count(self.place().min(self.rows.len())));
        // From a row that has left the list, the next one is the one that took its place.
        let lines = if self.position().is_none() && lines > 0 {
            lines.saturating_sub(1)
        } else {
            lines
        };
        let to = from.saturating_add(lines).clamp(0, last.max(0));
        self.select(num::index(num::unsigned(to)));
        if self.place.saturating_add(AHEAD) >= self.rows.len() {
            self.lengthen();
        }
        if self.place == 0 && lines < 0 {
            self.go_up();
        }
    }

    /// To the first row of the list.
    pub fn first(&mut self) {
        if self.window.after.is_some() {
            self.restart();
        } else {
            self.select(0);
        }
    }

    /// To the last row that is held; asks for more where there are more.
    pub fn last(&mut self) {
        self.select(self.rows.len());
        self.lengthen();
    }

    fn lengthen(&mut self) {
        if !self.more || !self.is_held() {
            return;
        }
        if self.window.limit < WINDOW_MAX {
            self.window.limit = self.window.limit.saturating_add(PAGE).min(WINDOW_MAX);
            return;
        }
        let slide = |rows: u32| {
            let found = self.window.learned.iter().find(|(each, _)| *each == rows);
            found.map(|(_, cursor)| (rows, cursor.clone()))
        };
        let Some((rows, cursor)) = slide(SLIDE).or_else(|| slide(WINDOW_MAX)) else {
            return;
        };
        let next = Window {
            after: Some(cursor),
            limit: WINDOW_MAX.saturating_sub(rows).saturating_add(PAGE),
            offset: self.window.offset.saturating_add(u64::from(rows)),
            learned: Vec::new(),
        };
        if self.above.len() >= ABOVE_MAX {
            self.above.remove(0);
        }
        self.above.push(std::mem::replace(&mut self.window, next));
        if rows == WINDOW_MAX {
            // The selected row is not in the next window: its first row is.
            self.selected = None;
            self.place = 0;
        }
    }

    fn go_up(&mut self) {
        if let Some(above) = self.above.pop() {
            self.window = above;
        } else if self.window.after.is_some() {
            self.restart();
        }
    }
}
