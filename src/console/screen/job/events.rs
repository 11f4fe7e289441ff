//! The table of a job's events: one row an event, the walked one selected. One enum of columns,
//! one cell function.
//!
//! Where it is narrow, columns go in the order of [`DROPPED_FIRST`]; the number, the event and
//! where it led stay longest.

use ratatui::layout::Rect;

use super::{Sight, timestamp};
use crate::board::format::{coarse, count, latency};
use crate::console::format::count_within;
use crate::console::model::numbers;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Canvas, Spot};
use crate::ledger::audit::{Entry, Unreadable};
use crate::ledger::event::ActorKind;
use crate::ledger::num;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Number,
    Time,
    Event,
    From,
    To,
    Attempt,
    Failure,
    Actor,
    Dwell,
    Policy,
    Note,
}

impl Column {
    const ALL: [Self; 11] = [
        Self::Number,
        Self::Time,
        Self::Event,
        Self::From,
        Self::To,
        Self::Attempt,
        Self::Dwell,
        Self::Failure,
        Self::Actor,
        Self::Policy,
        Self::Note,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Number => "#",
            Self::Time => "time",
            Self::Event => "event",
            Self::From => "from",
            Self::To => "→ to",
            Self::Attempt => "att",
            Self::Failure => "class, reason",
            Self::Actor => "actor",
            Self::Dwell => "dwell",
            Self::Policy => "policy",
            Self::Note => "note",
        }
    }

    /// At least.
    const fn width(self) -> u16 {
        match self {
            Self::Number | Self::Attempt => 3,
            Self::Dwell => 7,
            Self::Time | Self::Policy => 8,
            Self::Actor => 10,
            Self::From => 11,
            Self::Note => 12,
            Self::Event | Self::To => 13,
            Self::Failure => 14,
        }
    }

    const fn is_right(self) -> bool {
        matches!(self, Self::Number | Self::Attempt | Self::Dwell)
    }
}

/// The order in which columns go.
const DROPPED_FIRST: [Column; 8] = [
    Column::Policy,
    Column::From,
    Column::Dwell,
    Column::Note,
    Column::Actor,
    Column::Attempt,
    Column::Failure,
    Column::Time,
];

/// What is over goes to these in order, each up to so many columns.
const SPREAD: [(Column, u16); 5] = [
    (Column::Failure, 22),
    (Column::Actor, 18),
    (Column::Failure, 28),
    (Column::Actor, 28),
    (Column::Note, 200),
];

/// Columns between two columns, and before the first for the mark of the walked row.
const GAP: u16 = 2;
const INDENT: u16 = 2;

struct Placed {
    column: Column,
    indent: u16,
    columns: u16,
}

/// The columns that fit; what is over goes to those that have use for it, the note last.
fn place(width: u16, least: impl Fn(Column) -> u16) -> Vec<Placed> {
    let room = width.saturating_sub(INDENT);
    let mut shown = Column::ALL.to_vec();
    let needed = |shown: &[Column]| {
        shown
            .iter()
            .fold(0_u16, |sum, column| sum + least(*column) + GAP)
            .saturating_sub(GAP)
    };
    for dropped in DROPPED_FIRST {
        if needed(&shown) <= room {
            break;
        }
        shown.retain(|column| *column != dropped);
    }
    let mut spare = room.saturating_sub(needed(&shown));
    let mut widths: Vec<u16> = shown.iter().map(|column| least(*column)).collect();
    for (wanted, most) in SPREAD {
        for (column, width) in shown.iter().zip(&mut widths) {
            if *column == wanted {
                let more = most.saturating_sub(*width).min(spare);
                *width += more;
                spare -= more;
            }
        }
    }
    let mut indent = INDENT;
    shown
        .into_iter()
        .zip(widths)
        .map(|(column, columns)| {
            let placed = Placed {
                column,
                indent,
                columns,
            };
            indent = indent.saturating_add(columns).saturating_add(GAP);
            placed
        })
        .collect()
}

/// A row: an event, or the place where events are left out.
enum Row<'a> {
    Event(u32, &'a Result<Entry, Unreadable>),
    LeftOut(u64),
}

fn rows<'a>(sight: &Sight<'a>) -> Vec<Row<'a>> {
    let mut rows = Vec::with_capacity(sight.story.events.len() + 1);
    let mut before = 0_u32;
    let mut left_out = sight.story.left_out;
    let numbers = numbers(&sight.story.events);
    for (event, number) in sight.story.events.iter().zip(numbers) {
        if left_out > 0 && before > 0 && number > before.saturating_add(1) {
            rows.push(Row::LeftOut(left_out));
            left_out = 0;
        }
        rows.push(Row::Event(number, event));
        before = number;
    }
    rows
}

/// Draws the table with its heading; the walked row is always among those shown.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, sight: &Sight<'_>) {
    let rows = rows(sight);
    let last = sight.story.job.row.version.max(sight.walked);
    let digits = text::columns(&last.to_string());
    let stamps = sight.time_width();
    let placed = place(area.width, |column| match column {
        Column::Number => column.width().max(digits),
        Column::Time => stamps,
        Column::Event
        | Column::From
        | Column::To
        | Column::Attempt
        | Column::Failure
        | Column::Actor
        | Column::Dwell
        | Column::Policy
        | Column::Note => column.width(),
    });
    let Some(heading) = Spot::row(area, 0) else {
        return;
    };
    let headed = area.height > 1;
    if headed {
        for each in &placed {
            put(canvas, heading, each, (Role::Muted, each.column.name()));
        }
    }
    let top = u16::from(headed);
    let room = usize::from(area.height.saturating_sub(top));
    let walked = rows
        .iter()
        .position(|row| matches!(row, Row::Event(number, _) if *number == sight.walked))
        .unwrap_or(0);
    let first = first_row(walked, rows.len(), room);
    for (line, row) in rows.iter().skip(first).take(room).enumerate() {
        let Some(spot) = Spot::row(area, num::columns(line).saturating_add(top)) else {
            return;
        };
        draw_row(canvas, spot, sight, (row, &placed));
    }
}

/// The walked row in the middle, unless an end is near.
fn first_row(walked: usize, rows: usize, room: usize) -> usize {
    walked
        .saturating_sub(room / 2)
        .min(rows.saturating_sub(room))
}

fn put(canvas: &mut Canvas<'_>, line: Spot, at: &Placed, (role, text): (Role, &str)) {
    let spot = line.after(at.indent).first(at.columns);
    if at.column.is_right() {
        canvas.right(spot, role, text);
    } else {
        canvas.text(spot, role, text);
    }
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    line: Spot,
    sight: &Sight<'_>,
    (row, placed): (&Row<'_>, &[Placed]),
) {
    let (number, event) = match row {
        Row::Event(number, event) => (*number, *event),
        Row::LeftOut(events) => {
            let text = format!("⋯ {} events are left out here", count(*events));
            canvas.text(line.after(INDENT), Role::Muted, &text);
            return;
        }
    };
    match event {
        Ok(entry) => {
            for each in placed {
                let (role, text) = cell(each.column, number, entry, sight);
                put(canvas, line, each, (role, &text));
            }
        }
        Err(unreadable) => {
            let text = format!(
                "{number:>3}  cannot be read: '{}' holds '{}'",
                unreadable.column, unreadable.value
            );
            canvas.text(line.after(INDENT), Role::Critical, &text);
        }
    }
    if number == sight.walked {
        canvas.text(line.first(1), Role::Accent, "›");
        canvas.tint(Rect::new(line.x, line.y, line.columns, 1), Role::Selected);
    }
}

/// The one cell function.
fn cell(column: Column, number: u32, entry: &Entry, sight: &Sight<'_>) -> (Role, String) {
    let changed = entry.from != Some(entry.to);
    let is_operator = entry.doing.actor_kind == ActorKind::Operator;
    match column {
        Column::Number => (Role::Muted, number.to_string()),
        Column::Time => (Role::Muted, sight.stamp(timestamp(entry.at))),
        Column::Event if is_operator => (Role::Operator, entry.doing.event.to_string()),
        Column::Event => (Role::Text, entry.doing.event.to_string()),
        Column::From if changed => (
            Role::Muted,
            entry
                .from
                .map_or_else(|| "new".to_owned(), |from| from.to_string()),
        ),
        Column::From => (Role::Muted, entry.to.to_string()),
        Column::To if changed => (Role::Text, format!("→ {}", entry.to)),
        Column::To => (Role::Muted, "stays".to_owned()),
        Column::Attempt => (
            Role::Text,
            count_within(u64::from(entry.attempt), Column::Attempt.width()),
        ),
        Column::Dwell => (Role::Text, dwell(entry).unwrap_or_default()),
        Column::Failure => (Role::Text, failure(entry)),
        Column::Actor => (
            if is_operator {
                Role::Operator
            } else {
                Role::Muted
            },
            actor(entry),
        ),
        Column::Policy => (
            Role::Muted,
            format!("{}@{}", entry.policy.name, entry.policy.version),
        ),
        Column::Note => (
            Role::Text,
            entry
                .doing
                .note
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
        ),
    }
}

/// How long the job had been in the state that the event ended.
pub(super) fn dwell(entry: &Entry) -> Option<String> {
    if entry.from == Some(entry.to) {
        return None;
    }
    let since = timestamp(entry.from_since?);
    let time = timestamp(entry.at).since(since);
    Some(if time.as_secs() < 10 {
        latency(time)
    } else {
        coarse(time)
    })
}

/// The class and reason that an event records or carries.
pub(super) fn failure(entry: &Entry) -> String {
    let class = entry.failure.class.map(|class| class.to_string());
    let reason = entry.failure.reason.as_ref().map(ToString::to_string);
    let said: Vec<String> = class.into_iter().chain(reason).collect();
    said.join(" ")
}

/// The name of who did it, else the role; an operator has a mark, so that colour is not needed.
pub(super) fn actor(entry: &Entry) -> String {
    let name = entry.doing.actor.as_str();
    let name = if name.is_empty() {
        entry.doing.actor_kind.name()
    } else {
        name
    };
    match entry.doing.actor_kind {
        ActorKind::Operator => format!("◆ {name}"),
        ActorKind::Producer | ActorKind::Worker | ActorKind::System => name.to_owned(),
    }
}
