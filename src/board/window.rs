//! How far back a board looks, and from when what it looks at is complete.

use std::time::Duration;

use crate::ledger::num;
use crate::ledger::time::Timestamp;

/// The window of retries by reason, flow, growth, times and history; the window before it is kept
/// too, for comparison.
pub const WINDOW: Duration = Duration::from_mins(15);
/// The window of arrival and completion rates.
pub const RATE_WINDOW: Duration = Duration::from_mins(1);

/// A span as whole seconds.
pub(crate) fn seconds(span: Duration) -> i64 {
    num::signed(span.as_secs())
}

/// A moment at which a board is asked, with the moment from which its windows are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) now: Timestamp,
    pub(crate) complete_since: Timestamp,
}

impl Reach {
    /// The second that it is.
    pub(crate) fn now_s(self) -> i64 {
        self.now.second()
    }

    /// The first second of a window of length `span` that ends with the second that it is.
    pub(crate) fn first_s(self, span: Duration) -> i64 {
        self.now_s().saturating_sub(seconds(span)).saturating_add(1)
    }

    /// Whether a window of length `span` is complete.
    pub(crate) fn covers(self, span: Duration) -> bool {
        self.complete_since <= self.now.minus(span)
    }

    /// The part of a window of length `span` that is complete, but at least one second, to divide
    /// by.
    pub(crate) fn covered_s(self, span: Duration) -> f64 {
        let covered = self.now.since(self.complete_since).min(span);
        covered.max(Duration::from_secs(1)).as_secs_f64()
    }

    /// From when a window of length `span` is complete.
    pub(crate) fn since(self, span: Duration) -> Timestamp {
        self.complete_since.max(self.now.minus(span))
    }
}
