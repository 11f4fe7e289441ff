//! The timeline of one job: lanes for the states in which time passes, one bar a stay and one bar
//! an attempt; marks for what stands out; the walked event.
//!
//! Time runs from left to right. Each stay has its share of the columns and at least one (an
//! attempt two), so that a millisecond beside a day is still seen; the moments at both ends say
//! how long it all is. More stays than columns are shown in part, around the walked event
//! ([`scale`]). Where there are too few lines, the axis goes first, then the marks, then the lanes
//! from the last on.

use ratatui::layout::Rect;

use super::canvas::{Canvas, Spot};
use crate::console::format::count_within;
use crate::console::text;
use crate::console::theme::Role;
use crate::ledger::num;
use crate::ledger::state::State;

mod scale;

use scale::Scale;

/// A row of bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Waits for its first moment, or for children.
    Pending,
    /// Waits for a worker.
    Ready,
    /// An attempt.
    Running,
    /// Waits for its next attempt.
    RetryWait,
    /// Waits for a person.
    DeadLetter,
}

impl Lane {
    /// Every lane, in order.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Ready,
        Self::Running,
        Self::RetryWait,
        Self::DeadLetter,
    ];

    /// The lane of a state; `None` where nothing is waited for any more.
    pub const fn of(state: State) -> Option<Self> {
        match state {
            State::Pending => Some(Self::Pending),
            State::Ready => Some(Self::Ready),
            State::Running => Some(Self::Running),
            State::RetryWait => Some(Self::RetryWait),
            State::Dead | State::Quarantined => Some(Self::DeadLetter),
            State::Succeeded | State::Discarded => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::RetryWait => "retry_wait",
            Self::DeadLetter => "dead letter",
        }
    }

    /// Whether it is there although the job never was in it.
    const fn is_always_there(self) -> bool {
        match self {
            Self::Ready | Self::Running | Self::RetryWait => true,
            Self::Pending | Self::DeadLetter => false,
        }
    }

    const fn fill(self) -> &'static str {
        match self {
            Self::Pending => "·",
            Self::Ready => "░",
            Self::Running => "█",
            Self::RetryWait => "▒",
            Self::DeadLetter => "▓",
        }
    }

    const fn role(self) -> Role {
        match self {
            Self::Pending => Role::Muted,
            Self::Ready | Self::Running => Role::Graph,
            Self::RetryWait => Role::Warning,
            Self::DeadLetter => Role::Critical,
        }
    }
}

/// How a stay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It goes on.
    Open,
    /// The job went on to this state.
    Into(State),
    /// The attempt was given back.
    GivenBack,
    /// The attempt was ended by someone else than its worker: nobody knows what it did.
    Unsettled,
}

impl Ending {
    /// The last character of a bar of the lane, where there is one.
    const fn mark(self, lane: Lane) -> Option<(Role, &'static str)> {
        match (self, lane) {
            (Self::Open, _) => Some((Role::Accent, "▸")),
            (Self::Unsettled, _) => Some((Role::Critical, "?")),
            (Self::GivenBack, _) => Some((Role::Muted, "‹")),
            (Self::Into(State::Succeeded), Lane::Running) => Some((Role::Good, "✓")),
            (Self::Into(State::RetryWait), Lane::Running) => Some((Role::Warning, "↻")),
            (Self::Into(State::Dead | State::Quarantined), Lane::Running) => {
                Some((Role::Critical, "✗"))
            }
            (
                Self::Into(
                    State::Pending
                    | State::Ready
                    | State::Running
                    | State::RetryWait
                    | State::Succeeded
                    | State::Dead
                    | State::Quarantined
                    | State::Discarded,
                ),
                _,
            ) => None,
        }
    }
}

/// What fills a part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// A stay in a state.
    Stay {
        /// Where it is drawn.
        lane: Lane,
        /// For an attempt: its number, where it is known.
        attempt: Option<u32>,
        /// How it ended.
        ending: Ending,
    },
    /// It is not known what happened: events are left out, or cannot be read.
    Gap,
}

/// A part of the time, up to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When it began, in microseconds since 1970-01-01 UTC.
    pub begin_us: i64,
    /// When it ended.
    pub end_us: i64,
    /// The event that it began with.
    pub since: u32,
    /// What fills it.
    pub filling: Filling,
}

/// What stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// A repeated enqueue or delivery.
    Duplicate,
    /// A late result that was refused.
    StaleRefused,
    /// A lease that ran out.
    LeaseExpired,
    /// An operator's act.
    Operator,
    /// An event that cannot be read.
    Unreadable,
}

impl Sign {
    /// Every sign.
    pub const ALL: [Self; 5] = [
        Self::Duplicate,
        Self::StaleRefused,
        Self::LeaseExpired,
        Self::Operator,
        Self::Unreadable,
    ];

    /// Its shape.
    pub const fn shape(self) -> &'static str {
        match self {
            Self::Duplicate => "=",
            Self::StaleRefused => "×",
            Self::LeaseExpired => "!",
            Self::Operator => "◆",
            Self::Unreadable => "#",
        }
    }

    /// What it means.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::StaleRefused => "stale refused",
            Self::LeaseExpired => "lease expired",
            Self::Operator => "operator",
            Self::Unreadable => "unreadable",
        }
    }

    /// How it looks.
    pub const fn role(self) -> Role {
        match self {
            Self::Duplicate => Role::Muted,
            Self::StaleRefused | Self::LeaseExpired => Role::Warning,
            Self::Operator => Role::Operator,
            Self::Unreadable => Role::Critical,
        }
    }
}

/// An event at its moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The event's number.
    pub event: u32,
    /// When, in microseconds since 1970-01-01 UTC.
    pub at_us: i64,
    /// What stands out about it, if anything does.
    pub sign: Option<Sign>,
}

/// Everything on a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// What fills the time, without holes, in order.
    pub spans: Vec<Span>,
    /// The events, in order.
    pub marks: Vec<Mark>,
}

/// What stands under it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axis {
    /// The first moment.
    pub from: String,
    /// The last one.
    pub to: String,
    /// The walked event and its moment.
    pub walked: String,
}

/// Columns for the names of lanes.
const NAMES: u16 = 12;

impl Timeline {
    /// The lanes that are drawn.
    pub fn lanes(&self) -> Vec<Lane> {
        let is_used = |lane: &Lane| {
            self.spans
                .iter()
                .any(|span| matches!(span.filling, Filling::Stay { lane: of, .. } if of == *lane))
        };
        Lane::ALL
            .into_iter()
            .filter(|lane| lane.is_always_there() || is_used(lane))
            .collect()
    }

    /// The lines that it takes in full.
    pub fn height(&self) -> u16 {
        let marks = u16::from(!self.legend().is_empty());
        num::columns(self.lanes().len()).saturating_add(marks + 1)
    }

    /// How often each sign stands on it.
    pub fn legend(&self) -> Vec<(Sign, u64)> {
        let times = |sign: Sign| {
            let marks = self.marks.iter().filter(|mark| mark.sign == Some(sign));
            num::count(marks.count())
        };
        Sign::ALL
            .into_iter()
            .map(|sign| (sign, times(sign)))
            .filter(|(_, times)| *times > 0)
            .collect()
    }
}

/// Draws it; `walked` is the number of the walked event.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, timeline: &Timeline, walked: u32, axis: &Axis) {
    let names = NAMES.min(area.width / 3);
    let field = Rect {
        x: area.x.saturating_add(names),
        width: area.width.saturating_sub(names),
        ..area
    };
    let scale = Scale::new(timeline, field.width, walked);
    let mut row = 0;
    for lane in timeline.lanes() {
        let (Some(name), Some(spot)) = (Spot::row(area, row), Spot::row(field, row)) else {
            break;
        };
        canvas.text(
            name.first(names.saturating_sub(1)),
            Role::Muted,
            lane.name(),
        );
        draw_lane(canvas, spot, &scale, lane);
        row += 1;
    }
    if !timeline.legend().is_empty()
        && let (Some(name), Some(spot)) = (Spot::row(area, row), Spot::row(field, row))
    {
        canvas.text(name.first(names.saturating_sub(1)), Role::Muted, "marks");
        draw_marks(canvas, spot, timeline, &scale);
        row += 1;
    }
    let column = scale.column_of(walked);
    if let Some(column) = column {
        let height = row.min(area.height);
        let x = field.x.saturating_add(column);
        canvas.tint(Rect::new(x, area.y, 1, height), Role::Selected);
    }
    if let Some(spot) = Spot::row(field, row) {
        draw_axis(canvas, spot, &scale, column, axis);
    }
}

fn draw_lane(canvas: &mut Canvas<'_>, spot: Spot, scale: &Scale, lane: Lane) {
    for placed in &scale.placed {
        let at = spot.after(placed.column).first(placed.columns);
        match placed.span.filling {
            Filling::Gap => {
                canvas.text(at, Role::Muted, &"┈".repeat(usize::from(placed.columns)));
            }
            Filling::Stay {
                lane: of,
                attempt,
                ending,
            } if of == lane => {
                draw_bar(canvas, at, lane, attempt, ending);
            }
            Filling::Stay { .. } => {}
        }
    }
}

/// A bar: an attempt begins with its number; the last column says how it ended.
fn draw_bar(canvas: &mut Canvas<'_>, at: Spot, lane: Lane, attempt: Option<u32>, ending: Ending) {
    let role = match ending {
        Ending::Unsettled => Role::Critical,
        Ending::Open | Ending::Into(_) | Ending::GivenBack => lane.role(),
    };
    canvas.text(at, role, &lane.fill().repeat(usize::from(at.columns)));
    let number = attempt.map_or_else(String::new, |attempt| attempt.to_string());
    let mark = ending.mark(lane);
    let end = u16::from(mark.is_some());
    let columns = text::columns(&number);
    if columns.saturating_add(end) <= at.columns {
        canvas.text(at, Role::Title, &number);
    }
    if let Some((role, mark)) = mark {
        canvas.text(at.after(at.columns.saturating_sub(1)), role, mark);
    }
}

fn draw_marks(canvas: &mut Canvas<'_>, spot: Spot, timeline: &Timeline, scale: &Scale) {
    // The weightier of two in one column is drawn last.
    let mut marks: Vec<(Sign, u16)> = timeline
        .marks
        .iter()
        .filter_map(|mark| Some((mark.sign?, scale.column_of(mark.event)?)))
        .collect();
    marks.sort_unstable();
    for (sign, column) in marks {
        canvas.text(spot.after(column).first(1), sign.role(), sign.shape());
    }
}

fn draw_axis(canvas: &mut Canvas<'_>, spot: Spot, scale: &Scale, column: Option<u16>, axis: &Axis) {
    let before = match scale.before {
        0 => axis.from.clone(),
        stays => format!("‹ {} stays before", count_within(stays, 6)),
    };
    let after = match scale.after {
        0 => axis.to.clone(),
        stays => format!("{} stays after ›", count_within(stays, 6)),
    };
    let end = scale.columns.max(text::columns(&after)).min(spot.columns);
    let width = text::columns(&axis.walked)
        .saturating_add(2)
        .min(spot.columns);
    // At the left of the caret where there is no room at its right.
    let fits = column.is_none_or(|column| column.saturating_add(width) <= spot.columns);
    let start = column.map(|column| {
        if fits {
            column
        } else {
            (column + 1).saturating_sub(width)
        }
    });
    let is_clear = |from: u16, to: u16| {
        start.is_none_or(|start| to < start || from > start.saturating_add(width))
    };
    if is_clear(0, text::columns(&before)) {
        canvas.text(spot, Role::Muted, &before);
    }
    if is_clear(end.saturating_sub(text::columns(&after)), end) {
        canvas.right(spot.first(end), Role::Muted, &after);
    }
    let Some(start) = start else {
        return;
    };
    let at = spot.after(start).first(width);
    if fits {
        canvas.pieces(at, &[(Role::Accent, "▲ "), (Role::Text, &axis.walked)]);
    } else {
        canvas.pieces(at, &[(Role::Text, &axis.walked), (Role::Accent, " ▲")]);
    }
}

#[cfg(test)]
mod tests;
