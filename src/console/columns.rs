//! The columns of the queues pane: one name, two widths and one cell function each.
//!
//! The first column is the age of the oldest ready job: age beats depth. Where the terminal is
//! narrow, columns are dropped in the order of [`DROPPED_FIRST`]. Next on the walk of a row to a
//! cell: [`super::widget::sparkline`] and its neighbours.

use std::time::Duration;

use crate::board::format::{coarse, rate};
use crate::board::limits::{Bound, QueueLimits};
use crate::board::summary::{Drain, Level, QueueSummary};

use super::format;
use super::theme::Role;
use super::widget::{histogram, sparkline};

pub mod audit;
pub mod dead_letters;
pub mod jobs;
pub mod leases;
pub mod list;
pub mod plans;

/// A column of the queues pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// How long the oldest ready job has been ready.
    Oldest,
    /// The queue's name.
    Queue,
    /// Ready jobs.
    Ready,
    /// Ready jobs by age.
    Spread,
    /// Running jobs.
    Running,
    /// Jobs that wait for their next attempt.
    Retry,
    /// Dead jobs.
    Dead,
    /// Quarantined jobs.
    Quarantined,
    /// Arrivals a second.
    Arrivals,
    /// Departures a second.
    Departures,
    /// How long the backlog lasts.
    Drain,
    /// Ready depth over the window.
    History,
}

/// Which of a column's widths is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// The smaller.
    Tight,
    /// The larger.
    Ample,
}

/// On which side a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A queue and what its numbers are held against.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The queue's numbers.
    pub queue: &'a QueueSummary,
    /// Its limits.
    pub limits: &'a QueueLimits,
}

/// Columns are dropped in this order until the rest fits. Age, name, depth and what the backlog
/// will do stay longest.
const DROPPED_FIRST: [Column; 11] = [
    Column::History,
    Column::Spread,
    Column::Quarantined,
    Column::Running,
    Column::Departures,
    Column::Arrivals,
    Column::Retry,
    Column::Dead,
    Column::Drain,
    Column::Ready,
    Column::Oldest,
];

/// The narrowest and the widest that names are shown.
const NAME: (u16, u16) = (12, 36);
/// The most points of history that are shown.
const HISTORY_MAX: u16 = 30;

impl Column {
    /// Every column, from left to right.
    pub const ALL: [Self; 12] = [
        Self::Oldest,
        Self::Queue,
        Self::Ready,
        Self::Spread,
        Self::Running,
        Self::Retry,
        Self::Dead,
        Self::Quarantined,
        Self::Arrivals,
        Self::Departures,
        Self::Drain,
        Self::History,
    ];

    /// Its heading.
    pub const fn title(self, room: Room) -> &'static str {
        match (self, room) {
            (Self::Oldest, _) => "oldest",
            (Self::Queue, _) => "queue",
            (Self::Ready, _) => "ready",
            (Self::Spread, Room::Tight) => "ages",
            (Self::Spread, Room::Ample) => "age spread",
            (Self::Running, Room::Tight) => "run",
            (Self::Running, Room::Ample) => "running",
            (Self::Retry, _) => "retry",
            (Self::Dead, _) => "dead",
            (Self::Quarantined, _) => "quar",
            (Self::Arrivals, _) => "in/s",
            (Self::Departures, _) => "out/s",
            (Self::Drain, Room::Tight) => "drains",
            (Self::Drain, Room::Ample) => "drains in",
            (Self::History, _) => "15 min",
        }
    }

    /// How many columns of the terminal it takes; names get what is left.
    const fn width(self, room: Room) -> u16 {
        let (tight, ample) = match self {
            Self::Oldest => (8, 9),
            Self::Queue => (NAME.0, 16),
            Self::Ready => (7, 9),
            Self::Spread => (8, 10),
            Self::Running => (4, 7),
            Self::Retry | Self::Arrivals | Self::Departures => (6, 7),
            Self::Dead | Self::Quarantined => (5, 6),
            Self::Drain => (6, 9),
            Self::History => (15, 15),
        };
        match room {
            Room::Tight => tight,
            Room::Ample => ample,
        }
    }

    /// On which side its text stands.
    pub const fn side(self) -> Side {
        match self {
            Self::Oldest | Self::Queue | Self::Spread | Self::History => Side::Left,
            Self::Ready
            | Self::Running
            | Self::Retry
            | Self::Dead
            | Self::Quarantined
            | Self::Arrivals
            | Self::Departures
            | Self::Drain => Side::Right,
        }
    }

    /// What it says about a queue, in at most `columns` columns, and what that means.
    pub fn cell(self, row: Row<'_>, columns: u16) -> (Role, String) {
        let queue = row.queue;
        match self {
            Self::Oldest => oldest(row),
            Self::Queue => (
                level_role(queue.level, Role::Text),
                queue.queue.as_str().to_owned(),
            ),
            Self::Ready => number(queue.depth.ready, columns),
            Self::Spread => (Role::Graph, histogram::text(&queue.ready_spread)),
            Self::Running => number(queue.depth.running, columns),
            Self::Retry => number(queue.depth.retry_wait, columns),
            Self::Dead => number(queue.depth.dead, columns),
            Self::Quarantined => number(queue.depth.quarantined, columns),
            Self::Arrivals => rate_cell(queue.in_per_s),
            Self::Departures => rate_cell(queue.out_per_s),
            Self::Drain => drain(queue.drain),
            Self::History => (Role::Graph, sparkline::text(&queue.ready_history, columns)),
        }
    }
}

/// A column and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Which.
    pub column: Column,
    /// How it is headed.
    pub room: Room,
    /// Columns before it.
    pub indent: u16,
    /// Its width.
    pub columns: u16,
}

/// Which columns are shown in `width` columns, and where; names need no more than `longest`.
pub fn place(width: u16, longest: u16) -> Vec<Placed> {
    let mut shown: Vec<Column> = Column::ALL.to_vec();
    let mut dropped = DROPPED_FIRST.into_iter();
    loop {
        for (room, gap) in [(Room::Ample, 2), (Room::Tight, 2), (Room::Tight, 1)] {
            let needed = needed(&shown, room, gap);
            if needed <= width {
                let spare = width.saturating_sub(needed);
                return spread(&shown, (room, gap), spare, longest);
            }
        }
        match dropped.next() {
            Some(column) => shown.retain(|each| *each != column),
            None => return spread(&[Column::Queue], (Room::Tight, 0), 0, longest),
        }
    }
}

fn needed(shown: &[Column], room: Room, gap: u16) -> u16 {
    shown
        .iter()
        .fold(0_u16, |sum, column| {
            sum.saturating_add(column.width(room)).saturating_add(gap)
        })
        .saturating_sub(gap)
}

/// Gives what is left over to the names, then to the history.
fn spread(shown: &[Column], (room, gap): (Room, u16), spare: u16, longest: u16) -> Vec<Placed> {
    let name = Column::Queue.width(room);
    let for_names = spare.min(longest.min(NAME.1).saturating_sub(name));
    let for_history = spare
        .saturating_sub(for_names)
        .min(HISTORY_MAX.saturating_sub(Column::History.width(room)));
    let mut indent = 0_u16;
    let mut placed = Vec::with_capacity(shown.len());
    for column in shown {
        let extra = match column {
            Column::Queue => for_names,
            Column::History => for_history,
            Column::Oldest
            | Column::Ready
            | Column::Spread
            | Column::Running
            | Column::Retry
            | Column::Dead
            | Column::Quarantined
            | Column::Arrivals
            | Column::Departures
            | Column::Drain => 0,
        };
        let columns = column.width(room).saturating_add(extra);
        placed.push(Placed {
            column: *column,
            room,
            indent,
            columns,
        });
        indent = indent.saturating_add(columns).saturating_add(gap);
    }
    placed
}

/// The role of something at a level; `fine` where it is within its limits.
pub const fn level_role(level: Level, fine: Role) -> Role {
    match level {
        Level::Fine => fine,
        Level::Warning => Role::Warning,
        Level::Critical => Role::Critical,
    }
}

/// The shape of a level, so that it does not depend on colour; empty where it is within its limits.
pub const fn level_mark(level: Level) -> &'static str {
    match level {
        Level::Fine => "",
        Level::Warning => "△",
        Level::Critical => "▲",
    }
}

/// How an age stands against its limit.
pub fn age_level(age: Option<Duration>, bound: &Bound<Duration>) -> Level {
    match age {
        Some(age) if age > bound.critical => Level::Critical,
        Some(age) if age > bound.warning => Level::Warning,
        Some(_) | None => Level::Fine,
    }
}

/// The first thing that is read of a row: its age, and how bad the queue is for whatever reason.
fn oldest(row: Row<'_>) -> (Role, String) {
    let level = age_level(row.queue.oldest_ready_age, &row.limits.oldest_ready);
    let worst = level.max(row.queue.level);
    let (role, age) = match row.queue.oldest_ready_age {
        None => (Role::Muted, format::NOTHING.to_owned()),
        Some(age) => (Role::Text, coarse(age)),
    };
    let text = format!("{age} {}", level_mark(worst));
    (level_role(worst, role), text.trim_end().to_owned())
}

fn number(value: u64, columns: u16) -> (Role, String) {
    let role = if value == 0 { Role::Muted } else { Role::Text };
    (role, format::count_within(value, columns))
}

fn rate_cell(per_s: f64) -> (Role, String) {
    let role = if per_s > 0.0 { Role::Text } else { Role::Muted };
    (role, rate(per_s))
}

fn drain(drain: Drain) -> (Role, String) {
    let role = match drain {
        Drain::Empty | Drain::Unknown => Role::Muted,
        Drain::Never => Role::Warning,
        Drain::In(_) => Role::Text,
    };
    (role, format::drain(drain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_whatever_the_width_and_never_overlap() {
        for width in 0..300 {
            let placed = place(width, 50);
            let mut end = 0;
            for each in &placed {
                assert!(each.indent >= end, "{width}: {placed:?}");
                end = each.indent + each.columns;
            }
            assert!(end <= width.max(NAME.0), "{width}: {placed:?}");
        }
    }

    #[test]
    fn the_oldest_and_the_name_stay_longest() {
        let names = |width| {
            place(width, 10)
                .iter()
                .map(|placed| placed.column)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(24), [Column::Oldest, Column::Queue]);
        assert_eq!(names(156), Column::ALL);
        assert!(names(74).contains(&Column::Quarantined));
        assert!(!names(74).contains(&Column::Spread));
    }
}
