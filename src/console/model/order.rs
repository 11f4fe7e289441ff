//! The orders in which queues are listed. Equal rows are listed by name, so that an order never
//! jumps.

use std::cmp::Ordering;

use crate::board::summary::QueueSummary;
use crate::console::columns::Column;

/// An order of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As the board judges them.
    #[default]
    Worst,
    /// By the age of the oldest ready job.
    Oldest,
    /// By the number of ready jobs.
    Ready,
    /// By the number of dead letters.
    DeadLetters,
    /// By arrivals.
    Arrivals,
    /// By name.
    Name,
}

impl Order {
    /// Every order, in the order in which a key steps through them.
    pub const ALL: [Self; 6] = [
        Self::Worst,
        Self::Oldest,
        Self::Ready,
        Self::DeadLetters,
        Self::Arrivals,
        Self::Name,
    ];

    /// The next of the cycle.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Worst => Self::Oldest,
            Self::Oldest => Self::Ready,
            Self::Ready => Self::DeadLetters,
            Self::DeadLetters => Self::Arrivals,
            Self::Arrivals => Self::Name,
            Self::Name => Self::Worst,
        }
    }

    /// In words, for the pane's title.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worst => "worst first",
            Self::Oldest => "oldest first",
            Self::Ready => "most ready first",
            Self::DeadLetters => "most dead letters first",
            Self::Arrivals => "most arrivals first",
            Self::Name => "by name",
        }
    }

    /// The column that is marked.
    pub const fn column(self) -> Option<Column> {
        match self {
            Self::Worst => None,
            Self::Oldest => Some(Column::Oldest),
            Self::Ready => Some(Column::Ready),
            Self::DeadLetters => Some(Column::Dead),
            Self::Arrivals => Some(Column::Arrivals),
            Self::Name => Some(Column::Queue),
        }
    }

    /// Sorts rows that come worst first.
    pub fn sort(self, rows: &mut [&QueueSummary]) {
        let compare: fn(&QueueSummary, &QueueSummary) -> Ordering = match self {
            Self::Worst => return,
            Self::Oldest => |a, b| b.oldest_ready_age.cmp(&a.oldest_ready_age),
            Self::Ready => |a, b| b.depth.ready.cmp(&a.depth.ready),
            Self::DeadLetters => |a, b| dead_letters(b).cmp(&dead_letters(a)),
            Self::Arrivals => |a, b| b.in_per_s.total_cmp(&a.in_per_s),
            Self::Name => |_, _| Ordering::Equal,
        };
        rows.sort_by(|a, b| compare(a, b).then_with(|| a.queue.cmp(&b.queue)));
    }
}

fn dead_letters(queue: &QueueSummary) -> u64 {
    queue.depth.dead.saturating_add(queue.depth.quarantined)
}
