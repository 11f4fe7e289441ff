//! The state machine as a diagram: the eight states, every arrow of THE table between different
//! states, the path one job took through it.
//!
//! Arrows come from [`crate::ledger::transition::TABLE`] and find their ways by themselves
//! ([`route`]); only the places of the states are laid out by hand ([`layout`]). An arrow that was
//! walked is heavy and has its count, one that was not is light and has a hollow head; the current
//! state has a heavy frame and `●`. So it reads without colours.
//!
//! Where there is little room it folds in this order: the names of events go, then the frames of
//! the states ([`Form::Medium`]); then the arrows that nobody walked, and what is left is told in
//! lines ([`Form::Lines`]): the states that were visited, the arrows that were walked; of those the
//! least walked go first, then the states, the current one last.

use std::collections::BTreeMap;
use std::time::Duration;

use ratatui::layout::Rect;

use super::canvas::Canvas;
use crate::ledger::event::EventKind;
use crate::ledger::state::State;
use crate::ledger::transition::TABLE;

mod drawing;
mod labels;
mod layout;
mod lines;
mod route;
mod strokes;

#[cfg(test)]
mod tests;

/// What the table allows from one state to another, by whichever event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arrow {
    /// The state before; `None` for a job's creation.
    pub from: Option<State>,
    /// The state after.
    pub to: State,
}

/// Every arrow of the table between different states, once, in the table's order.
pub fn arrows() -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for row in &TABLE {
        let arrow = Arrow {
            from: row.from,
            to: row.to,
        };
        if row.from != Some(row.to) && !arrows.contains(&arrow) {
            arrows.push(arrow);
        }
    }
    arrows
}

/// The events by which the table allows an arrow, each once.
pub fn events_of(arrow: Arrow) -> Vec<EventKind> {
    let mut events = Vec::new();
    for row in &TABLE {
        if row.from == arrow.from && row.to == arrow.to && !events.contains(&row.event) {
            events.push(row.event);
        }
    }
    events
}

/// How often and how long a job was in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stay {
    /// How often it was entered.
    pub times: u64,
    /// How long it was there in all.
    pub total: Duration,
}

/// Where the mark stands that walks along the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// On an arrow.
    Arrow(Arrow, EventKind),
    /// On a state: the event changed none.
    State(State, EventKind),
}

/// The path that one job took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path {
    /// How often each arrow was walked, by event.
    pub walked: BTreeMap<Arrow, BTreeMap<EventKind, u64>>,
    /// How often and how long each state was visited.
    pub stays: BTreeMap<State, Stay>,
    /// The state it is in.
    pub current: Option<State>,
    /// The walking mark.
    pub mark: Option<Mark>,
}

impl Path {
    /// How often an arrow was walked.
    pub fn times(&self, arrow: Arrow) -> u64 {
        let events = self.walked.get(&arrow).into_iter().flatten();
        events.fold(0, |sum, (_, times)| sum.saturating_add(*times))
    }

    fn is_marked(&self, arrow: Arrow) -> bool {
        matches!(self.mark, Some(Mark::Arrow(marked, _)) if marked == arrow)
    }

    /// The state that the job was in after the marked event.
    fn marked_state(&self) -> Option<State> {
        match self.mark? {
            Mark::Arrow(arrow, _) => Some(arrow.to),
            Mark::State(state, _) => Some(state),
        }
    }
}

/// How much of the diagram is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// States in frames, every arrow, the names of events.
    Large,
    /// Every arrow, with counts.
    Medium,
    /// In words.
    Lines,
}

impl Form {
    /// The largest form for this room.
    pub fn fitting(width: u16, height: u16) -> Self {
        let fits = |form: Self| {
            let size = form.size();
            size.0 <= width && size.1 <= height
        };
        [Self::Large, Self::Medium]
            .into_iter()
            .find(|form| fits(*form))
            .unwrap_or(Self::Lines)
    }

    /// The columns and lines that it takes; lines of words take what they get, one at least.
    pub fn size(self) -> (u16, u16) {
        match self {
            Self::Large => layout::LARGE.size,
            Self::Medium => layout::MEDIUM.size,
            Self::Lines => (1, 1),
        }
    }
}

/// Draws the largest form that fits into `area`, in its middle.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, path: &Path) {
    let form = Form::fitting(area.width, area.height);
    let plan = match form {
        Form::Large => &*layout::LARGE,
        Form::Medium => &*layout::MEDIUM,
        Form::Lines => return lines::draw(canvas, area, path),
    };
    let (width, height) = plan.size;
    let place = Rect {
        x: area.x.saturating_add(area.width.saturating_sub(width) / 2),
        y: area
            .y
            .saturating_add(area.height.saturating_sub(height) / 2),
        width,
        height,
    };
    drawing::draw(canvas, place, plan, path);
}
