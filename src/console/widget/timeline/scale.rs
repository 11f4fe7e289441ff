//! Which column a stay and an event stand in.

use super::{Filling, Lane, Span, Timeline};
use crate::ledger::num;

/// A span in its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// What.
    pub span: Span,
    /// Its first column.
    pub column: u16,
    /// How many it has; one at least.
    pub columns: u16,
}

/// The columns of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scale {
    /// The spans that are shown.
    pub placed: Vec<Placed>,
    /// How many spans come before.
    pub before: u64,
    /// How many come after.
    pub after: u64,
    /// How many columns are used.
    pub columns: u16,
    /// Events with their columns, in order of number.
    events: Vec<(u32, u16)>,
}

/// The fewest columns of a span: an attempt has its number and its ending.
const fn least(span: &Span) -> u16 {
    match span.filling {
        Filling::Stay {
            lane: Lane::Running,
            ..
        } => 2,
        Filling::Stay {
            lane: Lane::Pending | Lane::Ready | Lane::RetryWait | Lane::DeadLetter,
            ..
        }
        | Filling::Gap => 1,
    }
}

fn length(span: &Span) -> u64 {
    num::unsigned(span.end_us.saturating_sub(span.begin_us))
}

impl Scale {
    /// Shares `columns` out; where not every span finds room, those around `walked` do.
    pub(super) fn new(timeline: &Timeline, columns: u16, walked: u32) -> Self {
        let spans = &timeline.spans;
        let (first, end) = window(spans, columns, walked);
        let shown = spans.get(first..end).unwrap_or_default();
        let whole = shown
            .iter()
            .fold(0_u64, |sum, span| sum.saturating_add(length(span)));
        let least_all: u16 = shown.iter().map(least).sum();
        let spare = columns.saturating_sub(least_all);
        let mut placed: Vec<Placed> = Vec::with_capacity(shown.len());
        let (mut column, mut passed) = (0_u16, 0_u64);
        for span in shown {
            // The ends are rounded, not the lengths: so the columns add up.
            let before = share(passed, whole, spare);
            passed = passed.saturating_add(length(span));
            let columns = least(span).saturating_add(share(passed, whole, spare) - before);
            placed.push(Placed {
                span: *span,
                column,
                columns,
            });
            column = column.saturating_add(columns);
        }
        let events = events(timeline, &placed);
        Self {
            placed,
            before: num::count(first),
            after: num::count(spans.len() - end),
            columns: column,
            events,
        }
    }

    /// The column of an event, if it is shown.
    pub(super) fn column_of(&self, event: u32) -> Option<u16> {
        let place = self
            .events
            .binary_search_by_key(&event, |(number, _)| *number)
            .ok()?;
        self.events.get(place).map(|(_, column)| *column)
    }
}

fn share(part: u64, whole: u64, columns: u16) -> u16 {
    if whole == 0 {
        return 0;
    }
    let exact = u128::from(part) * u128::from(columns) / u128::from(whole);
    u16::try_from(exact).unwrap_or(columns)
}

/// The spans that are shown: all of them, or as many around the walked event as find room.
fn window(spans: &[Span], columns: u16, walked: u32) -> (usize, usize) {
    let least_all = spans
        .iter()
        .fold(0_u64, |sum, span| sum + u64::from(least(span)));
    if least_all <= u64::from(columns) {
        return (0, spans.len());
    }
    let middle = spans.partition_point(|span| span.since <= walked);
    let middle = middle.saturating_sub(1).min(spans.len().saturating_sub(1));
    let (mut first, mut end, mut used) = (middle, middle, 0_u16);
    // One at each side in turn.
    loop {
        let mut grown = false;
        if let Some(span) = spans.get(end)
            && used.saturating_add(least(span)) <= columns
        {
            used = used.saturating_add(least(span));
            end += 1;
            grown = true;
        }
        if let Some(span) = first.checked_sub(1).and_then(|before| spans.get(before))
            && used.saturating_add(least(span)) <= columns
        {
            used = used.saturating_add(least(span));
            first -= 1;
            grown = true;
        }
        if !grown {
            return (first, end);
        }
    }
}

/// An event stands in the first column of the span that it begins; one within a span by its moment;
/// one after the last span in the column of its end.
fn events(timeline: &Timeline, placed: &[Placed]) -> Vec<(u32, u16)> {
    let mut columns = Vec::new();
    let mut spans = placed.iter().peekable();
    let Some(mut current) = spans.next() else {
        return timeline.marks.iter().map(|mark| (mark.event, 0)).collect();
    };
    let last = placed.last().map(|last| last.span);
    for mark in &timeline.marks {
        if mark.event < current.span.since {
            continue;
        }
        while let Some(next) = spans.next_if(|next| next.span.since <= mark.event) {
            current = next;
        }
        let is_last = Some(current.span) == last;
        // What comes after a window that does not reach the end is not shown.
        let beyond =
            is_last && timeline.spans.last().copied() != last && mark.at_us > current.span.end_us;
        if beyond {
            break;
        }
        let into = num::unsigned(mark.at_us.saturating_sub(current.span.begin_us));
        let share = if mark.event == current.span.since {
            0
        } else {
            share(into, length(&current.span), current.columns)
        };
        let column = share.min(current.columns.saturating_sub(1));
        columns.push((mark.event, current.column.saturating_add(column)));
    }
    columns
}
